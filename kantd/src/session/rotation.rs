//! Choice of the next controller, and of the wait before connecting.
//!
//! The configured controllers take turns. A follower may name the leader, to which the node then
//! connects at once, even if it is not configured, because its certificate authenticates it. Only
//! one such hint is followed for each turn, so that controllers that name each other cause no loop.

use super::SessionTiming;
use net::{Backoff, Endpoint};
use std::time::Duration;

/// The outcome of a session, or of the attempt to begin one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Unreached,
    /// The controller refuses this node.
    Refused,
    /// The controller does not lead, and may know which one does.
    NotLeader(Option<String>),
    Broken,
}

/// The rotation through the controllers.
#[derive(Debug)]
pub(super) struct ControllerRotation {
    controllers: Vec<Endpoint>,
    timing: SessionTiming,
    /// Index of the current controller; `None` before the first.
    turn: Option<usize>,
    /// A controller to connect to before the next turn.
    hinted: Option<Endpoint>,
    /// The current controller was a hint.
    followed: bool,
    backoff: Backoff,
    leaderless: Backoff,
}

impl ControllerRotation {
    /// Begins with the first of these controllers; at least one.
    pub(super) fn new(controllers: Vec<Endpoint>, timing: SessionTiming) -> Self {
        let cap = timing.leaderless_cap.min(timing.redial_cap);
        Self {
            controllers,
            timing,
            turn: None,
            hinted: None,
            followed: false,
            backoff: Backoff::new(timing.redial_first, timing.redial_cap),
            leaderless: Backoff::new(timing.redial_first, cap),
        }
    }

    /// The controller to connect to now.
    pub(super) fn next(&mut self) -> Endpoint {
        let hinted = self.hinted.take();
        self.followed = hinted.is_some();
        hinted.unwrap_or_else(|| {
            let turn = self.turn.map_or(0, |turn| (turn + 1) % self.controllers.len());
            self.turn = Some(turn);
            self.controllers[turn].clone()
        })
    }

    /// The wait after a session that lasted this long and ended like this.
    pub(super) fn wait_after(&mut self, ending: Ending, lasted: Duration) -> Duration {
        if lasted > self.timing.redial_cap {
            self.backoff.reset();
            self.leaderless.reset();
        }
        let went_round = self.turn.is_none_or(|turn| turn + 1 == self.controllers.len());
        match ending {
            // With jitter: a single mistake may make controllers refuse a thousand nodes.
            Ending::Refused => self.timing.refused_wait.mul_f64(0.5 + fastrand::f64()),
            Ending::NotLeader(Some(leader)) if self.may_follow(lasted) => {
                self.hinted = self.endpoint(&leader);
                Duration::ZERO
            }
            Ending::Unreached | Ending::NotLeader(_) if !went_round => Duration::ZERO,
            Ending::NotLeader(_) => self.leaderless.next(),
            Ending::Unreached | Ending::Broken => self.backoff.next(),
        }
    }

    /// Whether to follow a hint: not after another hint, unless that one led to a long session.
    fn may_follow(&self, lasted: Duration) -> bool {
        !self.followed || lasted > self.timing.redial_cap
    }

    /// The controller at this address, with the identity used for all controllers.
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
    use net::{ClusterKey, Identity};

    const BRIEF: Duration = Duration::from_millis(1);
    const ZERO: Duration = Duration::ZERO;

    fn rotation(controllers: &[&str]) -> ControllerRotation {
        let key = ClusterKey::generate().unwrap();
        let identity = Identity::emulated_node(&key, "a").unwrap();
        let tls =
            |addr: &&str| Endpoint::Tls { addr: (*addr).to_owned(), identity: identity.clone() };
        ControllerRotation::new(controllers.iter().map(tls).collect(), SessionTiming::default())
    }

    fn next(rotation: &mut ControllerRotation) -> String {
        rotation.next().to_string()
    }

    fn hint(leader: &str) -> Ending {
        Ending::NotLeader(Some(leader.to_owned()))
    }

    #[test]
    fn controllers_take_turns_and_a_failed_round_is_followed_by_a_wait() {
        let mut rotation = rotation(&["a:1", "b:1"]);
        for _ in 0..3 {
            assert_eq!(next(&mut rotation), "a:1");
            assert_eq!(rotation.wait_after(Ending::Unreached, BRIEF), ZERO);
            assert_eq!(next(&mut rotation), "b:1");
            assert!(rotation.wait_after(Ending::NotLeader(None), BRIEF) > ZERO);
        }
    }

    #[test]
    fn a_hint_is_followed_at_once_even_to_an_unconfigured_controller() {
        let mut rotation = rotation(&["a:1", "b:1"]);
        next(&mut rotation);
        assert_eq!(rotation.wait_after(hint("c:1"), BRIEF), ZERO);
        assert_eq!(next(&mut rotation), "c:1");
        assert_eq!(rotation.wait_after(Ending::Unreached, BRIEF), ZERO);
        assert_eq!(next(&mut rotation), "b:1", "the turns continue where they were");
    }

    #[test]
    fn controllers_that_name_each_other_cause_no_loop() {
        let mut rotation = rotation(&["a:1", "b:1"]);
        let mut waits = 0;
        for dial in 0..400 {
            let leader = if next(&mut rotation) == "a:1" { "b:1" } else { "a:1" };
            waits += usize::from(rotation.wait_after(hint(leader), BRIEF) > ZERO);
            assert!(waits >= (dial + 1) / 4, "{waits} waits in {dial} dials");
        }
    }

    #[test]
    fn without_a_leader_waits_stay_short() {
        let mut rotation = rotation(&["a:1"]);
        for _ in 0..50 {
            next(&mut rotation);
            let wait = rotation.wait_after(Ending::NotLeader(None), BRIEF);
            assert!(wait <= SessionTiming::default().leaderless_cap);
        }
    }

    #[test]
    fn a_leader_found_by_a_hint_may_name_its_successor() {
        let mut rotation = rotation(&["a:1"]);
        next(&mut rotation);
        rotation.wait_after(hint("b:1"), BRIEF);
        assert_eq!(next(&mut rotation), "b:1");
        assert_eq!(rotation.wait_after(hint("c:1"), Duration::from_secs(3600)), ZERO);
        assert_eq!(next(&mut rotation), "c:1");
    }
}
