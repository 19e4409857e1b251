//! Which controller to dial next, and how long to wait before. Never dials, and never waits.
//!
//! The configured controllers take turns. One that does not lead may name the one that does: that
//! one is dialled at once, also where it is not configured here, since the cluster key proves it.
//! But once a turn only: controllers that send a node back and forth wear nobody out.

use super::Pace;
use net::{Backoff, Endpoint};
use std::time::Duration;

/// How a session ended, or did not begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Unreached,
    /// The controller will not have this node.
    Refused,
    /// The controller does not lead; this one does, as far as it knows.
    NotLeader(Option<String>),
    Broken,
}

/// Where this node is on its way around the controllers.
#[derive(Debug)]
pub(super) struct Course {
    controllers: Vec<Endpoint>,
    pace: Pace,
    /// Whose turn it was last; `None` before the first.
    turn: Option<usize>,
    /// To be dialled before the next turn.
    hinted: Option<Endpoint>,
    /// Was the last one dialled on a hint?
    followed: bool,
    backoff: Backoff,
    leaderless: Backoff,
}

impl Course {
    /// Begins with the first of these controllers; at least one.
    pub(super) fn new(controllers: Vec<Endpoint>, pace: Pace) -> Self {
        let cap = pace.leaderless_cap.min(pace.redial_cap);
        Self {
            controllers,
            pace,
            turn: None,
            hinted: None,
            followed: false,
            backoff: Backoff::new(pace.redial_first, pace.redial_cap),
            leaderless: Backoff::new(pace.redial_first, cap),
        }
    }

    /// Whom to dial now.
    pub(super) fn next(&mut self) -> Endpoint {
        let hinted = self.hinted.take();
        self.followed = hinted.is_some();
        hinted.unwrap_or_else(|| {
            let turn = self.turn.map_or(0, |turn| (turn + 1) % self.controllers.len());
            self.turn = Some(turn);
            self.controllers[turn].clone()
        })
    }

    /// How long to wait after a session that took so long ended like this.
    pub(super) fn wait_after(&mut self, ending: Ending, lasted: Duration) -> Duration {
        if lasted > self.pace.redial_cap {
            self.backoff.reset();
            self.leaderless.reset();
        }
        let went_round = self.turn.is_none_or(|turn| turn + 1 == self.controllers.len());
        match ending {
            // Spread out as well: a thousand nodes may be refused by one mistake.
            Ending::Refused => self.pace.refused_wait.mul_f64(0.5 + fastrand::f64()),
            Ending::NotLeader(Some(leader)) if self.may_follow(lasted) => {
                self.hinted = self.endpoint(&leader);
                Duration::ZERO
            }
            Ending::Unreached | Ending::NotLeader(_) if !went_round => Duration::ZERO,
            Ending::NotLeader(_) => self.leaderless.next(),
            Ending::Unreached | Ending::Broken => self.backoff.next(),
        }
    }

    /// A hint that led to a session was good, however that ended.
    fn may_follow(&self, lasted: Duration) -> bool {
        !self.followed || lasted > self.pace.redial_cap
    }

    /// The controller at this address, by the certificate that all controllers are dialled with.
    fn endpoint(&self, address: &str) -> Option<Endpoint> {
        self.controllers.iter().find_map(|controller| match controller {
            Endpoint::Tls { identity, .. } => {
                Some(Endpoint::Tls { addr: address.to_owned(), identity: identity.clone() })
            }
            Endpoint::Unix(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::{ClusterKey, Identity, Role};

    const BRIEF: Duration = Duration::from_millis(1);
    const ZERO: Duration = Duration::ZERO;

    fn course(controllers: &[&str]) -> Course {
        let key = ClusterKey::generate().unwrap();
        let identity = Identity::new(&key, Role::Node("a".to_owned())).unwrap();
        let tls =
            |addr: &&str| Endpoint::Tls { addr: (*addr).to_owned(), identity: identity.clone() };
        Course::new(controllers.iter().map(tls).collect(), Pace::default())
    }

    fn next(course: &mut Course) -> String {
        course.next().to_string()
    }

    fn hint(leader: &str) -> Ending {
        Ending::NotLeader(Some(leader.to_owned()))
    }

    #[test]
    fn controllers_take_turns_and_a_round_without_any_is_followed_by_a_wait() {
        let mut course = course(&["a:1", "b:1"]);
        for _ in 0..3 {
            assert_eq!(next(&mut course), "a:1");
            assert_eq!(course.wait_after(Ending::Unreached, BRIEF), ZERO);
            assert_eq!(next(&mut course), "b:1");
            assert!(course.wait_after(Ending::NotLeader(None), BRIEF) > ZERO);
        }
    }

    #[test]
    fn a_hint_is_followed_at_once_also_to_a_controller_that_is_not_configured() {
        let mut course = course(&["a:1", "b:1"]);
        next(&mut course);
        assert_eq!(course.wait_after(hint("c:1"), BRIEF), ZERO);
        assert_eq!(next(&mut course), "c:1");
        assert_eq!(course.wait_after(Ending::Unreached, BRIEF), ZERO);
        assert_eq!(next(&mut course), "b:1", "the turns go on where they were");
    }

    #[test]
    fn controllers_that_name_each_other_are_asked_no_more_often_than_by_turns() {
        let mut course = course(&["a:1", "b:1"]);
        let mut waits = 0;
        for dial in 0..400 {
            let leader = if next(&mut course) == "a:1" { "b:1" } else { "a:1" };
            waits += usize::from(course.wait_after(hint(leader), BRIEF) > ZERO);
            assert!(waits >= (dial + 1) / 4, "{waits} waits in {dial} dials");
        }
    }

    #[test]
    fn without_a_leader_waits_stay_short() {
        let mut course = course(&["a:1"]);
        for _ in 0..50 {
            next(&mut course);
            let wait = course.wait_after(Ending::NotLeader(None), BRIEF);
            assert!(wait <= Pace::default().leaderless_cap);
        }
    }

    #[test]
    fn a_leader_that_was_found_by_a_hint_may_name_its_successor() {
        let mut course = course(&["a:1"]);
        next(&mut course);
        course.wait_after(hint("b:1"), BRIEF);
        assert_eq!(next(&mut course), "b:1");
        assert_eq!(course.wait_after(hint("c:1"), Duration::from_secs(3600)), ZERO);
        assert_eq!(next(&mut course), "c:1");
    }
}
