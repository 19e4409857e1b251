//! Tokens made by another implementation (Python's `cryptography` 48), and forged ones. All have
//! the same claims: `sun` ana, `iss` and `aud`, from 1,800,000,000 to 1,800,003,600 seconds.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use common::time::{Span, Time};
use jwt::{Claims, KeyError, Keys, Rejection, Rules, check, has_form};
use std::collections::BTreeMap;

const SET: &[u8] = include_bytes!("fixtures/keys.json");
const BEGIN: Time = Time(1_800_000_000_000);
const END: Time = Time(1_800_003_600_000);

fn tokens() -> BTreeMap<String, String> {
    serde_json::from_str(include_str!("fixtures/tokens.json")).unwrap()
}

fn secret() -> Vec<u8> {
    (0..32).collect()
}

fn keys() -> Keys {
    Keys::default().with_secret(&secret()).unwrap().with_jwk_set(SET).unwrap()
}

fn rules() -> Rules {
    Rules {
        user_claim: "sun".to_owned(),
        issuer: None,
        audience: None,
        lifespan_max: Span::from_seconds(3600),
    }
}

#[test]
fn a_token_of_each_algorithm_names_its_user_and_its_end() {
    let tokens = tokens();
    for name in ["hs256", "rs256", "ps256", "es256", "eddsa"] {
        let expected = Claims { user: "ana".to_owned(), until: END };
        assert_eq!(check(&keys(), &rules(), &tokens[name], BEGIN), Ok(expected), "{name}");
        assert!(has_form(&tokens[name]));
    }
}

#[test]
fn a_forged_token_is_rejected() {
    let tokens = tokens();
    let forged = ["public-key-as-secret", "other-key", "other-kid", "encryption-key"];
    for name in forged.into_iter().chain(["secret-of-the-set", "other-algorithm"]) {
        let rejected = check(&keys(), &rules(), &tokens[name], BEGIN);
        assert_eq!(rejected, Err(Rejection::Signature), "{name}");
    }
    let unsigned = check(&keys(), &rules(), &tokens["none"], BEGIN);
    assert_eq!(unsigned, Err(Rejection::Unreadable));
    let changed = tokens["hs256"].replacen("eyJpc3Mi", "eyJpc3Nz", 1);
    assert_ne!(changed, tokens["hs256"]);
    assert_eq!(check(&keys(), &rules(), &changed, BEGIN), Err(Rejection::Signature));
    let only_set = Keys::default().with_jwk_set(SET).unwrap();
    let by_secret = check(&only_set, &rules(), &tokens["hs256"], BEGIN);
    assert_eq!(by_secret, Err(Rejection::Signature));
}

#[test]
fn what_is_no_token_is_rejected() {
    for text in ["", ".", "..", "a.b.c", "eyJ.eyJ.x", "kant-token-0123"] {
        assert_eq!(check(&keys(), &rules(), text, BEGIN), Err(Rejection::Unreadable), "{text}");
    }
    let long = format!("{}{}", tokens()["hs256"], "A".repeat(20_000));
    assert_eq!(check(&keys(), &rules(), &long, BEGIN), Err(Rejection::Unreadable));
    assert!(!has_form("kant-token-0123"));
}

#[test]
fn a_token_counts_only_in_its_time() {
    let token = &tokens()["rs256"];
    let at = |now| check(&keys(), &rules(), token, now).map(|claims| claims.user);
    assert_eq!(at(END), Err(Rejection::Expired));
    assert_eq!(at(END - Span(1)), Ok("ana".to_owned()));
    assert_eq!(at(BEGIN - Span::from_seconds(61)), Err(Rejection::NotYet));
    let short = Rules { lifespan_max: Span::from_seconds(3599), ..rules() };
    let too_long = check(&keys(), &short, token, BEGIN);
    assert_eq!(too_long, Err(Rejection::LivesTooLong(Span::from_seconds(3599))));
}

#[test]
fn issuer_audience_and_user_are_checked_where_the_rules_name_them() {
    let token = &tokens()["es256"];
    let with = |rules: Rules| check(&keys(), &rules, token, BEGIN).map(|claims| claims.user);
    let site = |issuer: &str, audience: &str| Rules {
        issuer: Some(issuer.to_owned()),
        audience: Some(audience.to_owned()),
        ..rules()
    };
    assert_eq!(with(site("https://id.example.org", "kant")), Ok("ana".to_owned()));
    let other = with(site("https://id.example.com", "kant"));
    assert_eq!(other, Err(Rejection::Issuer("https://id.example.com".to_owned())));
    let other = with(site("https://id.example.org", "slurm"));
    assert_eq!(other, Err(Rejection::Audience("slurm".to_owned())));
    let other = with(Rules { user_claim: "sub".to_owned(), ..rules() });
    assert_eq!(other, Err(Rejection::NoUser("sub".to_owned())));
}

#[test]
fn unusable_keys_are_refused_with_the_reason() {
    let refused = |keys: Result<Keys, KeyError>| keys.unwrap_err().to_string();
    let short = refused(Keys::default().with_secret(&[7; 31]));
    assert!(short.contains("31 bytes") && short.contains("openssl rand"), "{short}");
    assert!(refused(Keys::default().with_jwk_set(b"{}")).contains("JWK set"));
    let secret = br#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#;
    assert!(refused(Keys::default().with_jwk_set(secret)).contains("no key"));
    let curve = br#"{"keys":[{"kty":"EC","crv":"P-521","x":"AQ","y":"AQ"}]}"#;
    assert!(refused(Keys::default().with_jwk_set(curve)).contains("no key"));
}
