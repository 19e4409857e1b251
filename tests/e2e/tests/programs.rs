//! Programs with tokens at a controller that does not lead: it forwards their requests, the leader
//! checks their tokens again, and both know who asked.

use e2e::{Controllers, free_port, wait_for};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

/// The status and the body of an answer.
fn ask(port: u16, line: &str, secret: &str, body: &str) -> anyhow::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let length = body.len();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {secret}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).unwrap_or_default().parse()?;
    Ok((status, answer))
}

fn audit_lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[test]
fn a_follower_forwards_a_program_with_the_rights_of_its_token() -> anyhow::Result<()> {
    let mut controllers = Controllers::new()?;
    controllers.add("a")?;
    controllers.start("a")?;
    controllers.add("b")?;
    let port = free_port()?;
    controllers.reconfigure("b", |config| config.http_listen = format!("127.0.0.1:{port}"))?;
    controllers.verb("b", &["join", "--learner", "--invitation", &controllers.invite("a")?])?;
    controllers.start("b")?;
    let at_a = controllers.kantctl("a")?;
    let token = |scope: &str| -> anyhow::Result<String> {
        Ok(at_a.ok(&["token", "create", "--scope", scope])?.trim().to_owned())
    };
    let (reader, admin) = (token("cluster:read")?, token("cluster:read,admin")?);
    // Until b listens and has the token.
    let is_served =
        || ask(port, "GET /v1/nodes", &admin, "").is_ok_and(|(status, _)| status == 200);
    wait_for("b to forward", || Ok(is_served().then_some(())))?;

    let drain = |secret: &str| ask(port, "POST /v1/nodes/n1/drain", secret, r#"{"reason":"x"}"#);
    let (status, answer) = drain(&reader)?;
    assert!(status == 403 && answer.contains("scope_missing"), "{answer}");
    let (status, answer) = drain(&admin)?;
    assert!(status == 404 && answer.contains("unknown_node"), "{answer}");
    assert!(answer.to_lowercase().contains("application/problem+json"), "{answer}");
    let log = Path::new(&controllers.config("a")?.state_dir).join("audit.log");
    let is_it = |line: &Value| line["verb"] == "nodes/drain";
    let line = wait_for("the leader's line", || Ok(audit_lines(&log)?.into_iter().find(is_it)))?;
    let via = line["via"].as_str().unwrap_or_default();
    let list: Value = serde_json::from_str(&at_a.ok(&["token", "list", "--json"])?)?;
    let all = list["tokens"].as_array().cloned().unwrap_or_default();
    let used =
        all.iter().find(|token| via == format!("token {}", token["id"].as_str().unwrap_or("")));
    assert!(used.is_some_and(|token| token["last_use"].is_u64()), "{line} {list}");
    assert_eq!(line["through"], "controller 2", "{line}");

    at_a.ok(&["token", "revoke", "--mine"])?;
    for secret in [&reader, &admin] {
        let (status, answer) = ask(port, "GET /v1/nodes", secret, "")?;
        assert!(status == 401 && answer.contains("token_invalid"), "{answer}");
    }
    Ok(())
}
