//! Judge of cluster time by decision 0012. Stamps in the log never go back. A leader gives no time
//! further ahead than cluster time already was and than each wall clock that may be believed. Once
//! all wall clocks are right again, time that is ahead loses half of each second. The judge knows
//! the wall clocks, and not how cluster time is computed.

use super::Complaint;
use crate::steady::true_time;
use common::id::ControllerId;
use common::time::Time;
use std::collections::BTreeMap;

/// Wall clocks that differ by at most this agree, in milliseconds: 5 s plus message delays.
const NEAR_MS: i64 = 6_000;
/// How long a reading of a wall clock counts for other controllers, in milliseconds: 10 s plus the
/// time that a controller may be paused before it reads the message.
const COUNTS_MS: u64 = 20_000;
/// A wall clock without another that agrees is believed after this time, in milliseconds.
const ALONE_MS: u64 = 60_000;
/// Time that is ahead begins to lose its lead this long after the faults, in milliseconds.
const HEALS_AFTER_MS: u64 = 75_000;
/// Tolerance for the difference between two controllers' times, in milliseconds.
const SLACK_MS: i64 = 2_000;

/// What a wall clock shows during a period.
#[derive(Debug, Clone, Copy)]
struct Wall {
    of: ControllerId,
    /// How far it is ahead of the true time.
    ahead_ms: i64,
    since_ms: u64,
    /// `u64::MAX` while it still shows that.
    until_ms: u64,
}

#[derive(Debug, Default)]
pub struct TimeJudge {
    pub complaints: Vec<Complaint>,
    walls: Vec<Wall>,
    /// How far the wall clock of each controller's process was ahead when it started.
    started_ms: BTreeMap<ControllerId, i64>,
    /// The furthest that cluster time was ahead.
    ahead_ms: i64,
    last: Time,
    /// Since when no clock has been changed, in milliseconds.
    calm_ms: Option<u64>,
    /// How far cluster time was ahead when it began to lose its lead, and when that was.
    heals_from: Option<(i64, u64)>,
}

impl TimeJudge {
    /// Records what a machine's wall clock shows from now on.
    pub fn note_wall(&mut self, now_ms: u64, of: ControllerId, ahead_ms: i64) {
        for wall in self.walls.iter_mut().filter(|wall| wall.of == of) {
            wall.until_ms = wall.until_ms.min(now_ms);
        }
        self.walls.push(Wall { of, ahead_ms, since_ms: now_ms, until_ms: u64::MAX });
    }

    /// Records the start of a process, which knows only its own wall clock.
    pub fn note_start(&mut self, now_ms: u64, of: ControllerId, ahead_ms: i64) {
        self.started_ms.insert(of, ahead_ms);
        // It must first receive readings of others, or wait as long as a lone controller does.
        (self.calm_ms, self.heals_from) = (self.calm_ms.map(|_| now_ms), None);
    }

    /// Records that all wall clocks are right, and stay so.
    pub fn note_calm(&mut self, now_ms: u64) {
        self.calm_ms = self.calm_ms.or(Some(now_ms));
    }

    /// Checks a time that a leader gives, as a stamp or to its followers.
    pub fn note_given(&mut self, now_ms: u64, by: ControllerId, at: Time) {
        let ahead_ms = ahead(at, now_ms);
        let allowed_ms = self.allowed(now_ms, by);
        if ahead_ms > allowed_ms {
            let text = format!(
                "controller {by} gives a time {ahead_ms} ms ahead, and no clock that may be \
                 believed is farther ahead than {allowed_ms} ms"
            );
            self.complaints.push(Complaint::new("time", text));
        }
        self.ahead_ms = self.ahead_ms.max(ahead_ms);
        if self.calm_ms.is_some_and(|calm_ms| now_ms >= calm_ms + HEALS_AFTER_MS) {
            self.look_whether_it_heals(now_ms, ahead_ms);
        }
    }

    /// Checks a stamp in the log.
    pub fn note_logged(&mut self, at: Time) {
        if at < self.last {
            let text = format!("a stamp is {at}, and one before it is {}", self.last);
            self.complaints.push(Complaint::new("time", text));
        }
        self.last = self.last.max(at);
    }

    fn look_whether_it_heals(&mut self, now_ms: u64, ahead_ms: i64) {
        let (from_ms, since_ms) = *self.heals_from.get_or_insert((ahead_ms, now_ms));
        let healed_ms = i64::try_from((now_ms - since_ms) / 2).unwrap_or(i64::MAX);
        let allowed_ms = from_ms.saturating_sub(healed_ms).max(0) + SLACK_MS;
        if ahead_ms > allowed_ms {
            let text = format!(
                "cluster time is {ahead_ms} ms ahead of all clocks, and should be {allowed_ms} ms \
                 ahead at most by now"
            );
            self.complaints.push(Complaint::new("time", text));
        }
    }

    /// How far the time that a controller gives may be ahead now, in milliseconds.
    fn allowed(&self, now_ms: u64, by: ControllerId) -> i64 {
        let counts = |wall: &&Wall| wall.until_ms.saturating_add(COUNTS_MS) >= now_ms;
        let recent: Vec<&Wall> = self.walls.iter().filter(counts).collect();
        let agrees = |wall: &Wall| {
            let is_near = |other: &&Wall| (other.ahead_ms - wall.ahead_ms).abs() <= NEAR_MS;
            recent.iter().any(|other| other.of != wall.of && is_near(other))
        };
        let lasts = |wall: &Wall| wall.until_ms.min(now_ms) - wall.since_ms >= ALONE_MS;
        // Cluster time may follow a wall clock that is this close.
        let is_near = |wall: &Wall| wall.ahead_ms <= self.ahead_ms + NEAR_MS;
        let may_be = |wall: &&&Wall| agrees(wall) || lasts(wall) || is_near(wall);
        let believed = recent.iter().filter(may_be).map(|wall| wall.ahead_ms);
        let started_ms = self.started_ms.get(&by).copied().unwrap_or_default();
        believed.fold(started_ms.max(self.ahead_ms), i64::max)
    }
}

/// How far a time is ahead of the true time, in milliseconds.
fn ahead(at: Time, now_ms: u64) -> i64 {
    let now = true_time(now_ms);
    let (ahead, behind) = (at.since(now).0, now.since(at).0);
    i64::try_from(ahead).unwrap_or(i64::MAX) - i64::try_from(behind).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::time::Span;

    const HOUR_MS: i64 = 3_600_000;

    /// A judge of wall clocks that are this far ahead, one per controller.
    fn judge_of(walls: &[i64]) -> TimeJudge {
        let mut judge = TimeJudge::default();
        let numbered = (1..).map(ControllerId).zip(walls);
        numbered.for_each(|(id, ahead_ms)| judge.note_wall(0, id, *ahead_ms));
        judge
    }

    /// Complaints about a time given at `now_ms` that is `ahead_ms` ahead.
    fn said(judge: &mut TimeJudge, now_ms: u64, ahead_ms: i64) -> Vec<String> {
        let at = Time(true_time(now_ms).0.saturating_add_signed(ahead_ms));
        judge.note_given(now_ms, ControllerId(1), at);
        std::mem::take(&mut judge.complaints).into_iter().map(|wrong| wrong.text).collect()
    }

    #[test]
    fn a_wall_that_no_other_agrees_with_is_not_to_be_followed() {
        let mut judge = judge_of(&[HOUR_MS, 0, 0]);
        assert_eq!(said(&mut judge, 1_000, 0), Vec::<String>::new());
        assert_eq!(said(&mut judge, 2_000, HOUR_MS).len(), 1);
        let mut judge = judge_of(&[HOUR_MS, 0, HOUR_MS + 1_000]);
        assert_eq!(said(&mut judge, 2_000, HOUR_MS), Vec::<String>::new());
        let mut judge = judge_of(&[4_000, 0, 0]);
        assert_eq!(said(&mut judge, 2_000, 4_000), Vec::<String>::new());
        assert_eq!(said(&mut judge, 2_000, 7_000).len(), 1);
    }

    #[test]
    fn a_lone_wall_may_be_followed_after_a_minute() {
        let mut judge = judge_of(&[HOUR_MS]);
        assert_eq!(said(&mut judge, 59_000, HOUR_MS).len(), 1);
        let mut judge = judge_of(&[HOUR_MS]);
        assert_eq!(said(&mut judge, 60_000, HOUR_MS), Vec::<String>::new());
    }

    #[test]
    fn the_wall_at_a_start_may_be_followed_by_the_process_that_started_and_by_no_other() {
        let mut judge = judge_of(&[0, 0, 0]);
        judge.note_start(0, ControllerId(2), HOUR_MS);
        assert_eq!(said(&mut judge, 1_000, HOUR_MS).len(), 1);
        let mut judge = judge_of(&[0, 0, 0]);
        judge.note_start(0, ControllerId(1), HOUR_MS);
        judge.note_start(500, ControllerId(1), 0);
        assert_eq!(said(&mut judge, 1_000, HOUR_MS).len(), 1, "it has started again since");
        judge.note_start(1_500, ControllerId(1), HOUR_MS);
        assert_eq!(said(&mut judge, 2_000, HOUR_MS), Vec::<String>::new());
    }

    #[test]
    fn time_that_was_ahead_loses_half_of_each_second() {
        let mut judge = judge_of(&[0, 0]);
        judge.note_start(0, ControllerId(1), HOUR_MS);
        judge.note_calm(0);
        assert_eq!(said(&mut judge, 80_000, 30_000), Vec::<String>::new());
        assert_eq!(said(&mut judge, 100_000, 20_000), Vec::<String>::new());
        assert_eq!(said(&mut judge, 120_000, 10_000), Vec::<String>::new());
        assert_eq!(said(&mut judge, 130_000, 10_000).len(), 1, "it stands");
        assert_eq!(said(&mut judge, 200_000, 0), Vec::<String>::new());
    }

    #[test]
    fn stamps_that_go_back_are_seen() {
        let mut judge = TimeJudge::default();
        let at = true_time(5);
        [at, at, at + Span(1)].into_iter().for_each(|at| judge.note_logged(at));
        assert_eq!(judge.complaints, Vec::new());
        judge.note_logged(at);
        assert_eq!(judge.complaints.len(), 1);
    }
}
