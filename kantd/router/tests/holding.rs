//! Requests that come while no replica is ready.

use crate::support::{Client, Replica, Site, config, endpoint, eventually, route, soon};
use common::service::table::{EndpointState, Hold, Route};
use std::net::SocketAddr;

fn holding(requests_max: u32, seconds_max: u32) -> Route {
    let mut route = route(&[]);
    route.hold = Hold { requests_max, seconds_max };
    route
}

#[tokio::test]
async fn held_requests_are_released_as_soon_as_a_replica_is_ready() {
    let replica = Replica::echo("one").await;
    let empty = holding(10, 3600);
    let site = Site::start(config(), empty.clone()).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(site.addr()).await;
        clients.push(tokio::spawn(async move { client.post("/", "body").await }));
    }
    eventually("all are held", || site.load().held == 3).await;
    assert_eq!((site.load().in_flight, site.load().requests), (3, 3));
    let mut not_ready = empty.clone();
    let starting = endpoint("r/0.0", replica.addr(), EndpointState::NotReady);
    not_ready.endpoints = vec![starting.clone()];
    site.apply(not_ready.clone()).await;
    assert_eq!(site.load().held, 3, "a replica that is not ready changes nothing");
    not_ready.endpoints[0].state = EndpointState::Ready;
    site.apply(not_ready).await;
    for client in clients {
        let answer = soon(client).await.unwrap();
        assert!(answer.body().ends_with("\n\nbody"), "{answer:?}");
    }
    eventually("none is held", || site.load().held == 0).await;
    assert_eq!(site.metric("holds_total", ""), 3);
}

#[tokio::test]
async fn a_request_beyond_those_that_may_be_held_is_refused_with_a_time() {
    let site = Site::start(config(), holding(1, 3600)).await;
    let mut first = Client::connect(site.addr()).await;
    let held = tokio::spawn(async move { first.get("/").await });
    eventually("one is held", || site.load().held == 1).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "5");
    assert!(answer.body().contains("\"code\":\"hold_full\""), "{answer:?}");
    // A client that leaves makes room.
    held.abort();
    eventually("none is held", || site.load().held == 0).await;
}

#[tokio::test]
async fn a_request_is_held_for_a_limited_time() {
    let site = Site::start(config(), holding(1, 0)).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    assert!(answer.body().contains("\"code\":\"hold_timeout\""), "{answer:?}");
    assert_eq!(site.load().held, 0);
}

#[tokio::test]
async fn a_held_request_ends_with_its_service() {
    let site = Site::start(config(), holding(1, 3600)).await;
    let mut client = Client::connect(site.addr()).await;
    let held = tokio::spawn(async move { client.get("/").await });
    eventually("one is held", || site.load().held == 1).await;
    site.apply_all(Vec::new()).await;
    assert_eq!(soon(held).await.unwrap().status(), 503);
}

#[tokio::test]
async fn without_a_hold_requests_are_refused_at_once() {
    let site = Site::start(config(), holding(0, 3600)).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert!(answer.body().contains("\"code\":\"hold_full\""), "{answer:?}");
}

#[tokio::test]
async fn a_replica_that_is_ready_and_gone_is_not_waited_for() {
    let mut route = holding(10, 3600);
    let closed: SocketAddr = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    route.endpoints = vec![endpoint("r/0.0", closed, EndpointState::Ready)];
    let site = Site::start(config(), route).await;
    let answer = soon(Client::connect(site.addr()).await.get("/")).await;
    assert_eq!(answer.status(), 502);
    assert!(answer.body().contains("failed to connect to the replica r/0.0"), "{answer:?}");
}
