//! Tests of the choice of nodes and time, on a cluster of five nodes.

use super::*;
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::id::{
    Attempt, AttemptId, Gid, GpuIndex, JobKey, QueueName, RequestKey, ReservationName, Uid,
};
use common::job::{Ask, Owner};
use common::policy::queue::Queue;
use common::policy::{Access, Factors};
use common::reservation::Reservation;
use common::resource::{Allocation, Share};
use common::time::Span;
use common::topology::Topology;
use common::unit::{Bytes, Nodes, Tasks};
use state::{Actor, Command, RoundStart, Settings, Stamped};

const NOW: Time = Time(3_600_000);

fn minutes(count: u64) -> Time {
    NOW + Span::from_minutes(count)
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

fn apply(state: &mut State, command: Command) {
    let events = state::apply(state, &Stamped { at: NOW, command });
    let refused = events.iter().find(|e| matches!(e, state::Event::CommandRefused(_)));
    assert_eq!(refused, None);
}

/// The nodes and their GPU kind; m1 has a MIG device.
const CLUSTER: [(&str, &str); 5] =
    [("a1", "a40"), ("a2", "a40"), ("h1", "h100"), ("c1", ""), ("m1", "h100-1g.10gb")];

/// All nodes of [`CLUSTER`], up and idle.
fn cluster() -> State {
    let mut state = State::default();
    let queue = Queue { default: true, ..Queue::plain(QueueName::new("main").unwrap()) };
    let settings = Settings {
        cluster: "test".to_owned(),
        queues: vec![queue],
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(30),
        done_jobs_kept: Span::from_minutes(60),
        user_bounds: state::UserBounds::default(),
        qos: Vec::new(),
        accounts: Vec::new(),
        fair_sharing: false,
        yields_first: common::policy::YieldsFirst::default(),
        factors: Factors::default(),
        moves: common::policy::Moves::default(),
        topology: Topology::default(),
    };
    apply(&mut state, Command::Configure(settings));
    for (node, kind) in CLUSTER {
        let gpu = Gpu {
            index: GpuIndex(0),
            uuid: "GPU-0".to_owned(),
            model: "one".to_owned(),
            kind: GpuKind(kind.to_owned()),
            memory: Bytes(1),
            minor: 0,
            pci_bus_id: String::new(),
            numa: None,
            cpus: CpuSet::new(),
            mig: None,
        };
        let inventory = Inventory {
            sockets: 1,
            threads_per_core: 1,
            cpus: CpuSet::first(4),
            cores: (0..4).map(|cpu| CpuSet::from_iter([cpu])).collect(),
            numa: vec![],
            memory: Bytes::from_mib(4096),
            gpus: if kind.is_empty() { vec![] } else { vec![gpu] },
            gpu_matrix: GpuMatrix::default(),
            boot_id: "boot".to_owned(),
            gpu_driver: None,
            nics: Vec::new(),
            features: Vec::new(),
            limits_missing: vec![],
        };
        apply(
            &mut state,
            Command::RegisterNode {
                name: name(node),
                identity: node.to_owned(),
                address: node.to_owned(),
                version: "1".to_owned(),
                inventory: Box::new(inventory),
                steps: vec![],
            },
        );
    }
    state
}

/// A job on one node with a time limit in minutes; 0 means no limit.
fn run(state: &mut State, node: &str, limit: u64) {
    let time_limit = (limit > 0).then(|| Span::from_minutes(limit));
    apply(
        state,
        Command::SubmitJob {
            request_key: RequestKey(format!("on-{node}")),
            owner: Owner { uid: Uid(1), gid: Gid(1), name: "ada".to_owned() },
            groups: vec![],
            operator: false,
            via: None,
            ask: Box::new(Ask { time_limit, ..Ask::default() }),
            script: "#!/bin/sh\n".to_owned(),
            environment: String::new(),
        },
    );
    let share = Share {
        node: name(node),
        tasks: Tasks(1),
        cpus: CpuSet::first(1),
        memory: Bytes(1),
        gpus: vec![],
        gpu_milli: None,
    };
    let id = AttemptId { key: JobKey::single(state.last_job()), attempt: Attempt(1) };
    let allocation = Allocation::new(vec![share]).unwrap();
    let starts = vec![RoundStart { id, allocation, group: None }];
    apply(
        state,
        Command::EnactRound { preempts: vec![], shrinks: Vec::new(), starts, grows: Vec::new() },
    );
}

fn book(state: &mut State, nodes: &[&str], from: u64, to: u64) {
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
    let actor = Actor { uid: Uid(0), operator: true };
    apply(state, Command::CreateReservation { actor, reservation });
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

fn chosen(state: &State, asked: &ReservationRequest) -> (String, u64) {
    let Choice { nodes, from, to } = choose(state, asked, NOW).unwrap();
    assert_eq!(to.since(from), asked.to.since(asked.from));
    (common::hostlist::fold(&nodes), from.since(NOW).seconds() / 60)
}

#[test]
fn named_nodes_are_taken_as_they_are() {
    let mut state = cluster();
    run(&mut state, "a1", 0);
    let named = ReservationRequest { nodes: vec![name("c1"), name("a1")], ..asked() };
    assert_eq!(chosen(&state, &named), ("a1,c1".to_owned(), 0));
    let unknown = ReservationRequest { nodes: vec![name("x9")], ..asked() };
    assert!(matches!(choose(&state, &unknown, NOW), Err(Refusal::UnknownNode { .. })));
    let both = ReservationRequest { node_count: Some(Nodes(2)), ..named };
    assert!(choose(&state, &both, NOW).unwrap_err().to_string().contains("exactly one of"));
    assert!(choose(&state, &asked(), NOW).unwrap_err().to_string().contains("names no node"));
}

#[test]
fn of_a_kind_the_nodes_that_are_free_soonest_and_not_reserved_are_taken() {
    let mut state = cluster();
    run(&mut state, "a1", 5);
    assert_eq!(chosen(&state, &any(1, "a40")), ("a2".to_owned(), 0));
    run(&mut state, "a2", 7);
    assert_eq!(chosen(&state, &any(1, "a40")), ("a1".to_owned(), 0));
    book(&mut state, &["a1"], 9, 20);
    assert_eq!(chosen(&state, &any(1, "a40")), ("a2".to_owned(), 0));
    let refusal = choose(&state, &any(2, "a40"), NOW).unwrap_err().to_string();
    let expected = "2 nodes with a40 GPUs were requested, and 1 are up and not reserved then";
    assert!(refusal.starts_with(expected), "{refusal}");
}

#[test]
fn whole_nodes_are_reserved_until_they_have_enough_gpus() {
    let mut state = cluster();
    let gpus = |count, kind: &str| {
        let gpu_kind = (!kind.is_empty()).then(|| GpuKind(kind.to_owned()));
        ReservationRequest { gpus: Some(Gpus(count)), gpu_kind, ..asked() }
    };
    assert_eq!(chosen(&state, &gpus(2, "a40")), ("a[1-2]".to_owned(), 0));
    assert_eq!(chosen(&state, &gpus(3, "")), ("a[1-2],h1".to_owned(), 0), "never c1");
    let refusal = choose(&state, &gpus(4, ""), NOW).unwrap_err().to_string();
    assert!(refusal.contains("and 3 are up"), "parts are none: {refusal}");
    assert_eq!(chosen(&state, &gpus(1, "h100-1g.10gb")), ("m1".to_owned(), 0));
    run(&mut state, "a1", 5);
    assert_eq!(chosen(&state, &gpus(1, "")), ("a2".to_owned(), 0), "the free one");
    let soon = ReservationRequest { flexible_until: Some(minutes(60)), ..gpus(2, "a40") };
    assert_eq!(chosen(&state, &soon), ("a[1-2]".to_owned(), 5));
    let refusal = choose(&state, &gpus(3, "a40"), NOW).unwrap_err().to_string();
    assert!(refusal.starts_with("3 a40 GPUs were requested, and 2 are up"), "{refusal}");
    for odd in [gpus(0, ""), ReservationRequest { node_count: Some(Nodes(1)), ..gpus(1, "") }] {
        assert!(choose(&state, &odd, NOW).unwrap_err().to_string().contains("exactly one of"));
    }
}

#[test]
fn a_flexible_start_waits_for_jobs_and_reservations_to_end() {
    let mut state = cluster();
    run(&mut state, "a1", 5);
    run(&mut state, "a2", 7);
    run(&mut state, "h1", 0);
    let flexible = |count, kind: &str, until| ReservationRequest {
        flexible_until: Some(minutes(until)),
        ..any(count, kind)
    };
    assert_eq!(chosen(&state, &flexible(1, "a40", 60)), ("a1".to_owned(), 5));
    assert_eq!(chosen(&state, &flexible(2, "a40", 60)), ("a[1-2]".to_owned(), 7));
    assert_eq!(chosen(&state, &flexible(1, "", 60)), ("c1".to_owned(), 0));
    book(&mut state, &["a2"], 10, 30);
    assert_eq!(chosen(&state, &flexible(2, "a40", 60)), ("a[1-2]".to_owned(), 30));
    for (count, kind, until) in [(2, "a40", 29), (1, "h100", 60)] {
        let refusal = choose(&state, &flexible(count, kind, until), NOW).unwrap_err().to_string();
        assert!(refusal.contains("not expected to be free together"), "{refusal}");
    }
}
