//! Which controller a node dials next, and how long it waits before; as kantd does it: in turn,
//! hints first, but one hint a turn. Never dials.

use crate::dice::Dice;
use common::id::ControllerId;

/// The first wait, in milliseconds; it doubles.
const FIRST_MS: u64 = 300;
/// The longest wait, in milliseconds.
const LONGEST_MS: u64 = 4_000;
/// The longest while controllers answer and none leads, in milliseconds.
const LEADERLESS_MS: u64 = 1_500;
/// After a refusal, in milliseconds.
const REFUSED_MS: u64 = 5_000;

/// Where a node is on its way around the controllers.
#[derive(Debug, Clone, Default)]
pub struct Course {
    turn: usize,
    hinted: Option<ControllerId>,
    is_followed: bool,
    tries: u32,
}

/// How a session ended, or did not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Unreached,
    /// The controller will not have this node.
    Refused,
    /// The controller does not lead; this one does, as far as it knows.
    NotLeader(Option<ControllerId>),
    Broken,
}

impl Course {
    /// Whom to dial now.
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

    /// How long to wait, in milliseconds.
    pub fn wait_ms(&mut self, ending: Ending, dice: &mut Dice) -> u64 {
        match ending {
            Ending::NotLeader(Some(leader)) if !self.is_followed => {
                self.hinted = Some(leader);
                0
            }
            Ending::Refused => dice.between(REFUSED_MS / 2, REFUSED_MS * 3 / 2),
            Ending::NotLeader(_) => self.back_off(LEADERLESS_MS, dice),
            Ending::Unreached | Ending::Broken => self.back_off(LONGEST_MS, dice),
        }
    }

    fn back_off(&mut self, longest_ms: u64, dice: &mut Dice) -> u64 {
        let wait = (FIRST_MS << self.tries.min(8)).min(longest_ms);
        self.tries += 1;
        dice.between(wait / 2, wait)
    }
}
