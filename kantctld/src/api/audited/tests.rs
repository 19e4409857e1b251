//! Tests of the audit log: a whole controller that is sent a request for every audited route, and
//! requests whose client disconnects.

use super::*;
use crate::audit;
use crate::clock::wall_clock;
use crate::session::NodeThreads;
use crate::settings::ConfigFile;
use axum::Router;
use axum::body::Body;
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use common::config::ControllerConfig;
use net::{Client, Endpoint, LocalListener};
use serde_json::Value;
use std::future::pending;
use std::path::Path;
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(30);

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // The last line may be incomplete.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The routes that change something, read from the source of the routing tables.
fn changing() -> Vec<(Method, &'static str)> {
    let mut found = Vec::new();
    for source in [include_str!("../../api.rs"), include_str!("../slurm.rs")] {
        for (method, word) in [(Method::POST, "post("), (Method::DELETE, "delete(")] {
            let routes = source.split(".route(").skip(1).filter(|route| route.contains(word));
            let paths = routes.map(|route| route.split('"').nth(1).unwrap());
            let before = found.len();
            found.extend(paths.map(|path| (method.clone(), path)));
            let count = source.matches(word).count();
            assert_eq!(found.len() - before, count, "a route has another form");
        }
    }
    found
}

fn filled(path: &str) -> String {
    let path = path.replace("{key}", "1").replace("{task}", "1").replace("{name}", "n1");
    path.replace("{id}", "7").replace("{job_id}", "1").replace("{version}", "v0.0.42")
}

/// Whether the controller did what a request without content asks for.
async fn ask(client: &Client, method: &Method, path: &str) -> bool {
    let request = Request::builder().method(method.clone()).uri(filled(path));
    let request = request.header("host", "kant").header("content-type", "application/json");
    let answer = client.send(request.body(Body::from("{}")).unwrap()).await.unwrap();
    answer.status().is_success()
}

/// Starts a controller in this directory.
fn controller(dir: &Path) -> Client {
    let at = |name: &str| dir.join(name).display().to_string();
    let config = ControllerConfig {
        state_dir: at("state"),
        socket: at("kantctld.sock"),
        cluster_key: at("cluster.key"),
        listen: String::new(),
        disk_reserve_mib: 0,
        ..ControllerConfig::default()
    };
    let path = dir.join("kantctld.toml");
    std::fs::write(&path, "").unwrap();
    let text = String::new();
    let file = ConfigFile { path, named: true, found: true, text, config, topology: None };
    let threads = NodeThreads(tokio::runtime::Handle::current());
    tokio::spawn(crate::run::run(file, threads));
    Client::new(Endpoint::Unix(dir.join("kantctld.sock")))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_changes_something_has_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let client = controller(dir.path());
    let begun = Instant::now();
    while client.get::<Value>("/v1/jobs").await.is_err() {
        assert!(begun.elapsed() < DEADLINE, "no controller");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let log = dir.path().join("state/audit.log");
    let of_requests = || -> Vec<Value> {
        lines(&log).into_iter().filter(|line| line["via"] == "socket").collect()
    };
    let mut expected = 0;
    for (method, path) in changing() {
        let is_done = ask(&client, &method, path).await;
        if QUERIES.contains(&path) || (REPEATED.contains(&path) && is_done) {
            continue;
        }
        expected += 1;
        let line = wait_for(path, || of_requests().get(expected - 1).cloned()).await;
        assert_eq!(line["verb"], verb_of_route(&method, path), "{path}: {line}");
        let result = if is_done { "done" } else { "refused" };
        assert_eq!(line["result"], result, "{path}: {line}");
        assert_eq!(line["code"].is_null(), is_done, "{path}: {line}");
        assert_eq!(line["uid"], nix::unistd::geteuid().as_raw(), "{path}: {line}");
    }
    assert_eq!(expected, changing().len() - QUERIES.len(), "all but the queries");
    client.get::<Value>("/v1/status").await.unwrap();
    // The channel of controllers is not for users.
    assert!(client.get::<Value>(PEER_PATH).await.is_err());
    let line = wait_for("the channel's line", || of_requests().get(expected).cloned()).await;
    assert_eq!(
        (&line["verb"], &line["result"]),
        (&verb_of_route(&Method::GET, PEER_PATH).into(), &"refused".into())
    );
}

#[tokio::test]
async fn a_client_that_disconnects_has_an_audit_line_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let state_dir = dir.path().display().to_string();
    let config = ControllerConfig { state_dir, ..ControllerConfig::default() };
    let (audit, keeper) = audit::start(&config).unwrap();
    let clock = Arc::new(SteadyClock::new(wall_clock));
    let asked = Arc::new(tokio::sync::Notify::new());
    let handler = {
        let asked = asked.clone();
        move |axum::Extension(remark): axum::Extension<AuditRemark>| async move {
            remark.set_detail("said before it was done");
            asked.notify_one();
            pending::<()>().await;
        }
    };
    let router = Router::new()
        .route("/v1/jobs/{key}/cancel", post(handler))
        .layer(from_fn_with_state(Auditor { audit, clock }, audit_change));
    let socket = dir.path().join("s");
    let listener = LocalListener::bind(&socket).unwrap();
    let server = tokio::spawn(net::serve(listener, router, pending()));
    let client = Client::new(Endpoint::Unix(socket));
    tokio::select! {
        answer = client.post::<_, Value>("/v1/jobs/42_7/cancel", &()) => panic!("{answer:?}"),
        () = asked.notified() => {}
    }
    drop(client);
    let log = dir.path().join("audit.log");
    let line = wait_for("its line", || lines(&log).pop()).await;
    assert_eq!((&line["verb"], &line["target"]), (&"jobs/cancel".into(), &"42_7".into()));
    assert_eq!(line["result"], "unknown");
    assert_eq!(line["detail"], "said before it was done");
    server.abort();
    keeper.stop();
}
