//! What operators, Prometheus and the autoscaler see.

use crate::support::{Client, Replica, Site, config, endpoint, route, soon};
use common::service::load::RouterLoad;
use common::service::table::EndpointState;
use router::{AdminAddress, AdminError, Config, Router, RouterError};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::watch;

#[tokio::test]
async fn metrics_show_what_was_asked_and_answered() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..3 {
        soon(client.get("/")).await;
    }
    let mut admin = Client::connect(site.router.admin_address().unwrap()).await;
    let answer = soon(admin.get("/metrics")).await;
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4");
    let text = answer.body();
    for line in [
        "# TYPE kant_router_requests_total counter",
        "kant_router_requests_total{service=\"a\"} 3",
        "kant_router_in_flight{service=\"a\"} 0",
        "kant_router_answers_total{service=\"a\",code=\"2xx\"} 3",
        "kant_router_connections{service=\"a\"} 1",
        "kant_router_request_seconds_bucket{service=\"a\",le=\"600\"} 3",
        "kant_router_request_seconds_bucket{service=\"a\",le=\"+Inf\"} 3",
        "kant_router_first_byte_seconds_count{service=\"a\"} 3",
        "kant_router_endpoint_in_flight{service=\"a\",endpoint=\"r/0.0\",state=\"ready\"} 0",
        "kant_router_table_version 1",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in {text}");
    }
    assert_eq!(soon(admin.get("/livez")).await.body(), "ok\n");
    assert_eq!(soon(admin.get("/")).await.status(), 404);
    assert_eq!(soon(admin.post("/livez", "")).await.status(), 405);
}

#[tokio::test]
async fn the_load_and_the_targets_are_json() {
    let replica = Replica::echo("one").await;
    let mut table = route(&[&replica]);
    let other = endpoint("r/1.0", "10.0.0.1:8000".parse().unwrap(), EndpointState::NotReady);
    table.endpoints.push(other);
    let site = Site::start(config(), table).await;
    soon(Client::connect(site.addr()).await.get("/")).await;
    let mut admin = Client::connect(site.router.admin_address().unwrap()).await;
    let load: RouterLoad = serde_json::from_str(soon(admin.get("/load")).await.body()).unwrap();
    // The time up to now is the only value that moves between the two.
    assert_eq!(load, RouterLoad { uptime: load.uptime, ..site.router.current_load() });
    let service = &load.services[0];
    assert_eq!((service.service.as_str(), service.requests, service.held), ("a", 1, 0));
    assert_eq!(service.endpoints[1].state, EndpointState::NotReady);
    let answer = soon(admin.get("/http_sd")).await;
    assert_eq!(answer.headers()["content-type"], "application/json");
    let groups: Value = serde_json::from_str(answer.body()).unwrap();
    let labels = json!({
        "kant_service": "a", "kant_endpoint": "r/1.0", "kant_state": "not_ready",
    });
    assert_eq!(groups[1], json!({ "targets": ["10.0.0.1:8000"], "labels": labels }));
    site.apply_all(Vec::new()).await;
    assert_eq!(soon(admin.get("/http_sd")).await.body(), "[]");
}

fn start(admin: AdminAddress) -> Result<Router, RouterError> {
    let (_, tables) = watch::channel(std::sync::Arc::default());
    Router::start(Config { admin: Some(admin), ..config() }, tables)
}

#[tokio::test]
async fn a_unix_socket_answers_its_owner_and_replaces_one_that_a_crash_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("router.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let router = start(AdminAddress::Unix(path.clone())).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    let mut stream = UnixStream::connect(&path).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nok\n"), "{answer}");
    let error = start(AdminAddress::Unix(path.clone())).unwrap_err();
    assert!(matches!(error, RouterError::Admin(AdminError::InUse { .. })), "{error}");
    drop(router);
    assert!(!path.exists(), "it goes with its router");
    let file = dir.path().join("precious");
    std::fs::write(&file, "precious").unwrap();
    let error = start(AdminAddress::Unix(file)).unwrap_err();
    assert!(matches!(error, RouterError::Admin(AdminError::InTheWay { .. })), "{error}");
}

#[tokio::test]
async fn the_admin_address_is_one_of_this_host_alone() {
    let error = start(AdminAddress::Loopback("0.0.0.0:0".parse().unwrap())).unwrap_err();
    assert!(error.to_string().contains("must be one of this host alone"), "{error}");
}
