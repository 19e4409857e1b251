//! The watch over a small cluster, with both clocks in hand. Never waits.

use super::*;
use crate::tests::{House, name};
use common::job::{Ask, Phase};

const LIMITS: Limits = Limits { node_lost_after: Span::from_seconds(300) };

/// A watch, its monotonic clock, and who is in session.
struct Guard {
    watch: Watch,
    uptime: Span,
    standing: Standing,
}

impl Guard {
    fn new(standing: Standing) -> Self {
        Self { watch: Watch::new(LIMITS), uptime: Span::from_seconds(7_000), standing }
    }

    fn look(&mut self, house: &House) -> Vec<Due> {
        self.watch.look(&house.state, |_| self.standing, house.now, self.uptime)
    }

    /// Looks once a second, so many times; answers what was due at the last look.
    fn look_for(&mut self, house: &mut House, seconds: u64) -> Vec<Due> {
        let mut due = Vec::new();
        for _ in 0..seconds {
            house.wait(1);
            self.uptime = self.uptime + LOOK_PERIOD;
            due = self.look(house);
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
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::Absent);
    assert_eq!(guard.look(&house), [silent("a")]);
    house.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut house, 300), []);
    assert_eq!(guard.look_for(&mut house, 1), [lost("a")]);
    assert_eq!(guard.look_for(&mut house, 1), [lost("a")], "until the log takes it");
    house.apply(Command::NodeLost { name: name("a") });
    assert_eq!(guard.look_for(&mut house, 1), []);
}

#[test]
fn a_node_that_comes_back_has_its_full_time_again() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::Absent);
    house.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut house, 300), []);
    guard.standing = Standing::Arriving;
    assert_eq!(guard.look_for(&mut house, 1), []);
    guard.standing = Standing::Absent;
    assert_eq!(guard.look_for(&mut house, 300), []);
    assert_eq!(guard.look_for(&mut house, 1), [lost("a")]);
}

#[test]
fn a_controller_that_was_stopped_itself_calls_no_node_lost_for_that_time() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::Absent);
    house.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut house, 10), []);
    guard.uptime = guard.uptime + Span::from_minutes(60);
    house.wait(3600);
    assert_eq!(guard.look_for(&mut house, 1), []);
    assert_eq!(guard.look_for(&mut house, 280), []);
    assert_eq!(guard.look_for(&mut house, 1), [lost("a")]);
}

#[test]
fn a_session_that_the_state_does_not_know_of_must_say_hello_again() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::InSession);
    assert_eq!(guard.look(&house), []);
    house.apply(Command::NodeSilent { name: name("a") });
    assert_eq!(guard.look_for(&mut house, 2), []);
    assert_eq!(guard.look_for(&mut house, 1), [Due::EndSession(name("a"))]);
    assert_eq!(guard.look_for(&mut house, 1), [], "it has its time to come back");
}

#[test]
fn a_job_ends_at_its_deadline() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::InSession);
    let limit = Some(Span::from_minutes(1));
    let deadline = Some(house.now + Span::from_minutes(10));
    let ask = Ask { deadline, time_limit: limit, hold: true, ..Ask::default() };
    let key = house.submit(ask, "#!/bin/sh\n".to_owned());
    assert_eq!(guard.look_for(&mut house, 599), []);
    assert_eq!(guard.look_for(&mut house, 1), [Due::Propose(Command::DeadlineOver { key })]);
    house.apply(Command::DeadlineOver { key });
    assert_eq!(guard.look_for(&mut house, 1), []);
}

#[test]
fn an_attempt_that_does_not_start_is_given_up_but_by_no_leader_that_just_began() {
    let mut house = House::of(&["a"]);
    let key = house.job();
    let mut rounds = crate::Rounds::default();
    rounds.catch_up(&house.state, None, house.now);
    house.apply(rounds.round(house.now).command.unwrap());
    assert_eq!(house.state.element(key).unwrap().1.phase, Phase::Starting);
    let given_up = Due::Propose(Command::StartOverdue { id: house.attempt(key) });
    house.wait(3600);
    let mut guard = Guard::new(Standing::InSession);
    assert_eq!(guard.look(&house), []);
    assert_eq!(guard.look_for(&mut house, 59), []);
    assert_eq!(guard.look_for(&mut house, 1), [given_up]);
}

#[test]
fn old_things_are_forgotten_once_a_minute() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::InSession);
    let mut times = Vec::new();
    for second in 0..=180 {
        if guard.look(&house).contains(&Due::Propose(Command::ForgetDone)) {
            times.push(second);
        }
        house.wait(1);
        guard.uptime = guard.uptime + LOOK_PERIOD;
    }
    assert_eq!(times, [60, 120, 180]);
}

#[test]
fn tasks_that_cannot_start_any_more_are_ended_until_none_is_left() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::InSession);
    let first = house.job();
    let array = Ask {
        array: Some(format!("0-{}", state::ENDED_AT_ONCE).parse().unwrap()),
        dependency: Some(format!("afterok:{first}").parse().unwrap()),
        kill_on_invalid_dependency: true,
        ..Ask::default()
    };
    house.submit(array, "#!/bin/sh\n".to_owned());
    assert_eq!(guard.look(&house), []);
    let actor = state::Actor { uid: common::id::Uid(0), operator: true };
    house.apply(Command::CancelJob { actor, target: state::Target { key: first } });
    assert_eq!(guard.look(&house), [Due::Propose(Command::EndHopeless)]);
    house.apply(Command::EndHopeless);
    assert_eq!((guard.look(&house), house.state.live().count()), (vec![], 0));
}

#[test]
fn a_lease_runs_out_when_nobody_speaks_for_its_job_and_begins_anew_with_each_leader() {
    let mut house = House::of(&["a"]);
    let mut guard = Guard::new(Standing::InSession);
    let ask = Ask { lease: Some(Span::from_seconds(20)), hold: true, ..Ask::default() };
    let key = house.submit(ask, "#!/bin/sh\n".to_owned());
    let over = Due::Propose(Command::LeaseOver { key });
    assert_eq!(guard.look_for(&mut house, 15), []);
    guard.watch.speak_for([key]);
    assert_eq!(guard.look_for(&mut house, 19), []);
    assert_eq!(guard.look_for(&mut house, 1), [over]);
    let mut next = Guard::new(Standing::InSession);
    assert_eq!(next.look_for(&mut house, 20), []);
}
