//! Replicas that fail, and requests that are sent again, or must not be.

use crate::support::{Client, Replica, Site, config, endpoint, eventually, request, route, soon};
use common::service::table::EndpointState;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// An address at which nothing listens.
fn closed() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server that reads something of each request, sends this text and closes the connection.
async fn rude(text: &'static str) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicU64::new(0));
    let count = requests.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1000]).await;
            count.fetch_add(1, SeqCst);
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    (addr, requests)
}

#[tokio::test]
async fn no_request_fails_when_a_replica_is_killed_between_requests() {
    let one = Replica::echo("one").await;
    let two = Replica::echo("two").await;
    let site = Site::start(config(), route(&[&one, &two])).await;
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(Client::connect(site.addr()).await);
    }
    for client in &mut clients {
        for _ in 0..4 {
            assert_eq!(soon(client.get("/")).await.status(), 200);
        }
    }
    assert!(one.requests() > 0 && two.requests() > 0);
    one.kill().await;
    for round in 0..20 {
        for client in &mut clients {
            let answer = match round % 2 {
                0 => soon(client.post("/", "a request with a body")).await,
                _ => soon(client.get("/")).await,
            };
            assert!(answer.body().starts_with("two"), "{answer:?}");
        }
    }
    assert!(site.metric("outs_total", "") >= 1, "the killed replica is taken out");
    assert_eq!(site.metric("answers_total", ",code=\"5xx\""), 0);
}

#[tokio::test]
async fn a_replica_that_accepts_no_connection_costs_no_request() {
    let good = Replica::echo("good").await;
    let mut table = route(&[&good]);
    for index in 1..3 {
        let id = format!("r/{index}.0");
        table.endpoints.push(endpoint(&id, closed(), EndpointState::Ready));
    }
    let site = Site::start(config(), table).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..30 {
        assert_eq!(soon(client.post("/", "body")).await.status(), 200);
    }
    assert!(site.metric("retries_total", "") > 0);
}

#[tokio::test]
async fn a_request_that_a_replica_may_have_carried_out_is_sent_again_only_if_that_is_safe() {
    let (addr, requests) = rude("").await;
    let good = Replica::echo("good").await;
    let mut table = route(&[&good]);
    // The header sends the first try to the rude one.
    table.endpoints.push(endpoint("r/1.0", addr, EndpointState::Ready));
    let site = Site::start(config(), table).await;
    let mut client = Client::connect(site.addr()).await;
    let (mut lost, mut tries) = (0, 0);
    while requests.load(SeqCst) < 3 && tries < 200 {
        let answer = soon(client.post("/", "body")).await;
        lost += u64::from(answer.status() == 502);
        tries += 1;
    }
    assert_eq!(lost, requests.load(SeqCst), "each POST that it got is lost, not repeated");
    assert_eq!(site.metric("errors_total", ",kind=\"reset\""), lost);
    let again = Site::start(config(), {
        let mut table = route(&[&good]);
        table.endpoints.push(endpoint("r/1.0", addr, EndpointState::Ready));
        table
    });
    let again = again.await;
    let mut client = Client::connect(again.addr()).await;
    let before = requests.load(SeqCst);
    for _ in 0..30 {
        assert_eq!(soon(client.get("/")).await.status(), 200);
    }
    let got = requests.load(SeqCst) - before;
    assert!(got > 0);
    assert_eq!(again.metric("retries_total", ""), got, "each GET that it got is repeated");
}

#[tokio::test]
async fn a_request_is_not_repeated_once_an_answer_has_begun() {
    let (addr, requests) = rude("HTTP/1.1 200").await;
    let mut table = route(&[]);
    for index in 0..3 {
        let id = format!("r/{index}.0");
        table.endpoints.push(endpoint(&id, addr, EndpointState::Ready));
    }
    let site = Site::start(config(), table).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert_eq!((answer.status().as_u16(), requests.load(SeqCst)), (502, 1));
}

#[tokio::test]
async fn a_request_is_tried_on_at_most_three_replicas() {
    let (addr, requests) = rude("").await;
    let mut table = route(&[]);
    for index in 0..6 {
        let id = format!("r/{index}.0");
        table.endpoints.push(endpoint(&id, addr, EndpointState::Ready));
    }
    let site = Site::start(config(), table).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert_eq!((answer.status().as_u16(), requests.load(SeqCst)), (502, 3));
    assert_eq!(site.metric("retries_total", ""), 2);
}

#[tokio::test]
async fn replicas_that_all_fail_are_still_tried_and_recover_at_once() {
    let addr = closed();
    let mut table = route(&[]);
    table.endpoints.push(endpoint("r/0.0", addr, EndpointState::Ready));
    let site = Site::start(config(), table).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..10 {
        assert_eq!(soon(client.get("/")).await.status(), 502);
    }
    assert_eq!(site.metric("outs_total", ""), 1);
    let listener = TcpListener::bind(addr).await.unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 1000]).await;
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
    });
    assert_eq!(soon(client.get("/")).await.status(), 200);
}

#[tokio::test]
async fn a_connection_that_the_replica_closes_when_idle_costs_no_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    // One answer for each connection, without saying that it is the last.
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1000]).await;
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
    });
    let mut table = route(&[]);
    table.endpoints.push(endpoint("r/0.0", addr, EndpointState::Ready));
    let site = Site::start(config(), table).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..50 {
        assert_eq!(soon(client.get("/")).await.status(), 200);
    }
    assert_eq!(site.metric("outs_total", ""), 0);
}

#[tokio::test]
async fn a_replica_that_never_answers_is_not_waited_for_for_ever() {
    let replica = Replica::start(|_| std::future::pending()).await;
    let mut config = config();
    config.upstream.answer = std::time::Duration::from_millis(100);
    let site = Site::start(config, route(&[&replica])).await;
    for body in ["", "with a body"] {
        let mut client = Client::connect(site.addr()).await;
        let answer = soon(client.send(request("POST", "/", &[], body))).await;
        assert_eq!(answer.status(), 504);
        assert!(answer.body().contains("did not begin its answer within"), "{answer:?}");
    }
    eventually("no request is left", || site.load().endpoints[0].in_flight == 0).await;
    assert_eq!(site.metric("errors_total", ",kind=\"answer_timeout\""), 2);
}
