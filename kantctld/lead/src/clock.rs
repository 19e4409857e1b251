//! Cluster time: what a leader stamps commands with. Goes by the wall clock as long as that does
//! what time that passes explains; never back, never still, and never far ahead because one host's
//! clock leapt. Reads no clock: it is stepped with what clocks show.
//!
//! | the wall, against where cluster time would be by now | cluster time |
//! |---|---|
//! | ahead by up to [`LEAP_MAX`] | runs an eighth faster until it is there |
//! | behind by up to [`LEAP_MAX`] | runs at half speed until the wall is there |
//! | farther off, another controller's clock agrees | leaps ahead to it, or runs at half speed |
//! | farther off for [`DOUBT_MAX`], and no other is heard | the same |
//! | farther off otherwise | goes on as time passes: the wall is not believed |
//!
//! A controller that starts knows nothing of the time before: there it takes the wall's word, if
//! that is not before the last stamp in the log. A controller that follows another takes that one's
//! time, so that a new leader goes on where the old one was, by what has passed since.

use common::id::ControllerId;
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// A wall clock that differs by more from where cluster time would be has leapt.
pub const LEAP_MAX: Span = Span::from_seconds(5);
/// A lone controller believes a leap that has lasted for so long.
pub const DOUBT_MAX: Span = Span::from_minutes(1);
/// What another controller's clock showed counts for so long.
pub const HEARD_FOR: Span = Span::from_seconds(10);

/// What the clocks of this host show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub wall: Time,
    /// Since the host began: goes on while the host sleeps, and is never set.
    pub uptime: Span,
}

/// Cluster time, as one controller has it.
#[derive(Debug, Clone, Default)]
pub struct ClusterClock {
    /// What was last given, or taken over from a leader; `None`: nothing since the start.
    last: Option<(Time, Span)>,
    /// The latest stamp in the log.
    floor: Time,
    /// Parts of a millisecond that were gained and not given yet, in eighths.
    eighths: u64,
    /// How far the wall was ahead of the uptime when it leapt, and since when.
    doubt: Option<(i128, Span)>,
    /// The walls of others, as they were by this host's uptime.
    others: BTreeMap<ControllerId, (Time, Span)>,
}

impl ClusterClock {
    /// The time now. Never before what was given before, nor before the last stamp in the log.
    pub fn now(&mut self, reading: Reading) -> Time {
        let Reading { wall, uptime } = reading;
        let next = match self.last {
            None => wall,
            Some((last, at)) => {
                let passed = Span(uptime.0.saturating_sub(at.0));
                let steady = last + passed;
                match (self.believes(reading, steady), wall >= steady) {
                    (Belief::Near, true) => wall.min(steady + self.part(passed.0)),
                    (Belief::Agreed, true) => wall,
                    (Belief::Near | Belief::Agreed, false) => {
                        wall.max(last + self.part(passed.0.saturating_mul(4)))
                    }
                    (Belief::Leapt, _) => steady,
                }
            }
        };
        let next = next.max(self.floor);
        self.last = Some((next, uptime));
        next
    }

    /// The log holds this stamp.
    pub fn not_before(&mut self, stamp: Time) {
        self.floor = self.floor.max(stamp);
    }

    /// The controller that leads says that this is the time. Not for one that leads itself.
    pub fn follow(&mut self, leader: Time, uptime: Span) {
        (self.last, self.eighths) = (Some((leader, uptime)), 0);
    }

    /// Another controller's wall clock shows this.
    pub fn hear(&mut self, from: ControllerId, wall: Time, uptime: Span) {
        self.others.retain(|_, (_, at)| is_recent(*at, uptime));
        self.others.insert(from, (wall, uptime));
    }

    /// Is the wall clock not believed?
    #[must_use]
    pub const fn doubts(&self) -> bool {
        self.doubt.is_some()
    }

    fn believes(&mut self, Reading { wall, uptime }: Reading, steady: Time) -> Belief {
        if are_near(wall, steady) {
            self.doubt = None;
            return Belief::Near;
        }
        let heard = self.others.values().filter(|(_, at)| is_recent(*at, uptime));
        let others: Vec<Time> =
            heard.map(|(shown, at)| *shown + Span(uptime.0.saturating_sub(at.0))).collect();
        if others.iter().any(|other| are_near(wall, *other)) {
            self.doubt = None;
            return Belief::Agreed;
        }
        let ahead = i128::from(wall.0) - i128::from(uptime.0);
        let lasts = self.doubt.filter(|(known, _)| known.abs_diff(ahead) <= u128::from(LEAP_MAX.0));
        let (known, since) = lasts.unwrap_or((ahead, uptime));
        self.doubt = Some((known, since));
        match others.is_empty() && since + DOUBT_MAX <= uptime {
            true => Belief::Agreed,
            false => Belief::Leapt,
        }
    }

    /// The time that a number of eighths of a millisecond adds, in whole milliseconds.
    fn part(&mut self, eighths: u64) -> Span {
        let all = self.eighths.saturating_add(eighths);
        self.eighths = all % 8;
        Span(all / 8)
    }
}

/// What the wall clock's word is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belief {
    /// Time that passes explains it.
    Near,
    /// It is farther off, and right.
    Agreed,
    /// It is farther off.
    Leapt,
}

fn are_near(one: Time, other: Time) -> bool {
    one.since(other).max(other.since(one)) <= LEAP_MAX
}

const fn is_recent(at: Span, uptime: Span) -> bool {
    uptime.0.saturating_sub(at.0) <= HEARD_FOR.0
}

#[cfg(test)]
mod tests;
