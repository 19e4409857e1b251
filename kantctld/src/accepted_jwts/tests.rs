//! Tests of the configuration of JSON Web Tokens.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use super::*;

fn config(dir: &Path, mode: u32, secret: &[u8]) -> ControllerConfig {
    let path = dir.join("jwt.key");
    fs::write(&path, secret).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    let jwt_secret_file = path.display().to_string();
    ControllerConfig { jwt_secret_file, ..ControllerConfig::default() }
}

fn refused(config: &ControllerConfig) -> String {
    with_causes(&AcceptedJwts::from_config(config).unwrap_err())
}

#[test]
fn without_keys_no_token_of_the_site_is_accepted() {
    assert!(AcceptedJwts::from_config(&ControllerConfig::default()).unwrap().is_none());
}

#[test]
fn an_unusable_configuration_is_refused_with_the_key_and_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let open = config(dir.path(), 0o640, &[7; 32]);
    assert!(refused(&open).contains("chmod 600"), "{}", refused(&open));
    let short = config(dir.path(), 0o600, &[7; 16]);
    assert!(refused(&short).contains("jwt_secret_file"), "{}", refused(&short));
    assert!(refused(&short).contains("openssl rand"), "{}", refused(&short));
    let good = config(dir.path(), 0o600, &[7; 32]);
    let unknown = ControllerConfig { jwt_scopes: vec!["jobs".to_owned()], ..good.clone() };
    assert!(refused(&unknown).contains("jwt_scopes"), "{}", refused(&unknown));
    let missing = dir.path().join("none").display().to_string();
    let missing = ControllerConfig { jwt_keys_file: missing, ..good };
    assert!(refused(&missing).contains("failed to read"), "{}", refused(&missing));
}

#[test]
fn by_default_all_scopes_but_that_of_operators_are_given() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = AcceptedJwts::from_config(&config(dir.path(), 0o600, &[7; 32])).unwrap().unwrap();
    assert!(!tokens.scopes().contains(&Scope::Admin));
    assert_eq!(tokens.scopes().len(), Scope::ALL.len() - 1);
}

#[test]
fn replaced_keys_are_used_and_unusable_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path(), 0o600, &[7; 32]);
    let tokens = AcceptedJwts::from_config(&config).unwrap().unwrap();
    let claims = serde_json::json!({ "sun": "ana", "exp": 1_800_000_100 });
    let accepts = |byte: u8| {
        tokens.read_again();
        let token = jwt::sign_hs256(&[byte; 32], &claims).unwrap();
        tokens.check_token(&token, Time(1_800_000_050_000)).is_ok()
    };
    let path = Path::new(&config.jwt_secret_file);
    let replace = |secret: &[u8], mode| {
        let new = path.with_extension("new");
        fs::write(&new, secret).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
        fs::rename(&new, path).unwrap();
    };
    assert!(accepts(7) && !accepts(8));
    replace(&[8; 32], 0o600);
    assert!(accepts(8) && !accepts(7));
    replace(&[9; 3], 0o600);
    assert!(accepts(8), "the new secret is too short");
    replace(&[9; 32], 0o644);
    assert!(accepts(8), "others can read the new secret");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(accepts(9) && !accepts(8));
}

#[test]
fn root_and_system_users_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path(), 0o600, &[7; 32]);
    let refused = |uid_min, name| {
        let config = ControllerConfig { uid_min, ..config.clone() };
        AcceptedJwts::from_config(&config).unwrap().unwrap().look_up(name).is_err()
    };
    assert!(refused(0, "root") && refused(1000, "daemon") && refused(0, "no-user-of-this-name"));
    assert!(!refused(0, "daemon"));
}
