//! Tests of a session on a small cluster, without a connection.

use super::*;
use crate::Rounds;
use common::id::JobKey;
use common::job::{Ask, EndCause};
use common::wire::node::{NODE_PROTOCOL, NODE_PROTOCOLS, StepPhase};
use state::Target;
use testkit::{OPERATOR, TestCluster, hello, name, running};

fn status(id: AttemptId, phase: StepPhase) -> StepStatus {
    StepStatus { id, phase }
}

fn ended() -> StepPhase {
    testkit::ended(EndCause::Exited, 0)
}

/// Starts all waiting jobs.
fn start_all(cluster: &mut TestCluster) {
    let mut rounds = Rounds::default();
    rounds.catch_up(&cluster.state, None, cluster.now);
    if let Some(command) = rounds.round(cluster.now).command {
        cluster.apply(command);
    }
}

fn session(node: &str, steps: Vec<StepStatus>) -> NodeSession {
    NodeSession::new(&hello(node, steps), ORDERS_BYTES)
}

fn updates(messages: Vec<ToNode>) -> Vec<DesiredUpdate> {
    let update = |message| match message {
        ToNode::Desired(update) => update,
        other => panic!("{other:?}"),
    };
    messages.into_iter().map(update).collect()
}

fn named(update: &DesiredUpdate) -> Vec<(AttemptId, Want, bool)> {
    update.steps.iter().map(|step| (step.id, step.want, step.order.is_some())).collect()
}

#[test]
fn a_hello_of_another_protocol_name_or_machine_is_refused_with_the_reason() {
    let cluster = TestCluster::of(&["a"]);
    let good = hello("a", Vec::new());
    assert_eq!(check_hello(&cluster.state, &name("a"), &good, NODE_PROTOCOLS), Ok(NODE_PROTOCOL));
    let refusal = |certified: &str, hello: &Hello| {
        check_hello(&cluster.state, &name(certified), hello, NODE_PROTOCOLS).unwrap_err()
    };
    let old = Hello { protocol: NODE_PROTOCOL - 1, ..good.clone() };
    assert!(refusal("a", &old).contains("install the same release"));
    assert!(refusal("b", &good).contains("certificate is for node b"));
    let twin = Hello { identity: "another machine".to_owned(), ..good };
    let message = refusal("a", &twin);
    assert!(message.contains("a"), "{message}");
}

#[test]
fn a_node_and_a_controller_of_two_releases_use_the_newest_protocol_that_both_speak() {
    let cluster = TestCluster::of(&["a"]);
    let check = |hello: &Hello, oldest, newest| {
        check_hello(&cluster.state, &name("a"), hello, Protocols { oldest, newest })
    };
    let new = hello("a", Vec::new());
    let new = Hello { protocol: 3, oldest_protocol: Some(2), ..new };
    assert_eq!(check(&new, 1, 2), Ok(2));
    assert_eq!(check(&new, 3, 4), Ok(3));
    let refusal = check(&new, 1, 1).unwrap_err();
    assert!(refusal.contains("uses protocol 2 to 3, this controller 1"), "{refusal}");
}

#[test]
fn a_machine_may_take_the_name_of_a_silent_node() {
    let mut cluster = TestCluster::of(&["a"]);
    cluster.apply(session("a", Vec::new()).silence_command());
    let twin = Hello { identity: "another machine".to_owned(), ..hello("a", Vec::new()) };
    assert_eq!(check_hello(&cluster.state, &name("a"), &twin, NODE_PROTOCOLS), Ok(NODE_PROTOCOL));
}

#[test]
fn a_full_comparison_sends_everything_and_later_ones_the_difference() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut session = session("a", Vec::new());
    let empty = DesiredUpdate { full: true, steps: Vec::new(), gone: Vec::new() };
    assert_eq!(updates(session.compare_at_once(&cluster.state, true)), [empty]);
    assert_eq!(session.compare_at_once(&cluster.state, false), []);

    let key = cluster.job();
    start_all(&mut cluster);
    let id = cluster.attempt(key);
    let sent = updates(session.compare_at_once(&cluster.state, false));
    assert_eq!(sent.iter().map(named).collect::<Vec<_>>(), [vec![(id, Want::Run, true)]]);
    assert!(!sent[0].full);
    assert_eq!(session.compare_at_once(&cluster.state, false), [], "it was sent");

    cluster.apply(session.report_command(vec![status(id, running())]));
    cluster.apply(Command::CancelJob { actor: OPERATOR, target: Target { key } });
    let sent = updates(session.compare_at_once(&cluster.state, false));
    assert_eq!(named(&sent[0]), [(id, Want::Stop, false)], "it has the order");

    cluster.apply(session.report_command(vec![status(id, ended())]));
    let sent = updates(session.compare_at_once(&cluster.state, false));
    assert_eq!((named(&sent[0]), &sent[0].gone), (vec![], &vec![id]));
    assert_eq!(session.compare_at_once(&cluster.state, false), []);
}

#[test]
fn a_step_that_the_node_has_is_not_ordered_again() {
    let mut cluster = TestCluster::of(&["a"]);
    let (held, lacking) = (cluster.job(), cluster.job());
    start_all(&mut cluster);
    let (held, lacking) = (cluster.attempt(held), cluster.attempt(lacking));
    let mut session = session("a", vec![status(held, running())]);
    let sent = updates(session.compare_at_once(&cluster.state, true));
    assert_eq!((sent[0].full, named(&sent[0])), (true, vec![(held, Want::Run, false)]));
    assert_eq!((sent[1].full, named(&sent[1])), (false, vec![(lacking, Want::Run, true)]));
    assert_eq!(sent.len(), 2);
}

/// Jobs with scripts of this size, started on one node.
fn large_jobs(cluster: &mut TestCluster, count: usize, bytes: usize) -> Vec<AttemptId> {
    let large = |cluster: &mut TestCluster, number: usize| {
        // Different scripts, or the state would keep one text for all.
        let script = format!("#!/bin/sh\n# {number}\n{}", "#".repeat(bytes));
        cluster.submit(Ask::default(), script)
    };
    let keys: Vec<JobKey> = (0..count).map(|number| large(cluster, number)).collect();
    start_all(cluster);
    keys.into_iter().map(|key| cluster.attempt(key)).collect()
}

#[test]
fn large_orders_are_sent_in_several_messages_of_bounded_size() {
    let mut cluster = TestCluster::of(&["a"]);
    // 72 MB, and a channel accepts 64 MiB in one message.
    let ids = large_jobs(&mut cluster, 24, 3_000_000);
    let mut session = session("a", Vec::new());
    let sent = updates(session.compare_at_once(&cluster.state, true));
    let size = |update: &DesiredUpdate| {
        let orders = update.steps.iter().filter_map(|step| step.order.as_ref());
        orders.map(|order| order.script.len()).sum::<usize>()
    };
    let sizes: Vec<usize> = sent.iter().map(size).collect();
    assert!(sizes.iter().sum::<usize>() > 64 << 20, "{sizes:?}");
    assert!(sizes.iter().all(|bytes| *bytes < ORDERS_BYTES + 3_100_000), "{sizes:?}");
    assert_eq!(sent.iter().filter(|update| update.full).count(), 1, "only the first is full");
    let ordered: Vec<AttemptId> = sent.iter().flat_map(named).map(|(id, _, _)| id).collect();
    assert_eq!(ordered, ids, "each once, in order");
    assert_eq!(session.compare_at_once(&cluster.state, false), []);
}

#[test]
fn a_message_is_full_at_its_limit_and_has_at_least_one_order() {
    let mut cluster = TestCluster::of(&["a"]);
    large_jobs(&mut cluster, 4, 1000);
    let counts = |orders_bytes: usize| -> Vec<usize> {
        let mut session = NodeSession::new(&hello("a", Vec::new()), orders_bytes);
        let sent = updates(session.compare_at_once(&cluster.state, true));
        sent[1..].iter().map(|update| update.steps.len()).collect()
    };
    assert_eq!(counts(1), [1, 1, 1, 1]);
    assert_eq!(counts(2000), [2, 2]);
    assert_eq!(counts(1 << 20), [4]);
}

#[test]
fn a_comparison_between_two_messages_loses_nothing() {
    let mut cluster = TestCluster::of(&["a"]);
    let ids = large_jobs(&mut cluster, 3, 1000);
    let mut session = NodeSession::new(&hello("a", Vec::new()), 1);
    session.request_comparison(true);
    session.request_comparison(false);
    let first = updates(session.next_message(&cluster.state).into_iter().collect());
    assert!(first[0].full, "a full comparison is not replaced by a later one");
    let mut sent = updates(session.next_message(&cluster.state).into_iter().collect());
    // The last of them ends before its order is sent.
    let target = Target { key: ids[2].key };
    cluster.apply(Command::CancelJob { actor: OPERATOR, target });
    cluster.report("a", ids[2], ended());
    sent.extend(updates(session.compare_at_once(&cluster.state, false)));
    let ordered: Vec<AttemptId> = sent.iter().flat_map(named).map(|(id, _, _)| id).collect();
    assert_eq!(ordered, ids[..2]);
    assert!(sent.iter().any(|update| update.gone == [ids[2]]));
}

#[test]
fn an_order_whose_attempt_has_ended_is_left_out() {
    let mut cluster = TestCluster::of(&["a"]);
    let ids = large_jobs(&mut cluster, 2, 1000);
    let mut session = NodeSession::new(&hello("a", Vec::new()), 1);
    session.request_comparison(true);
    let _ = session.next_message(&cluster.state);
    cluster.report("a", ids[0], ended());
    let rest = updates(std::iter::from_fn(|| session.next_message(&cluster.state)).collect());
    let ordered: Vec<AttemptId> = rest.iter().flat_map(named).map(|(id, _, _)| id).collect();
    assert_eq!(ordered, ids[1..]);
}

#[test]
fn the_welcome_names_the_cluster_and_the_terms_of_the_fence() {
    let state = &TestCluster::new().state;
    let after = Span::from_seconds(260);
    let ToNode::Welcome { protocol, cluster, fence } = NodeSession::welcome(state, 7, after) else {
        panic!("no welcome")
    };
    assert_eq!((protocol, cluster.as_str()), (7, "test"));
    let kill_within = state.settings().unwrap().kill_grace;
    let ask_every = Span::from_seconds(1);
    assert_eq!(fence, Some(FenceTerms { after, kill_within, ask_every }));
}
