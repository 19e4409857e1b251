//! Tests of the choice of nodes and time, on a cluster of five nodes.

use super::*;
use common::gpu::{Gpu, GpuKind};
use common::id::{ReservationName, Uid};
use common::job::Ask;
use common::policy::Access;
use common::reservation::Reservation;
use common::time::Span;
use common::unit::Nodes;
use state::Command;
use testkit::{OPERATOR, TestCluster, gpu, inventory, name, share};

const NOW: Time = Time(3_600_000);

fn minutes(count: u64) -> Time {
    NOW + Span::from_minutes(count)
}

/// The nodes and their GPU kind; m1 has a MIG device.
const CLUSTER: [(&str, &str); 5] =
    [("a1", "a40"), ("a2", "a40"), ("h1", "h100"), ("c1", ""), ("m1", "h100-1g.10gb")];

/// All nodes of [`CLUSTER`], up and idle.
fn cluster() -> TestCluster {
    let mut cluster = TestCluster::new();
    cluster.now = NOW;
    for (node, kind) in CLUSTER {
        let kind = GpuKind(kind.to_owned());
        let gpus = if kind.0.is_empty() { vec![] } else { vec![Gpu { kind, ..gpu(0) }] };
        cluster.register(node, Inventory { gpus, ..inventory(4, 4, 0) });
    }
    cluster
}

/// A job on one node with a time limit in minutes; 0 means no limit.
fn run(cluster: &mut TestCluster, node: &str, limit: u64) {
    let time_limit = (limit > 0).then(|| Span::from_minutes(limit));
    let key = cluster.job_of(Ask { time_limit, ..Ask::default() });
    cluster.start(key, vec![share(node, 0, 1, &[])]);
}

fn book(cluster: &mut TestCluster, nodes: &[&str], from: u64, to: u64) {
    let reservation = Box::new(Reservation {
        name: ReservationName::new("first").unwrap(),
        nodes: nodes.iter().map(|node| name(node)).collect(),
        from: minutes(from),
        to: minutes(to),
        access: Access::default(),
        maintenance: false,
        by: Uid(0),
        comment: String::new(),
    });
    cluster.apply(Command::CreateReservation { actor: OPERATOR, reservation });
}

/// A request for ten minutes from now.
fn asked() -> ReservationRequest {
    ReservationRequest {
        name: ReservationName::new("r").unwrap(),
        nodes: vec![],
        node_count: None,
        gpus: None,
        gpu_kind: None,
        from: NOW,
        to: minutes(10),
        flexible_until: None,
        users: vec![],
        groups: vec![],
        accounts: vec![],
        maintenance: false,
        comment: String::new(),
    }
}

fn any(count: u32, kind: &str) -> ReservationRequest {
    let gpu_kind = (!kind.is_empty()).then(|| GpuKind(kind.to_owned()));
    ReservationRequest { node_count: Some(Nodes(count)), gpu_kind, ..asked() }
}

fn chosen(cluster: &TestCluster, asked: &ReservationRequest) -> (String, u64) {
    let Choice { nodes, from, to } = choose(&cluster.state, asked, NOW).unwrap();
    assert_eq!(to.since(from), asked.to.since(asked.from));
    (common::hostlist::compress(&nodes), from.since(NOW).seconds() / 60)
}

#[test]
fn named_nodes_are_taken_as_they_are() {
    let mut cluster = cluster();
    run(&mut cluster, "a1", 0);
    let named = ReservationRequest { nodes: vec![name("c1"), name("a1")], ..asked() };
    assert_eq!(chosen(&cluster, &named), ("a1,c1".to_owned(), 0));
    let unknown = ReservationRequest { nodes: vec![name("x9")], ..asked() };
    assert!(matches!(choose(&cluster.state, &unknown, NOW), Err(Refusal::UnknownNode { .. })));
    let both = ReservationRequest { node_count: Some(Nodes(2)), ..named };
    assert!(choose(&cluster.state, &both, NOW).unwrap_err().to_string().contains("exactly one of"));
    assert!(
        choose(&cluster.state, &asked(), NOW).unwrap_err().to_string().contains("names no node")
    );
}

#[test]
fn of_a_kind_the_nodes_that_are_free_soonest_and_not_reserved_are_taken() {
    let mut cluster = cluster();
    run(&mut cluster, "a1", 5);
    assert_eq!(chosen(&cluster, &any(1, "a40")), ("a2".to_owned(), 0));
    run(&mut cluster, "a2", 7);
    assert_eq!(chosen(&cluster, &any(1, "a40")), ("a1".to_owned(), 0));
    book(&mut cluster, &["a1"], 9, 20);
    assert_eq!(chosen(&cluster, &any(1, "a40")), ("a2".to_owned(), 0));
    let refusal = choose(&cluster.state, &any(2, "a40"), NOW).unwrap_err().to_string();
    let expected = "2 nodes with a40 GPUs were requested, and 1 are up and not reserved then";
    assert!(refusal.starts_with(expected), "{refusal}");
}

#[test]
fn whole_nodes_are_reserved_until_they_have_enough_gpus() {
    let mut cluster = cluster();
    let gpus = |count, kind: &str| {
        let gpu_kind = (!kind.is_empty()).then(|| GpuKind(kind.to_owned()));
        ReservationRequest { gpus: Some(Gpus(count)), gpu_kind, ..asked() }
    };
    assert_eq!(chosen(&cluster, &gpus(2, "a40")), ("a[1-2]".to_owned(), 0));
    assert_eq!(chosen(&cluster, &gpus(3, "")), ("a[1-2],h1".to_owned(), 0), "never c1");
    let refusal = choose(&cluster.state, &gpus(4, ""), NOW).unwrap_err().to_string();
    assert!(refusal.contains("and 3 are up"), "parts are none: {refusal}");
    assert_eq!(chosen(&cluster, &gpus(1, "h100-1g.10gb")), ("m1".to_owned(), 0));
    run(&mut cluster, "a1", 5);
    assert_eq!(chosen(&cluster, &gpus(1, "")), ("a2".to_owned(), 0), "the free one");
    let soon = ReservationRequest { flexible_until: Some(minutes(60)), ..gpus(2, "a40") };
    assert_eq!(chosen(&cluster, &soon), ("a[1-2]".to_owned(), 5));
    let refusal = choose(&cluster.state, &gpus(3, "a40"), NOW).unwrap_err().to_string();
    assert!(refusal.starts_with("3 a40 GPUs were requested, and 2 are up"), "{refusal}");
    for odd in [gpus(0, ""), ReservationRequest { node_count: Some(Nodes(1)), ..gpus(1, "") }] {
        assert!(
            choose(&cluster.state, &odd, NOW).unwrap_err().to_string().contains("exactly one of")
        );
    }
}

#[test]
fn a_flexible_start_waits_for_jobs_and_reservations_to_end() {
    let mut cluster = cluster();
    run(&mut cluster, "a1", 5);
    run(&mut cluster, "a2", 7);
    run(&mut cluster, "h1", 0);
    let flexible = |count, kind: &str, until| ReservationRequest {
        flexible_until: Some(minutes(until)),
        ..any(count, kind)
    };
    assert_eq!(chosen(&cluster, &flexible(1, "a40", 60)), ("a1".to_owned(), 5));
    assert_eq!(chosen(&cluster, &flexible(2, "a40", 60)), ("a[1-2]".to_owned(), 7));
    assert_eq!(chosen(&cluster, &flexible(1, "", 60)), ("c1".to_owned(), 0));
    book(&mut cluster, &["a2"], 10, 30);
    assert_eq!(chosen(&cluster, &flexible(2, "a40", 60)), ("a[1-2]".to_owned(), 30));
    for (count, kind, until) in [(2, "a40", 29), (1, "h100", 60)] {
        let refusal =
            choose(&cluster.state, &flexible(count, kind, until), NOW).unwrap_err().to_string();
        assert!(refusal.contains("not expected to be free together"), "{refusal}");
    }
}
