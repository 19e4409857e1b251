//! Tests of the timers on a small cluster, with simulated clocks.

use super::*;
use common::job::{Ask, Phase};
use testkit::{OPERATOR, TestCluster, name};

const LIMITS: Limits = Limits { node_lost_after: Span::from_seconds(300) };

/// Timers with their monotonic clock and the nodes' presence.
struct Guard {
    watch: Watch,
    uptime: Span,
    presence: Presence,
}

impl Guard {
    fn new(presence: Presence) -> Self {
        Self { watch: Watch::new(LIMITS), uptime: Span::from_seconds(7_000), presence }
    }

    fn look(&mut self, cluster: &TestCluster) -> Vec<Due> {
        self.watch.due_actions(&cluster.state, |_| self.presence, cluster.now, self.uptime)
    }

    /// Checks once a second this many times; returns what was due at the last check.
    fn look_for(&mut self, cluster: &mut TestCluster, seconds: u64) -> Vec<Due> {
        let mut due = Vec::new();
        for _ in 0..seconds {
            cluster.wait(1);
            self.uptime = self.uptime + LOOK_PERIOD;
            due = self.look(cluster);
        }
        due.retain(|due| *due != Due::Propose(Command::ForgetDone));
        due
    }
}

fn silent(node: &str) -> Due {
    Due::Propose(Command::NodeSilent { name: name(node) })
}

fn lost(node: &str) -> Due {
    Due::Propose(Command::NodeLost { name: name(node) })
}

#[test]
fn a_node_without_a_session_is_silent_and_after_its_time_lost() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::Absent);
    assert_eq!(guard.look(&cluster), [silent("a")]);
    cluster.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 300), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [lost("a")]);
    assert_eq!(guard.look_for(&mut cluster, 1), [lost("a")], "until the log accepts it");
    cluster.apply(Command::NodeLost { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 1), []);
}

#[test]
fn a_node_that_comes_back_has_its_full_time_again() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::Absent);
    cluster.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 300), []);
    guard.presence = Presence::Arriving;
    assert_eq!(guard.look_for(&mut cluster, 1), []);
    guard.presence = Presence::Absent;
    assert_eq!(guard.look_for(&mut cluster, 300), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [lost("a")]);
}

#[test]
fn a_node_that_comes_back_between_two_checks_has_its_full_time_again() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::Absent);
    cluster.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 300), []);
    cluster.register("a", testkit::inventory(64, 64, 0));
    cluster.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 300), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [lost("a")]);
}

#[test]
fn a_stopped_controller_calls_no_node_lost_for_that_time() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::Absent);
    cluster.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 10), []);
    guard.uptime = guard.uptime + Span::from_minutes(60);
    cluster.wait(3600);
    assert_eq!(guard.look_for(&mut cluster, 1), []);
    assert_eq!(guard.look_for(&mut cluster, 280), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [lost("a")]);
}

#[test]
fn a_session_unknown_to_the_state_must_register_again() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::InSession);
    assert_eq!(guard.look(&cluster), []);
    cluster.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut cluster, 2), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [Due::EndSession(name("a"))]);
    assert_eq!(guard.look_for(&mut cluster, 1), [], "it has time to come back");
}

#[test]
fn a_job_ends_at_its_deadline() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::InSession);
    let limit = Some(Span::from_minutes(1));
    let deadline = Some(cluster.now + Span::from_minutes(10));
    let ask = Ask { deadline, time_limit: limit, hold: true, ..Ask::default() };
    let key = cluster.submit(ask, "#!/bin/sh\n".to_owned());
    assert_eq!(guard.look_for(&mut cluster, 599), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [Due::Propose(Command::DeadlineOver { key })]);
    cluster.apply(Command::DeadlineOver { key });
    assert_eq!(guard.look_for(&mut cluster, 1), []);
}

#[test]
fn an_attempt_that_does_not_start_is_given_up_but_not_by_a_new_leader() {
    let mut cluster = TestCluster::of(&["a"]);
    let key = cluster.job();
    let mut rounds = crate::Rounds::default();
    rounds.catch_up(&cluster.state, None, cluster.now);
    cluster.apply(rounds.round(cluster.now).command.unwrap());
    assert_eq!(cluster.state.element(key).unwrap().1.phase, Phase::Starting);
    let given_up = Due::Propose(Command::StartOverdue { id: cluster.attempt(key) });
    cluster.wait(3600);
    let mut guard = Guard::new(Presence::InSession);
    assert_eq!(guard.look(&cluster), []);
    assert_eq!(guard.look_for(&mut cluster, 59), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [given_up]);
}

#[test]
fn old_jobs_are_forgotten_once_a_minute() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::InSession);
    let mut times = Vec::new();
    for second in 0..=180 {
        if guard.look(&cluster).contains(&Due::Propose(Command::ForgetDone)) {
            times.push(second);
        }
        cluster.wait(1);
        guard.uptime = guard.uptime + LOOK_PERIOD;
    }
    assert_eq!(times, [60, 120, 180]);
}

#[test]
fn tasks_that_cannot_start_any_more_are_ended_until_none_is_left() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::InSession);
    let first = cluster.job();
    let array = Ask {
        array: Some(format!("0-{}", state::ENDED_AT_ONCE).parse().unwrap()),
        dependency: Some(format!("afterok:{first}").parse().unwrap()),
        kill_on_invalid_dependency: true,
        ..Ask::default()
    };
    cluster.job_of(array);
    assert_eq!(guard.look(&cluster), []);
    cluster.apply(Command::CancelJob { actor: OPERATOR, target: state::Target { key: first } });
    assert_eq!(guard.look(&cluster), [Due::Propose(Command::EndHopeless)]);
    cluster.apply(Command::EndHopeless);
    assert_eq!((guard.look(&cluster), cluster.state.live().count()), (vec![], 0));
}

#[test]
fn a_lease_expires_without_renewal_and_starts_again_with_each_leader() {
    let mut cluster = TestCluster::of(&["a"]);
    let mut guard = Guard::new(Presence::InSession);
    let ask = Ask { lease: Some(Span::from_seconds(20)), hold: true, ..Ask::default() };
    let key = cluster.submit(ask, "#!/bin/sh\n".to_owned());
    let over = Due::Propose(Command::LeaseOver { key });
    assert_eq!(guard.look_for(&mut cluster, 15), []);
    guard.watch.renew_leases([key]);
    assert_eq!(guard.look_for(&mut cluster, 19), []);
    assert_eq!(guard.look_for(&mut cluster, 1), [over]);
    let mut next = Guard::new(Presence::InSession);
    assert_eq!(next.look_for(&mut cluster, 20), []);
}
