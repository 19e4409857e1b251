//! Cluster time, with which a leader stamps commands. It follows the wall clock as long as that
//! agrees with the time elapsed; it never goes back or stands still, and does not follow a leap of
//! one host's clock. It is stepped with clock readings.
//!
//! | the wall clock, compared with the expected cluster time | cluster time |
//! |---|---|
//! | ahead by up to [`LEAP_MAX`] | runs an eighth faster until it has caught up |
//! | behind by up to [`LEAP_MAX`] | runs at half speed until the wall clock has caught up |
//! | farther off, and another controller's clock agrees | leaps ahead, or runs at half speed |
//! | farther off for [`DOUBT_MAX`], and no other controller is known | the same |
//! | farther off otherwise | follows the time elapsed: the wall clock is not believed |
//!
//! A controller that starts takes the wall clock's time, if that is not before the last stamp in
//! the log. A follower takes the leader's time, so that a new leader continues from there by the
//! time elapsed.

use common::id::ControllerId;
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// A wall clock that differs by more from the expected cluster time has leapt.
pub const LEAP_MAX: Span = Span::from_seconds(5);
/// How long a leap must last before a single controller believes it.
pub const DOUBT_MAX: Span = Span::from_minutes(1);
/// How long another controller's clock reading counts.
pub const HEARD_FOR: Span = Span::from_seconds(10);

/// Readings of this host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub wall: Time,
    /// Since boot, including suspend; never set.
    pub uptime: Span,
}

/// Cluster time as one controller knows it.
#[derive(Debug, Clone, Default)]
pub struct ClusterClock {
    /// The last time returned or taken from a leader; `None` before the first.
    last: Option<(Time, Span)>,
    /// The latest stamp in the log.
    floor: Time,
    /// The rest of a millisecond gained and not returned yet, in eighths.
    eighths: u64,
    /// The difference of wall clock and uptime after a leap, and since when.
    doubt: Option<(i128, Span)>,
    /// The other controllers' wall clocks, with this host's uptime.
    others: BTreeMap<ControllerId, (Time, Span)>,
}

impl ClusterClock {
    /// The time now; never before an earlier result or the last stamp in the log.
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

    /// Notes a stamp in the log.
    pub fn not_before(&mut self, stamp: Time) {
        self.floor = self.floor.max(stamp);
    }

    /// Takes the leader's time. Not for a leader.
    pub fn follow(&mut self, leader: Time, uptime: Span) {
        (self.last, self.eighths) = (Some((leader, uptime)), 0);
    }

    /// Notes another controller's wall clock.
    pub fn hear(&mut self, from: ControllerId, wall: Time, uptime: Span) {
        self.others.retain(|_, (_, at)| is_recent(*at, uptime));
        self.others.insert(from, (wall, uptime));
    }

    /// Whether the wall clock is not believed.
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

    /// Converts eighths of a millisecond to whole milliseconds, keeping the rest.
    fn part(&mut self, eighths: u64) -> Span {
        let all = self.eighths.saturating_add(eighths);
        self.eighths = all % 8;
        Span(all / 8)
    }
}

/// How the wall clock compares with the expected time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belief {
    /// Close to it.
    Near,
    /// Farther off, and correct.
    Agreed,
    /// Farther off, and not believed.
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
