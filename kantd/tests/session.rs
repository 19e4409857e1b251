//! A node's session, runner and local socket with a stand-in controller over real TLS.

use crate::controller::{
    Controller, FakeSteps, ended, id, node_info, order, ordered, running, send_all, short_timing,
    soon, tls, until, wanted,
};
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{
    FenceTerms, FromNode, NODE_PROTOCOL, ReadOutput, StepPhase, StepStatus, ToNode, Want,
};
use kantd::node_runtime::NodeRuntime;
use kantd::session::Measurements;
use net::{Client, ClusterKey, Endpoint, LocalListener};
use std::path::Path;
use tokio::task::JoinSet;

/// A node `g-1` with fake steps, which has the steps `held` from the start.
fn node(
    key: &ClusterKey,
    controllers: &[std::net::SocketAddr],
    held: Vec<StepStatus>,
    socket: Option<&Path>,
) -> (FakeSteps, JoinSet<()>) {
    let (steps, changes) = FakeSteps::new();
    let parts = NodeRuntime {
        controllers: controllers.iter().map(|addr| tls(*addr, key, "g-1")).collect(),
        info: node_info("g-1"),
        allow_root: true,
        timing: short_timing(),
        health: tokio::sync::watch::channel(None).1,
        data: tokio::sync::watch::channel(None).1,
        steps: None,
        leader_contact: None,
        measurements: Measurements::none(),
        routes: None,
        key_generations: kantd::session::KeyGenerations::without_renewal(),
    };
    let listener = socket.map(|path| LocalListener::bind(path).unwrap());
    (steps.clone(), parts.start(steps, None, held, changes, listener))
}

async fn controller() -> (ClusterKey, Controller) {
    let key = ClusterKey::generate().unwrap();
    let controller = Controller::start(&key).await;
    (key, controller)
}

fn holding(steps: &[(common::id::AttemptId, StepPhase)]) -> Vec<StepStatus> {
    steps.iter().map(|(id, phase)| StepStatus { id: *id, phase: phase.clone() }).collect()
}

#[tokio::test]
async fn every_phase_of_a_wanted_step_is_reported() {
    let (key, mut controller) = controller().await;
    let (steps, _node) = node(&key, &[controller.addr], vec![], None);

    let (mut channel, hello) = controller.welcome().await;
    assert_eq!((hello.name.as_str(), hello.protocol), ("g-1", NODE_PROTOCOL));
    assert_eq!(hello.identity, "identity of g-1");
    assert_eq!(hello.inventory, *node_info("g-1").inventory);
    assert_eq!(hello.steps, []);

    let a = id(1, 1);
    send_all(&channel, vec![ordered(a, Want::Prepare)]).await;
    until(&mut channel, a, |phase| *phase == StepPhase::Ready).await;
    send_all(&channel, vec![wanted(a, Want::Run)]).await;
    until(&mut channel, a, |phase| *phase == running()).await;
    steps.set(a, ended(EndCause::Exited));
    until(&mut channel, a, |phase| *phase == ended(EndCause::Exited)).await;
    send_all(&channel, vec![]).await;
    // Updates are handled in order, so that the step is forgotten when this one is answered.
    let b = id(2, 1);
    send_all(&channel, vec![ordered(b, Want::Stop)]).await;
    until(&mut channel, b, |phase| matches!(phase, StepPhase::Ended(_))).await;
    assert_eq!(steps.recorded(), ["launch 1.1", "go 1.1", "forget 1.1"]);
}

#[tokio::test]
async fn a_new_connection_reports_all_steps_and_changes_none_before_a_full_update() {
    let (key, mut controller) = controller().await;
    let (a, b) = (id(1, 1), id(2, 1));
    let held = holding(&[(a, running()), (b, ended(EndCause::Exited))]);
    let (steps, _node) = node(&key, &[controller.addr], held.clone(), None);

    let (channel, hello) = controller.welcome().await;
    assert_eq!(hello.steps, held);
    drop(channel);
    let (mut channel, hello) = controller.welcome().await;
    assert_eq!(hello.steps, held, "the second hello has the same steps");

    // Changes are reported meanwhile, and an update that is not full has no effect.
    let update = common::wire::node::DesiredUpdate { full: false, steps: vec![], gone: vec![a, b] };
    channel.send(&ToNode::Desired(update)).await.unwrap();
    let c = id(3, 1);
    steps.set(c, running());
    until(&mut channel, c, |phase| *phase == running()).await;
    assert_eq!(steps.recorded(), Vec::<String>::new());

    // A full update: `a` runs on, `b` has ended, `c` is unwanted, `d` is stopped before its launch.
    let (d, run) = (id(4, 1), wanted(a, Want::Run));
    send_all(&channel, vec![run, ordered(d, Want::Stop)]).await;
    until(&mut channel, d, |phase| matches!(phase, StepPhase::Ended(_))).await;
    drop(channel);
    let (_channel, hello) = controller.welcome().await;
    assert!(hello.steps.contains(&StepStatus { id: a, phase: running() }));
    assert!(hello.steps.iter().all(|step| step.id != b), "forgotten");
    assert_eq!(steps.until_recorded(3).await, ["stop 3.1", "forget 2.1", "forget 3.1"]);
}

#[tokio::test]
async fn attempts_that_the_node_cannot_run_are_reported_as_ended() {
    let (key, mut controller) = controller().await;
    let (steps, _node) = node(&key, &[controller.addr], vec![], None);
    let (mut channel, _) = controller.welcome().await;

    let (stopped, lost) = (id(1, 1), id(2, 1));
    let without_order = wanted(lost, Want::Run);
    send_all(&channel, vec![ordered(stopped, Want::Stop), without_order]).await;
    let Some(Ok(FromNode::Report(news))) = soon(channel.recv()).await else {
        panic!("expected a report");
    };
    let causes: Vec<_> = news
        .iter()
        .map(|status| match &status.phase {
            StepPhase::Ended(end) => (status.id, end.cause, end.message.is_some()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(causes, [(stopped, EndCause::Stopped, true), (lost, EndCause::Lost, true)]);
    assert_eq!(steps.recorded(), Vec::<String>::new());
}

#[tokio::test]
async fn a_refused_node_keeps_its_jobs_and_tries_again() {
    let (key, mut controller) = controller().await;
    let held = holding(&[(id(1, 1), running())]);
    let (steps, _node) = node(&key, &[controller.addr], held.clone(), None);
    for _ in 0..2 {
        let (channel, hello) = controller.greet().await;
        assert_eq!(hello.steps, held);
        let reason = "another machine is called g-1".to_owned();
        channel.send(&ToNode::Refused { reason }).await.unwrap();
    }
    let (_channel, hello) = controller.welcome().await;
    assert_eq!(hello.steps, held);
    assert_eq!(steps.recorded(), Vec::<String>::new());
}

#[tokio::test]
async fn the_next_controller_gets_the_session_and_the_requests_of_local_users() {
    let key = ClusterKey::generate().unwrap();
    let mut away = Controller::start(&key).await;
    let mut there = Controller::start(&key).await;
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kantd.sock");
    let both = [away.addr, there.addr];
    let (_steps, _node) = node(&key, &both, vec![], Some(&socket));
    let (channel, _) = away.welcome().await;
    drop(channel);
    away.stop().await;
    let (_channel, _) = there.welcome().await;

    let local = Client::new(Endpoint::Unix(socket));
    let answered = async {
        loop {
            // Between the two sessions a request may still go to the controller that left.
            let ask = axum::http::Request::get("/v1/jobs?all=true").body(Default::default());
            let answer = local.send(ask.unwrap()).await.unwrap();
            if answer.status().is_success() {
                let body = axum::body::to_bytes(axum::body::Body::new(answer.into_body()), 4096);
                return String::from_utf8(body.await.unwrap().to_vec()).unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let expected = format!("GET /v1/jobs?all=true {uid}:{gid} Node(\"g-1\")");
    assert_eq!(soon(answered).await, expected);
}

#[tokio::test]
async fn a_follower_sends_the_node_to_the_leader() {
    let key = ClusterKey::generate().unwrap();
    let mut follower = Controller::start(&key).await;
    // Not in the node's configuration.
    let mut leader = Controller::start(&key).await;
    let held = holding(&[(id(1, 1), running())]);
    let (steps, _node) = node(&key, &[follower.addr], held.clone(), None);
    let (channel, _) = follower.greet().await;
    let hint = ToNode::NotLeader { leader: Some(leader.addr.to_string()) };
    channel.send(&hint).await.unwrap();
    let (channel, hello) = leader.welcome().await;
    assert_eq!(hello.steps, held);

    // It loses the lead and knows no successor: the node tries its controllers again.
    channel.send(&ToNode::NotLeader { leader: None }).await.unwrap();
    let (channel, hello) = follower.welcome().await;
    assert_eq!(hello.steps, held);
    send_all(&channel, vec![wanted(id(1, 1), Want::Run)]).await;
    assert_eq!(steps.recorded(), Vec::<String>::new(), "its job is not affected");
}

/// Terms under which a node asks 50 times in a second whether its controller leads.
fn terms() -> Option<FenceTerms> {
    Some(FenceTerms { after: Span(0), kill_within: Span(0), ask_every: Span(20) })
}

#[tokio::test]
async fn a_node_moves_to_another_leader_while_the_connection_to_a_silent_one_is_open() {
    let key = ClusterKey::generate().unwrap();
    let mut silent = Controller::start(&key).await;
    let mut other = Controller::start(&key).await;
    let held = holding(&[(id(1, 1), running())]);
    let (steps, _node) = node(&key, &[silent.addr, other.addr], held.clone(), None);
    let (_open, _) = silent.welcome_on(terms()).await;
    // No leader is elected yet; the other controller still takes the silent one for it.
    for leader in [None, Some(silent.addr.to_string())] {
        let (channel, _) = other.greet().await;
        channel.send(&ToNode::NotLeader { leader }).await.unwrap();
    }
    let (mut channel, hello) = other.welcome_on(terms()).await;
    assert_eq!(hello.steps, held);
    // An update that is not full has no effect, as after every reconnect.
    let update = common::wire::node::DesiredUpdate { full: false, steps: vec![], gone: vec![] };
    channel.send(&ToNode::Desired(update)).await.unwrap();
    steps.set(id(1, 1), ended(EndCause::Exited));
    loop {
        match soon(channel.recv()).await {
            Some(Ok(FromNode::Report(news))) => break assert_eq!(news[0].id, id(1, 1)),
            Some(Ok(FromNode::ConfirmLeader { .. } | FromNode::Health(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_controller_that_is_only_slow_keeps_its_node() {
    let key = ClusterKey::generate().unwrap();
    let mut slow = Controller::start(&key).await;
    let mut other = Controller::start(&key).await;
    let (_steps, _node) = node(&key, &[slow.addr, other.addr], vec![], None);
    let (mut channel, _) = slow.welcome_on(terms()).await;
    let (asked, _) = other.greet().await;
    asked.send(&ToNode::NotLeader { leader: None }).await.unwrap();
    // It answers again, and the node goes on with it.
    let mut answered = 0;
    while answered < 20 {
        match soon(channel.recv()).await {
            Some(Ok(FromNode::ConfirmLeader { number })) => {
                channel.send(&ToNode::LeaderConfirmed { number }).await.unwrap();
                answered += 1;
            }
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn without_a_session_local_users_requests_go_to_any_running_controller() {
    let key = ClusterKey::generate().unwrap();
    let away = Controller::start(&key).await;
    let mut there = Controller::start(&key).await;
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kantd.sock");
    let both = [away.addr, there.addr];
    away.stop().await;
    let (_steps, _node) = node(&key, &both, vec![], Some(&socket));
    // A follower, so that there is no session; but it can forward requests.
    let (channel, _) = there.greet().await;
    channel.send(&ToNode::NotLeader { leader: None }).await.unwrap();
    let local = Client::new(Endpoint::Unix(socket));
    let ask = axum::http::Request::get("/v1/jobs").body(Default::default()).unwrap();
    let answer = soon(local.send(ask)).await.unwrap();
    assert!(answer.status().is_success(), "{answer:?}");
}

#[tokio::test]
async fn requests_for_output_are_answered_on_the_channel() {
    let (key, mut controller) = controller().await;
    let (_steps, _node) = node(&key, &[controller.addr], vec![], None);
    let (mut channel, _) = controller.welcome().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    std::fs::write(&path, "hello, world").unwrap();
    let owner = order(id(1, 1), "g-1", "", "/").owner;
    let question = |question: u64, path: &Path| {
        ToNode::ReadOutput(ReadOutput {
            question,
            id: id(1, 1),
            owner: owner.clone(),
            path: path.display().to_string(),
            offset: 7,
            bytes_max: 3,
            wait: Span(0),
        })
    };
    channel.send(&question(1, &path)).await.unwrap();
    match soon(channel.recv()).await {
        Some(Ok(FromNode::Output(chunk))) => {
            assert_eq!((chunk.question, chunk.bytes, chunk.error), (1, b"wor".to_vec(), None));
        }
        other => panic!("{other:?}"),
    }
    channel.send(&question(2, &dir.path().join("none"))).await.unwrap();
    match soon(channel.recv()).await {
        Some(Ok(FromNode::Output(chunk))) => {
            assert_eq!((chunk.question, chunk.bytes), (2, vec![]));
            assert!(chunk.error.unwrap().contains("No such file"), "it gives the reason");
        }
        other => panic!("{other:?}"),
    }
}
