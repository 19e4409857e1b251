//! Cluster time, with which a leader stamps commands. It follows the wall clock as long as that
//! agrees with the time elapsed; it never goes back or stands still, and does not follow a leap of
//! one host's clock. It is stepped with clock readings.
//!
//! | the wall clock, compared with the expected cluster time | cluster time |
//! |---|---|
//! | ahead by up to [`LEAP_MAX`] | runs an eighth faster until it has caught up |
//! | behind by up to [`LEAP_MAX`] | runs at half speed until the wall clock has caught up |
//! | farther off, and most controllers' clocks agree with it | leaps ahead, or runs at half speed |
//! | farther off for [`DOUBT_MAX`] without contact with another controller | the same |
//! | farther off otherwise | follows the time elapsed: the wall clock is not believed |
//!
//! Most means more than half of this controller and of those heard from recently, and at least two.
//!
//! The wall clock is read when the controller starts. A clock that leaps between that and the first
//! result is not believed either, though no cluster time is known yet. The first result is what
//! most controllers' clocks show, where they contradict the reading at the start, and it is not
//! before the last stamp in the log. A follower takes the leader's time, so that a new leader
//! continues from there by the time elapsed.

use common::id::ControllerId;
use common::time::{Span, Time};
use std::collections::BTreeMap;

/// A wall clock that differs by more from the expected cluster time has leapt.
pub const LEAP_MAX: Span = Span::from_seconds(5);
/// How long a controller must have had no contact with others before it believes a leap.
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
#[derive(Debug, Clone)]
pub struct ClusterClock {
    /// The last time returned or taken from a leader; before the first, the reading at the start.
    last: (Time, Span),
    /// No time was returned or taken from a leader.
    is_new: bool,
    /// The latest stamp in the log.
    floor: Time,
    /// The rest of a millisecond gained and not returned yet, in eighths.
    eighths: u64,
    /// The difference of wall clock and uptime after a leap, and since when no other controller
    /// could contradict it.
    doubt: Option<(i128, Span)>,
    /// The other controllers' wall clocks, with this host's uptime.
    others: BTreeMap<ControllerId, (Time, Span)>,
}

impl ClusterClock {
    /// The clock of a controller that starts. Time may pass before the first result.
    #[must_use]
    pub const fn new(at_start: Reading) -> Self {
        Self {
            last: (at_start.wall, at_start.uptime),
            is_new: true,
            floor: Time(0),
            eighths: 0,
            doubt: None,
            others: BTreeMap::new(),
        }
    }

    /// The time now; never before an earlier result or the last stamp in the log.
    pub fn now(&mut self, reading: Reading) -> Time {
        let Reading { wall, uptime } = reading;
        if std::mem::take(&mut self.is_new) {
            self.last = (self.initial_time(reading), uptime);
        }
        let (last, at) = self.last;
        let passed = Span(uptime.0.saturating_sub(at.0));
        let steady = last + passed;
        let next = match (self.judge_wall_clock(reading, steady), wall >= steady) {
            (Belief::Near, true) => wall.min(steady + self.whole_milliseconds(passed.0)),
            (Belief::Agreed, true) => wall,
            (Belief::Near | Belief::Agreed, false) => {
                wall.max(last + self.whole_milliseconds(passed.0.saturating_mul(4)))
            }
            (Belief::Leapt, _) => steady,
        };
        let next = next.max(self.floor);
        self.last = (next, uptime);
        next
    }

    /// The time to show before the first result of [`Self::now`], which it leaves open: by then,
    /// more of the other controllers may have been heard. `None`: cluster time is known.
    #[must_use]
    pub fn provisional_time(&self, reading: Reading) -> Option<Time> {
        self.is_new.then(|| self.initial_time(reading).max(self.floor))
    }

    /// Notes a stamp in the log.
    pub fn note_log_stamp(&mut self, stamp: Time) {
        self.floor = self.floor.max(stamp);
    }

    /// Takes the leader's time. Not for a leader.
    pub fn follow(&mut self, leader: Time, uptime: Span) {
        (self.last, self.is_new, self.eighths) = ((leader, uptime), false, 0);
    }

    /// Notes another controller's wall clock.
    pub fn note_peer_clock(&mut self, from: ControllerId, wall: Time, uptime: Span) {
        self.others.retain(|_, (_, at)| is_recent(*at, uptime));
        self.others.insert(from, (wall, uptime));
    }

    /// Whether the wall clock is not believed.
    #[must_use]
    pub const fn is_wall_clock_doubted(&self) -> bool {
        self.doubt.is_some()
    }

    /// The first result, from the reading at the start.
    fn initial_time(&self, reading: Reading) -> Time {
        let (begun, at) = self.last;
        let steady = begun + Span(reading.uptime.0.saturating_sub(at.0));
        match self.majority_time(reading) {
            Some(agreed) if !are_near(agreed, steady) => agreed,
            _ if are_near(reading.wall, steady) => reading.wall,
            _ => steady,
        }
    }

    fn judge_wall_clock(&mut self, reading: Reading, steady: Time) -> Belief {
        let Reading { wall, uptime } = reading;
        if are_near(wall, steady) {
            self.doubt = None;
            return Belief::Near;
        }
        if self.majority_time(reading).is_some_and(|agreed| are_near(wall, agreed)) {
            self.doubt = None;
            return Belief::Agreed;
        }
        let is_alone = self.recent(uptime).next().is_none();
        let ahead = i128::from(wall.0) - i128::from(uptime.0);
        let lasts = self.doubt.filter(|(known, _)| known.abs_diff(ahead) <= u128::from(LEAP_MAX.0));
        let (known, since) = lasts.filter(|_| is_alone).unwrap_or((ahead, uptime));
        self.doubt = Some((known, since));
        match is_alone && since + DOUBT_MAX <= uptime {
            true => Belief::Agreed,
            false => Belief::Leapt,
        }
    }

    /// The time that most controllers' clocks show: this host's wall clock if that is among them.
    fn majority_time(&self, Reading { wall, uptime }: Reading) -> Option<Time> {
        let shown: Vec<Time> = std::iter::once(wall).chain(self.recent(uptime)).collect();
        let near = |time: Time| shown.iter().filter(|other| are_near(time, **other)).count();
        let have_most = |time: &Time| near(*time) >= 2 && near(*time) * 2 > shown.len();
        shown.iter().copied().find(have_most)
    }

    /// What the other controllers' wall clocks show, by recent readings.
    fn recent(&self, uptime: Span) -> impl Iterator<Item = Time> {
        let recent = self.others.values().filter(move |(_, at)| is_recent(*at, uptime));
        recent.map(move |(shown, at)| *shown + Span(uptime.0.saturating_sub(at.0)))
    }

    /// Converts eighths of a millisecond to whole milliseconds, keeping the rest.
    fn whole_milliseconds(&mut self, eighths: u64) -> Span {
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
    /// Farther off, and believed.
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
