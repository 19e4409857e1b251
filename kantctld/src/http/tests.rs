//! The HTTP port of a whole controller: tokens, their scopes and ends, and what is open to all.

mod jwts;
mod private;
mod roles;
mod slurm;

use crate::run::run;
use crate::session::NodeThreads;
use crate::settings::ConfigFile;
use common::config::ControllerConfig;
use common::time::Span;
use common::token::{Scope, TokenId};
use common::wire::api::{Secret, TokenAnswer, TokenList, TokenRequest};
use net::{Client, Endpoint};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const DEADLINE: Duration = Duration::from_secs(30);
const HOUR: Span = Span::from_minutes(60);

/// A controller, with a client on its local socket.
pub(super) struct Served {
    pub(super) local: Client,
    http: SocketAddr,
    dir: tempfile::TempDir,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Served {
    pub(super) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// A controller with a changed configuration.
    pub(super) async fn start_with(change: impl FnOnce(&mut ControllerConfig)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let http = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        spawn_controller(dir.path(), http, change);
        let local = Client::new(Endpoint::Unix(dir.path().join("kantctld.sock")));
        let begun = Instant::now();
        while local.get::<Value>("/v1/jobs").await.is_err()
            || TcpStream::connect(http).await.is_err()
        {
            assert!(begun.elapsed() < DEADLINE, "no controller");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self { local, http, dir }
    }

    /// Waits for an audit line with these values.
    async fn audited(&self, values: &[(&str, &str)]) {
        let begun = Instant::now();
        let log = self.dir.path().join("state/audit.log");
        let is_it = |line: &str| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            values.iter().all(|(name, value)| line[name] == *value)
        };
        while !std::fs::read_to_string(&log).unwrap_or_default().lines().any(is_it) {
            assert!(begun.elapsed() < DEADLINE, "no line with {values:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) async fn token(&self, scopes: &[Scope]) -> TokenAnswer {
        let scopes = scopes.iter().copied().collect();
        let request = TokenRequest { name: "test".to_owned(), scopes, lifespan: HOUR };
        self.local.post("/v1/tokens", &request).await.unwrap()
    }

    /// A request with these header lines.
    pub(super) async fn ask(&self, line: &str, headers: &[&str], body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.http).await.unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\nhost: kant\r\nconnection: close\r\ncontent-length: {length}\r\n\
             {headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        let read = stream.read_to_string(&mut text);
        tokio::time::timeout(DEADLINE, read).await.unwrap().unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        // Long answers come in chunks, which no test here reads as JSON.
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Reads a stream until its text has this.
    async fn follow(&self, path: &str, headers: &[&str], until: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.http).await.unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: kant\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        let reading = async {
            while !text.contains(until) {
                let mut part = [0; 4096];
                let count = stream.read(&mut part).await.unwrap();
                assert!(count > 0, "the stream ended without {until}: {text}");
                text += std::str::from_utf8(&part[..count]).unwrap();
            }
        };
        tokio::time::timeout(DEADLINE, reading).await.expect(until);
        (stream, text)
    }

    async fn get(&self, path: &str, secret: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[&bearer(secret)], "").await
    }

    async fn post(&self, path: &str, secret: &str, body: &Value) -> Answer {
        let headers = [bearer(secret), "content-type: application/json".to_owned()];
        let headers = headers.each_ref().map(String::as_str);
        self.ask(&format!("POST {path}"), &headers, &body.to_string()).await
    }
}

fn bearer(secret: &str) -> String {
    format!("authorization: Bearer {secret}")
}

fn spawn_controller(dir: &Path, http: SocketAddr, change: impl FnOnce(&mut ControllerConfig)) {
    let at = |name: &str| dir.join(name).display().to_string();
    let mut config = ControllerConfig {
        state_dir: at("state"),
        socket: at("kantctld.sock"),
        cluster_key: at("cluster.key"),
        listen: String::new(),
        http_listen: http.to_string(),
        allow_root_jobs: true,
        uid_min: 0,
        disk_reserve_mib: 0,
        jwt_secret_file: at("jwt.key"),
        jwt_scopes: vec!["jobs:read".to_owned()],
        ..ControllerConfig::default()
    };
    change(&mut config);
    jwts::write_secret(dir);
    let path = dir.join("kantctld.toml");
    std::fs::write(&path, "").unwrap();
    let text = String::new();
    let file = ConfigFile { path, named: true, found: true, text, config, topology: None };
    let threads = NodeThreads(tokio::runtime::Handle::current());
    tokio::spawn(run(file, threads));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_its_scopes_and_no_others() {
    let served = Served::start().await;
    let TokenAnswer { secret: Secret(secret), token } = served.token(&[Scope::JobsRead]).await;
    assert_eq!(served.get("/v1/jobs", &secret).await.status, 200);
    let refused = served.get("/v1/nodes", &secret).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("scope_missing")));
    assert!(refused.head.contains("content-type: application/problem+json"), "{}", refused.head);
    let request = json!({ "name": "x", "scopes": ["jobs:read"], "lifespan": 1000 });
    let refused = served.post("/v1/tokens", &secret, &request).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("not_for_tokens")));
    let refused = served.get("/v1/nothing", &secret).await;
    assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("no_such_path")));

    let list: TokenList = served.local.get("/v1/tokens").await.unwrap();
    assert_eq!(list.tokens.len(), 1);
    assert!(list.tokens[0].last_use.is_some(), "{list:?}");
    let path = format!("/v1/tokens/{}/revoke", token.id);
    served.local.post::<_, TokenList>(&path, &Value::Null).await.unwrap();
    let refused = served.get("/v1/jobs", &secret).await;
    assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("token_invalid")));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_only_the_state_of_the_controller_is_open() {
    let served = Served::start().await;
    for path in ["/livez", "/readyz"] {
        let answer = served.ask(&format!("GET {path}"), &[], "").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, "ok\n"), "{path}");
    }
    let metrics = served.ask("GET /metrics", &[], "").await;
    let kind = "content-type: application/openmetrics-text";
    assert!(metrics.head.contains(kind), "{}", metrics.head);
    for line in ["slurm_jobs_pending 0.0", "kant_leader 1.0", "kant_nodes{state=\"down\"} 0.0"] {
        assert!(metrics.body.lines().any(|one| one == line), "no {line} in {}", metrics.body);
    }
    assert!(metrics.body.ends_with("# EOF\n"), "{}", metrics.body);
    let forged = format!("authorization: Bearer kant-token-{}", "0".repeat(64));
    let own = served.token(&Scope::ALL).await.secret.0;
    let twice = bearer(&own);
    let cases: [(&[&str], u16, &str); 6] = [
        (&[], 401, "no-token"),
        (&[&forged], 401, "token_invalid"),
        (&["authorization: Bearer eyJhbGciOiJub25lIn0.e30."], 401, "token_invalid"),
        (&["authorization: Basic cm9vdDo="], 401, "no-token"),
        (&[&twice, &twice], 401, "no-token"),
        (&["x-kant-user: 0:0", &twice], 400, "user-claimed"),
    ];
    for (headers, status, code) in cases {
        for line in ["GET /v1/jobs", "POST /v1/jobs", "GET /v1/status", "GET /v1/node"] {
            let answer = served.ask(line, headers, "").await;
            assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{line}");
        }
    }
    let unknown = served.ask("GET /v1/jobs", &["cookie: kant=x", &forged], "").await;
    assert!(unknown.head.contains("www-authenticate: bearer"), "{}", unknown.head);
    let id = TokenId::of_hash(&net::secret_hash(forged.rsplit(' ').next().unwrap())).to_string();
    served.audited(&[("verb", "token"), ("code", "token_invalid"), ("target", &id)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_acts_as_one_only_with_the_scope_admin() {
    let served = Served::start().await;
    let request = json!({ "reason": "test" });
    let all_but_admin: Vec<Scope> =
        Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect();
    let plain = served.token(&all_but_admin).await.secret.0;
    let refused = served.post("/v1/nodes/n1/drain", &plain, &request).await;
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("scope_missing")));
    let admin = served.token(&[Scope::Admin]).await.secret.0;
    let refused = served.post("/v1/nodes/n1/drain", &admin, &request).await;
    assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("unknown_node")));
}

/// The ids of the events in a stream of server-sent events.
fn ids(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn server_sent_events_continue_after_the_last_id_and_are_limited_in_number() {
    let served = Served::start().await;
    let secret = served.token(&[Scope::JobsRead]).await.secret.0;
    let bearer = bearer(&secret);
    let path = "/v1/events?since=0&heartbeat_seconds=1";
    let (_, first) = served.follow(path, &[&bearer], ": heartbeat\n").await;
    assert!(first.to_lowercase().contains("content-type: text/event-stream"), "{first}");
    assert!(first.contains("TokenCreated"), "{first}");
    let last = (*ids(&first).last().unwrap()).to_owned();
    served.token(&[Scope::JobsRead]).await;
    let continued = format!("last-event-id: {last}");
    let (_, second) = served.follow(path, &[&bearer, &continued], "TokenCreated").await;
    let watching = ids(&second).first().copied();
    assert_eq!(watching, Some(last.as_str()), "{second}");
    assert_eq!(second.matches("TokenCreated").count(), 1, "{second}");

    let bad = served.ask("GET /v1/events", &[&bearer, "last-event-id: x"], "").await;
    assert_eq!((bad.status, &bad.json()["code"]), (400, &json!("bad_since")));
    let mut open = Vec::new();
    loop {
        // Those of before may still be open on the controller's side.
        let (stream, text) = served.follow("/v1/events", &[&bearer], "\r\n\r\n").await;
        if !text.starts_with("HTTP/1.1 200") {
            let (_, refused) = served.follow("/v1/watch", &[&bearer], "hint").await;
            assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
            assert!(refused.contains("too_many_watchers"), "{refused}");
            break;
        }
        open.push(stream);
        assert!(open.len() <= 8, "a ninth stream");
    }
    assert!(open.len() >= 6, "{}", open.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_token_is_revoked() {
    let served = Served::start().await;
    let TokenAnswer { secret: Secret(secret), token } = served.token(&[Scope::JobsRead]).await;
    let path = "/v1/events?heartbeat_seconds=1";
    let (mut stream, _) = served.follow(path, &[&bearer(&secret)], ": heartbeat\n").await;
    let revoke = format!("/v1/tokens/{}/revoke", token.id);
    served.local.post::<_, TokenList>(&revoke, &Value::Null).await.unwrap();
    let mut rest = String::new();
    let read = stream.read_to_string(&mut rest);
    tokio::time::timeout(DEADLINE, read).await.expect("the end of the stream").unwrap();
    assert!(!rest.contains("TokenRevoked"), "{rest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_of_the_api_needs_no_token() {
    let served = Served::start().await;
    let document = served.ask("GET /v1/openapi.json", &[], "").await;
    assert_eq!(document.status, 200);
    assert!(document.head.contains("content-type: application/json"), "{}", document.head);
    let here: Value = served.local.get("/v1/openapi.json").await.unwrap();
    assert_eq!(document.json(), here);
}
