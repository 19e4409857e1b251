//! Tables that change while the router runs.

use crate::support::{
    Client, Replica, Site, config, endpoint, eventually, raw, read_until, rest, route, soon,
};
use common::service::table::{EndpointState, Route, Table};
use router::Router;
use std::net::SocketAddr;
use std::path::Path;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

fn named(mut route: Route, service: &str) -> Route {
    route.service = service.to_owned();
    route
}

async fn is_closed(addr: SocketAddr) {
    let end = std::time::Instant::now() + crate::support::DEADLINE;
    while TcpStream::connect(addr).await.is_ok() {
        assert!(std::time::Instant::now() < end, "{addr} is still open");
    }
}

#[tokio::test]
async fn addresses_open_and_close_with_their_services() {
    let (one, two) = (Replica::echo("one").await, Replica::echo("two").await);
    let site = Site::start(config(), route(&[&one])).await;
    let first = site.addr();
    site.apply_all(vec![route(&[&one]), named(route(&[&two]), "b")]).await;
    eventually("b listens", || site.router.service_address("b").is_some()).await;
    assert_eq!(site.addr(), first, "the address of a service is stable");
    let second = site.router.service_address("b").unwrap();
    assert!(soon(Client::connect(second).await.get("/")).await.body().starts_with("two"));
    let mut idle = TcpStream::connect(first).await.unwrap();
    idle.write_all(GET).await.unwrap();
    soon(read_until(&mut idle, "\n\n")).await;
    site.apply_all(vec![named(route(&[&two]), "b")]).await;
    is_closed(first).await;
    assert_eq!(soon(rest(&mut idle)).await, "", "idle connections end");
    assert!(soon(Client::connect(second).await.get("/")).await.body().starts_with("two"));
}

#[tokio::test]
async fn requests_in_flight_outlive_their_service() {
    let (sender, receiver) = tokio::sync::watch::channel(false);
    let replica = Replica::start(move |_| {
        let mut gate = receiver.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            crate::support::reply("late")
        }
    });
    let replica = replica.await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    eventually("the replica has it", || replica.requests() == 1).await;
    site.apply_all(Vec::new()).await;
    sender.send_replace(true);
    let answer = soon(read_until(&mut stream, "late")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(soon(rest(&mut stream)).await, "", "the connection ends after it");
}

#[tokio::test]
async fn no_request_fails_while_tables_change() {
    let (one, two) = (Replica::echo("one").await, Replica::echo("two").await);
    let site = Site::start(config(), route(&[&one])).await;
    let addr = site.addr();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            tokio::spawn(async move {
                let mut client = Client::connect(addr).await;
                for count in 0..200 {
                    let answer = client.post("/", "x").await;
                    assert_eq!(answer.status(), 200, "{count}: {answer:?}");
                }
            })
        })
        .collect();
    for round in 0.. {
        if clients.iter().all(tokio::task::JoinHandle::is_finished) {
            break;
        }
        let (first, second) = if round % 2 == 0 { (&two, &one) } else { (&one, &two) };
        let mut table = route(&[first, second]);
        table.endpoints[1].state = EndpointState::Draining;
        table.endpoints[0].id = format!("r/{}.{round}", round % 2);
        table.endpoints[1].id = format!("s/{}.{round}", round % 2);
        site.apply(table).await;
    }
    for client in clients {
        soon(client).await.unwrap();
    }
}

#[tokio::test]
async fn an_address_passes_from_one_service_to_another() {
    let (one, two) = (Replica::echo("one").await, Replica::echo("two").await);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let at = |mut route: Route| {
        route.listen = port;
        route
    };
    let site = Site::start(config(), at(route(&[&one]))).await;
    assert!(soon(Client::connect(port).await.get("/")).await.body().starts_with("one"));
    site.apply_all(vec![named(at(route(&[&two])), "b")]).await;
    assert!(soon(Client::connect(port).await.get("/")).await.body().starts_with("two"));
    assert_eq!(site.router.service_address("b"), Some(port));
}

#[tokio::test]
async fn an_address_that_is_in_use_is_taken_when_it_is_free() {
    let replica = Replica::echo("one").await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let site = Site::start(config(), route(&[&replica])).await;
    let mut other = named(route(&[&replica]), "b");
    other.listen = addr;
    site.apply_all(vec![route(&[&replica]), other]).await;
    assert_eq!(site.router.service_address("b"), None);
    assert_eq!(soon(Client::connect(site.addr()).await.get("/")).await.status(), 200);
    drop(taken);
    eventually("b listens", || site.router.service_address("b") == Some(addr)).await;
}

#[tokio::test]
async fn a_table_that_is_not_valid_changes_nothing() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let good = site.tables.borrow().clone();
    let services = vec![route(&[&replica]), route(&[&replica])];
    site.tables.send_replace(std::sync::Arc::new(Table { version: 99, services }));
    let mut client = Client::connect(site.addr()).await;
    assert_eq!(soon(client.get("/")).await.status(), 200);
    assert_eq!(site.router.current_load().table_version, good.version);
}

fn write(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, path).unwrap();
}

#[tokio::test]
async fn a_damaged_file_leaves_the_last_good_table() {
    let (one, two) = (Replica::echo("one").await, Replica::echo("two").await);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.json");
    let text = |version, replica: &Replica| {
        let mut route = route(&[]);
        route.endpoints = vec![endpoint("r/0.1", replica.addr(), EndpointState::Ready)];
        serde_json::to_string(&Table { version, services: vec![route] }).unwrap()
    };
    let router = Router::follow_file(config(), path.clone()).unwrap();
    assert_eq!(router.service_address("a"), None, "the file is missing");
    write(&path, &text(1, &one));
    eventually("a listens", || router.service_address("a").is_some()).await;
    let addr = router.service_address("a").unwrap();
    for bad in ["", "{\"version\": 2", "{\"version\": 2, \"more\": []}"] {
        write(&path, bad);
    }
    std::fs::remove_file(&path).unwrap();
    let get = || async move {
        soon(raw(addr, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await
    };
    assert!(get().await.contains("\r\n\r\none\n"));
    write(&path, &text(3, &two));
    eventually("the table is applied", || router.current_load().table_version == 3).await;
    assert!(get().await.contains("\r\n\r\ntwo\n"));
    assert_eq!(router.service_address("a"), Some(addr));
}
