//! The end of a router.

use crate::streaming::{UPGRADE, repeating};
use crate::support::{Replica, Site, config, eventually, read_until, rest, route, soon};
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::watch;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A replica that answers when the gate is open.
async fn gated() -> (Replica, watch::Sender<bool>) {
    let (sender, receiver) = watch::channel(false);
    let replica = Replica::start(move |_| {
        let mut gate = receiver.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            crate::support::reply("late")
        }
    });
    (replica.await, sender)
}

#[tokio::test]
async fn a_router_that_stops_finishes_its_requests() {
    let (replica, gate) = gated().await;
    let Site { router, tables } = Site::start(config(), route(&[&replica])).await;
    let addr = router.service_address("a").unwrap();
    let mut idle = TcpStream::connect(addr).await.unwrap();
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(GET).await.unwrap();
    eventually("the replica has it", || replica.requests() == 1).await;
    let stops = tokio::spawn(router.stop());
    assert_eq!(soon(rest(&mut idle)).await, "", "idle connections end at once");
    eventually("the address is closed", || std::net::TcpStream::connect(addr).is_err()).await;
    assert!(!stops.is_finished());
    gate.send_replace(true);
    soon(read_until(&mut stream, "late")).await;
    soon(stops).await.unwrap();
    drop(tables);
}

#[tokio::test]
async fn a_router_waits_for_its_requests_as_long_as_the_route_allows() {
    let (replica, _gate) = gated().await;
    let mut table = route(&[&replica]);
    table.drain_seconds = 0;
    let Site { router, .. } = Site::start(config(), table).await;
    let mut stream = TcpStream::connect(router.service_address("a").unwrap()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    eventually("the replica has it", || replica.requests() == 1).await;
    soon(router.stop()).await;
    assert_eq!(soon(rest(&mut stream)).await, "");
}

#[tokio::test]
async fn a_tunnel_outlives_its_service_and_ends_with_the_router() {
    let (replica, has_ended) = repeating().await;
    let mut table = route(&[&replica]);
    table.drain_seconds = 0;
    let site = Site::start(config(), table).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(UPGRADE).await.unwrap();
    soon(read_until(&mut stream, "\r\n\r\n")).await;
    site.apply_all(Vec::new()).await;
    stream.write_all(b"hello").await.unwrap();
    assert_eq!(soon(read_until(&mut stream, "hello")).await, "hello");
    soon(site.router.stop()).await;
    assert_eq!(soon(rest(&mut stream)).await, "");
    eventually("the replica learns it", || has_ended.load(SeqCst)).await;
}

#[tokio::test]
async fn a_router_waits_at_most_as_long_as_its_configuration_allows() {
    let (replica, _gate) = gated().await;
    let mut table = route(&[&replica]);
    table.drain_seconds = 3600;
    let mut config = config();
    config.stop_max = Duration::from_millis(50);
    let Site { router, .. } = Site::start(config, table).await;
    let mut stream = TcpStream::connect(router.service_address("a").unwrap()).await.unwrap();
    stream.write_all(GET).await.unwrap();
    eventually("the replica has it", || replica.requests() == 1).await;
    soon(router.stop()).await;
}
