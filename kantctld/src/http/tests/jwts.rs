//! JSON Web Tokens on the HTTP port.

use super::Served;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const SECRET: [u8; 32] = [7; 32];

/// The secret that the controllers of these tests share with the issuer.
pub(super) fn write_secret(dir: &Path) {
    let path = dir.join("jwt.key");
    std::fs::write(&path, SECRET).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Claims of this user that are valid for an hour, with these in addition.
pub(super) fn token(user: &str, more: &Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({ "sun": user, "iat": now, "exp": now + 3600 });
    claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    jwt::sign_hs256(&SECRET, &claims).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_web_token_acts_for_its_user_within_the_configured_scopes() {
    let served = Served::start().await;
    let own = "daemon";
    let valid = token(own, &json!({}));
    assert_eq!(served.get("/v1/jobs", &valid).await.status, 200);
    let refused = served.get("/v1/nodes", &valid).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("scope_missing")));
    let refused = served.post("/v1/tokens", &valid, &json!({})).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("not_for_tokens")));

    for (refused, words) in [
        (token("no-user-of-this-name", &json!({})), "does not exist on this host"),
        (token("root", &json!({})), "root is a system user"),
        (token(own, &json!({ "exp": 1_700_000_000 })), "it has expired"),
        (token(own, &json!({ "exp": 99_999_999_999_u64 })), "longer than 86400 s"),
        (token(own, &json!({ "exp": null })), "no time at which it expires"),
        (jwt::sign_hs256(&[8; 32], &json!({ "sun": own })).unwrap(), "no key of this cluster"),
    ] {
        let answer = served.get("/v1/jobs", &refused).await;
        assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("token_invalid")));
        assert!(answer.body.contains(words), "{words}: {}", answer.body);
    }
    served.audited(&[("verb", "token"), ("code", "token_invalid")]).await;
}
