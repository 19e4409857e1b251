//! Which replica a request gets to.

use crate::support::{Client, Replica, Site, config, eventually, read_until, request, route, soon};
use common::service::table::{EndpointState, FieldName};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A replica that answers a request when a permit is added.
async fn waiting(name: &'static str) -> (Replica, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let replica = Replica::start(move |_| {
        let gate = waits.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            crate::support::reply(name)
        }
    });
    (replica.await, gate)
}

#[tokio::test]
async fn a_draining_replica_finishes_its_requests_and_gets_no_new_ones() {
    let (old, gate) = waiting("old").await;
    let new = Replica::echo("new").await;
    let site = Site::start(config(), route(&[&old])).await;
    let mut stream = TcpStream::connect(site.addr()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    eventually("the old replica has it", || old.requests() == 1).await;
    let mut both = route(&[&old, &new]);
    both.endpoints[0].state = EndpointState::Draining;
    site.apply(both).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..20 {
        assert!(soon(client.get("/")).await.body().starts_with("new"));
    }
    let load = site.load();
    assert_eq!(load.endpoints[0].state, EndpointState::Draining);
    assert_eq!((load.endpoints[0].in_flight, old.requests()), (1, 1));
    // The request goes on, even when the table has its replica no more.
    let mut without = route(&[&new]);
    without.endpoints[0].id = "r/1.0".to_owned();
    site.apply(without).await;
    gate.add_permits(1);
    soon(read_until(&mut stream, "old")).await;
    // Its connection stays, and its next request gets to the new replica.
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    soon(read_until(&mut stream, "new")).await;
}

#[tokio::test]
async fn the_less_loaded_of_two_replicas_gets_the_request() {
    let (one, gate_one) = waiting("one").await;
    let (two, gate_two) = waiting("two").await;
    let site = Site::start(config(), route(&[&one, &two])).await;
    let mut requests = Vec::new();
    for count in 1..=20 {
        let mut client = Client::connect(site.addr()).await;
        requests.push(tokio::spawn(async move { client.get("/").await }));
        eventually("it is in flight", || one.requests() + two.requests() == count).await;
    }
    assert_eq!((one.requests(), two.requests()), (10, 10));
    gate_one.add_permits(10);
    gate_two.add_permits(10);
    for request in requests {
        assert_eq!(soon(request).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn requests_with_the_same_header_stay_together_and_different_ones_spread() {
    let replicas = [Replica::echo("0").await, Replica::echo("1").await, Replica::echo("2").await];
    let mut table = route(&replicas.iter().collect::<Vec<_>>());
    table.affinity = Some(FieldName::new("X-Session").unwrap());
    let site = Site::start(config(), table.clone()).await;
    let mut client = Client::connect(site.addr()).await;
    let mut places: BTreeMap<String, u32> = BTreeMap::new();
    let mut of_session = Vec::new();
    for session in 0..60 {
        let session = format!("s{session}");
        let fields = [("x-session", session.as_str())];
        let mut answers = Vec::new();
        for _ in 0..3 {
            let answer = soon(client.send(request("GET", "/", &fields, ""))).await;
            answers.push(answer.body()[..1].to_owned());
        }
        assert!(answers.iter().all(|name| *name == answers[0]), "{session}: {answers:?}");
        *places.entry(answers[0].clone()).or_default() += 1;
        of_session.push((session, answers.remove(0)));
    }
    assert!(places.len() == 3 && places.values().all(|count| *count >= 5), "{places:?}");
    // A replica that starts again keeps its sessions, as its place is the same.
    table.endpoints[1].id = "r/1.7".to_owned();
    site.apply(table).await;
    for (session, place) in of_session {
        let fields = [("x-session", session.as_str())];
        let answer = soon(client.send(request("GET", "/", &fields, ""))).await;
        assert_eq!(answer.body()[..1], place, "{session}");
    }
}

#[tokio::test]
async fn a_popular_header_spreads_over_two_replicas() {
    let mut replicas = Vec::new();
    for _ in 0..3 {
        replicas.push(waiting("any").await);
    }
    let all: Vec<&Replica> = replicas.iter().map(|(replica, _)| replica).collect();
    let mut table = route(&all);
    table.affinity = Some(FieldName::new("x-session").unwrap());
    let site = Site::start(config(), table).await;
    let mut requests = Vec::new();
    for count in 1..=30 {
        let mut client = Client::connect(site.addr()).await;
        requests.push(tokio::spawn(async move {
            client.send(request("GET", "/", &[("x-session", "hot")], "")).await
        }));
        let total = || replicas.iter().map(|(replica, _)| replica.requests()).sum::<u64>();
        eventually("it is in flight", || total() == count).await;
    }
    let mut counts: Vec<u64> = replicas.iter().map(|(replica, _)| replica.requests()).collect();
    counts.sort_unstable();
    assert!(counts[0] == 0 && counts[1] >= 12 && counts[2] <= 18, "{counts:?}");
    replicas.iter().for_each(|(_, gate)| gate.add_permits(30));
    for request in requests {
        assert_eq!(soon(request).await.unwrap().status(), 200);
    }
}
