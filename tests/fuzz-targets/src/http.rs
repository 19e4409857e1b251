//! What strangers send to the HTTP port, and the texts of tokens and invitations.

use common::route::{METHODS, find_route};
use common::time::{Span, Time};
use common::token::{TokenId, is_token_variable};
use jwt::{Keys, Rules};
use kantctld::http::{bearer, session_cookie};
use net::Invitation;
use net::http::{HeaderMap, HeaderName, HeaderValue};
use router::HeadScan;

/// Reads the head of a request: its route, its framing, and the proof of identity.
pub fn head(bytes: &[u8]) {
    let mut whole = HeadScan::default();
    whole.scan(bytes);
    let mut pieces = HeadScan::default();
    bytes.chunks(3).for_each(|piece| pieces.scan(piece));
    assert_eq!(whole.framing(), pieces.framing(), "it depends on how the head arrives");
    let mut lines = bytes.split(|byte| *byte == b'\n');
    if let Some(Ok(path)) = lines.next().map(std::str::from_utf8) {
        for method in METHODS {
            let _ = find_route(method, path);
        }
    }
    let headers: HeaderMap = lines.filter_map(header).collect();
    if let Some(secret) = bearer(&headers).or_else(|| session_cookie(&headers)) {
        assert_eq!(net::secret_hash(secret).len(), 64);
    }
}

fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    Some((HeaderName::from_bytes(name).ok()?, HeaderValue::from_bytes(&value[1..]).ok()?))
}

/// Reads the id of a token, and looks for tokens in variables.
pub fn token(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(id) = text.parse::<TokenId>() {
        assert_eq!(id.to_string().parse::<TokenId>().ok(), Some(id));
    }
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let _ = is_token_variable(name, value);
}

/// Reads a JSON Web Token and the claims in it, and a JWK set.
pub fn jwt(bytes: &[u8]) {
    const SET: &[u8] = include_bytes!("../../../common/jwt/tests/fixtures/keys.json");
    let _ = Keys::default().with_jwk_set(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let keys = Keys::default().with_secret(&[7; 32]).unwrap().with_jwk_set(SET).unwrap();
    let rules = Rules {
        user_claim: "sun".to_owned(),
        issuer: None,
        audience: None,
        lifespan_max: Span::from_seconds(u64::MAX / 1000),
    };
    if jwt::has_form(text) {
        let _ = jwt::check(&keys, &rules, text, Time(0));
    }
}

/// Reads an invitation; it is shown as it was written.
pub fn invitation(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(invitation) = text.parse::<Invitation>() {
        assert_eq!(invitation.to_string(), text.trim());
        assert!(!invitation.hash().is_empty());
    }
}
