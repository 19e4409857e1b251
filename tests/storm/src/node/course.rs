//! The order in which a node connects to controllers, and the waits in between, as in kantd: in
//! turn, but a hint first, and never two hints in a row.

use crate::rng::Rng;
use common::id::ControllerId;

/// The first wait, in milliseconds. It doubles with each try.
const FIRST_MS: u64 = 300;
/// The longest wait, in milliseconds.
const LONGEST_MS: u64 = 4_000;
/// The longest while controllers answer and none leads, in milliseconds.
const LEADERLESS_MS: u64 = 1_500;
/// The mean wait after a refusal, in milliseconds.
const REFUSED_MS: u64 = 5_000;

/// A node's position in its order of controllers.
#[derive(Debug, Clone, Default)]
pub struct Course {
    turn: usize,
    hinted: Option<ControllerId>,
    is_followed: bool,
    tries: u32,
}

/// How a session ended, or why it did not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Unreached,
    /// The controller refuses this node.
    Refused,
    /// The controller does not lead; perhaps this one does.
    NotLeader(Option<ControllerId>),
    Broken,
}

impl Course {
    /// The next controller to connect to.
    pub fn next(&mut self, controllers: &[ControllerId]) -> Option<ControllerId> {
        let hinted = self.hinted.take();
        self.is_followed = hinted.is_some();
        hinted.or_else(|| {
            self.turn = (self.turn + 1) % controllers.len().max(1);
            controllers.get(self.turn).copied()
        })
    }

    pub fn welcomed(&mut self) {
        self.tries = 0;
        self.is_followed = false;
    }

    /// How long to wait before the next connection, in milliseconds.
    pub fn wait_ms(&mut self, ending: Ending, rng: &mut Rng) -> u64 {
        match ending {
            Ending::NotLeader(Some(leader)) if !self.is_followed => {
                self.hinted = Some(leader);
                0
            }
            Ending::Refused => rng.between(REFUSED_MS / 2, REFUSED_MS * 3 / 2),
            Ending::NotLeader(_) => self.back_off(LEADERLESS_MS, rng),
            Ending::Unreached | Ending::Broken => self.back_off(LONGEST_MS, rng),
        }
    }

    fn back_off(&mut self, longest_ms: u64, rng: &mut Rng) -> u64 {
        let wait = (FIRST_MS << self.tries.min(8)).min(longest_ms);
        self.tries += 1;
        rng.between(wait / 2, wait)
    }
}
