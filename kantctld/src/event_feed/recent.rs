//! The latest events of the log, for clients that begin at an earlier point: after a lost
//! connection, they continue at any controller. Bounded in bytes; every controller keeps them,
//! since any may lead next.

use crate::state_machine::AppliedEvents;
use common::id::{LogIndex, NodeName};
use common::time::Time;
use common::wire::api::{EventSequence, Since};
use state::Event;
use std::collections::VecDeque;
use std::sync::Arc;

/// The capacity: about 200,000 events.
const BYTES_MAX: usize = 32 << 20;
/// The heap memory of one element of an event's list, at most.
const ELEMENT_BYTES: usize = size_of::<NodeName>() + 64;

pub struct Recent {
    entries: VecDeque<Arc<AppliedEvents>>,
    bytes: usize,
    bytes_max: usize,
    /// `None` if all events of the log are here.
    gone: Option<Gone>,
    last: EventSequence,
}

/// The last event that is no longer here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    pub last: EventSequence,
    pub at: Time,
}

/// Where a reader begins.
#[derive(Debug, PartialEq, Eq)]
pub struct Begin {
    pub after: EventSequence,
    pub gap: Option<Gap>,
}

/// Why a reader cannot begin at the requested point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// Events up to here are no longer kept.
    Gone(Gone),
    /// The requested event is not in the log.
    Ahead(EventSequence),
}

/// The next events of a reader.
pub enum Next {
    /// The rest of each command's events.
    Events(Vec<AppliedEvents>),
    Gap(Gone),
    /// There are no later events yet.
    End,
}

impl Default for Recent {
    fn default() -> Self {
        Self::with_capacity(BYTES_MAX)
    }
}

impl Recent {
    fn with_capacity(bytes_max: usize) -> Self {
        let (entries, bytes, gone, last) = Default::default();
        Self { entries, bytes, bytes_max, gone, last }
    }

    pub const fn last(&self) -> EventSequence {
        self.last
    }

    pub fn push(&mut self, applied: Arc<AppliedEvents>) {
        let Some(last) = applied.last_sequence() else { return };
        self.last = last;
        self.bytes += bytes(&applied);
        self.entries.push_back(applied);
        while self.bytes > self.bytes_max {
            let Some(first) = self.entries.pop_front() else { break };
            self.bytes -= bytes(&first);
            self.gone = first.last_sequence().map(|last| Gone { last, at: first.at });
        }
    }

    /// The state was read from a snapshot: earlier events are unknown.
    pub fn restart(&mut self, snapshot: LogIndex, at: Time) {
        self.entries.clear();
        self.bytes = 0;
        self.last = EventSequence { entry: LogIndex(snapshot.0 + 1), place: 0 };
        self.gone = Some(Gone { last: self.last, at });
    }

    /// Where a reader begins that wants the events since a point; `None`: later ones only.
    /// `applied` is the end of the log.
    pub fn begin_position(&self, since: Option<Since>, applied: LogIndex) -> Begin {
        let gap = match (since, self.gone) {
            (Some(Since::After(after)), _) if after.entry > applied && after > self.last => {
                return Begin { after: self.last, gap: Some(Gap::Ahead(after)) };
            }
            (Some(Since::After(after)), Some(gone)) => (after < gone.last).then_some(gone),
            (Some(Since::At(at)), Some(gone)) => (at <= gone.at).then_some(gone),
            _ => None,
        };
        let after = match (gap, since) {
            (Some(gone), _) => gone.last,
            (None, Some(Since::After(after))) => after,
            (None, Some(Since::At(at))) => self.last_event_before(at),
            (None, None) => self.last,
        };
        Begin { after, gap: gap.map(Gap::Gone) }
    }

    /// The last event before a time.
    fn last_event_before(&self, at: Time) -> EventSequence {
        let count = self.entries.partition_point(|entry| entry.at < at);
        let last = count.checked_sub(1).and_then(|index| self.entries.get(index)?.last_sequence());
        last.or(self.gone.map(|gone| gone.last)).unwrap_or_default()
    }

    /// The events after this one, about `count` of them.
    pub fn next(&self, after: EventSequence, count: usize) -> Next {
        if let Some(gone) = self.gone.filter(|gone| after < gone.last) {
            return Next::Gap(gone);
        }
        let first = self.entries.partition_point(|entry| entry.last_sequence() <= Some(after));
        let (mut parts, mut left) = (Vec::new(), count);
        for entry in self.entries.iter().skip(first) {
            if left == 0 {
                break;
            }
            let part = entry.part(after, left);
            left -= part.events.len();
            parts.push(part);
        }
        if parts.is_empty() { Next::End } else { Next::Events(parts) }
    }
}

impl AppliedEvents {
    /// The events after this one, at most `count` of them.
    fn part(&self, after: EventSequence, count: usize) -> Self {
        let done = match after.entry == self.entry {
            true => (after.place + 1).saturating_sub(self.first),
            false => 0,
        };
        let events = self.events.iter().skip(done as usize).take(count).cloned().collect();
        Self { entry: self.entry, first: self.first + done, at: self.at, events }
    }
}

/// The memory of events, roughly.
fn bytes(applied: &AppliedEvents) -> usize {
    let elements = |event: &Event| match event {
        Event::JobUpdated { nodes, .. }
        | Event::JobStarted { nodes, .. }
        | Event::JobReady { nodes, .. }
        | Event::JobSuspended { nodes, .. }
        | Event::JobResumed { nodes, .. }
        | Event::JobEnded { nodes, .. } => nodes.len(),
        Event::JobResized { stays, leaves, nodes, .. } => stays.len() + leaves.len() + nodes.len(),
        Event::JobStepsEnded { steps, .. } => 8 * steps.len(),
        _ => 1,
    };
    let lists: usize = applied.events.iter().map(elements).sum();
    size_of::<AppliedEvents>() + size_of_val(&applied.events[..]) + lists * ELEMENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::JobId;

    fn applied(entry: u64, first: u32, jobs: &[u32]) -> Arc<AppliedEvents> {
        let events = jobs.iter().map(|job| Event::JobForgotten { job: JobId(*job) }).collect();
        Arc::new(AppliedEvents { entry: LogIndex(entry), first, at: Time(entry * 10), events })
    }

    fn sequence(text: &str) -> EventSequence {
        text.parse().unwrap()
    }

    /// The sequences of all events after one, read in parts of `count`.
    fn read(recent: &Recent, after: &str, count: usize) -> Vec<String> {
        let (mut after, mut seen) = (sequence(after), Vec::new());
        loop {
            let parts = match recent.next(after, count) {
                Next::Events(parts) => parts,
                Next::End => return seen,
                Next::Gap(gone) => panic!("{gone:?}"),
            };
            assert!(parts.iter().map(|part| part.events.len()).sum::<usize>() <= count);
            for part in parts {
                seen.extend(part.sequences().map(|one| one.to_string()));
                after = part.last_sequence().unwrap();
            }
        }
    }

    /// Two commands in entry 3, one in entry 5, and one in entry 8.
    fn recent() -> Recent {
        let mut recent = Recent::default();
        for one in [applied(3, 1, &[1, 2]), applied(3, 3, &[3]), applied(5, 1, &[4, 5, 6])] {
            recent.push(one);
        }
        recent.push(applied(6, 1, &[]));
        recent.push(applied(8, 1, &[7]));
        recent
    }

    #[test]
    fn a_reader_gets_each_later_event_once_from_any_point_and_in_parts_of_any_size() {
        let recent = recent();
        let all = ["3-1", "3-2", "3-3", "5-1", "5-2", "5-3", "8-1"];
        for count in 1..9 {
            assert_eq!(read(&recent, "0-0", count), all, "{count}");
            for (done, after) in all.iter().enumerate() {
                assert_eq!(read(&recent, after, count), all[done + 1..], "after {after}");
            }
        }
        assert_eq!(read(&recent, "4-0", 9), all[3..]);
    }

    #[test]
    fn a_time_is_the_point_before_its_first_event() {
        let recent = recent();
        let after = |at: u64| {
            let begin = recent.begin_position(Some(Since::At(Time(at))), LogIndex(8));
            assert_eq!(begin.gap, None);
            begin.after.to_string()
        };
        assert_eq!([0, 30, 31, 50, 51, 99].map(after), ["0-0", "0-0", "3-3", "3-3", "5-3", "8-1"]);
        assert_eq!(recent.begin_position(None, LogIndex(8)).after, sequence("8-1"));
    }

    #[test]
    fn events_that_are_no_longer_kept_are_a_gap_with_its_end() {
        let mut recent = Recent::with_capacity(10_000);
        (1..=1000).for_each(|entry| recent.push(applied(entry, 1, &[1, 2])));
        assert!(recent.bytes <= 10_000 && recent.entries.len() > 10);
        assert_eq!(recent.bytes, recent.entries.iter().map(|one| bytes(one)).sum::<usize>());
        let gone = recent.gone.unwrap();
        assert_eq!(gone.last.entry.0 + recent.entries.len() as u64, 1000);
        for since in [Since::After(sequence("1-1")), Since::At(Time(20))] {
            let begin = recent.begin_position(Some(since), LogIndex(1000));
            assert_eq!(begin, Begin { after: gone.last, gap: Some(Gap::Gone(gone)) });
        }
        let begin = recent.begin_position(Some(Since::After(gone.last)), LogIndex(1000));
        assert_eq!(begin, Begin { after: gone.last, gap: None });
        assert!(matches!(recent.next(sequence("1-1"), 9), Next::Gap(gap) if gap == gone));
    }

    #[test]
    fn earlier_events_than_a_snapshot_are_gone_and_later_ones_are_not() {
        let mut recent = recent();
        recent.restart(LogIndex(20), Time(200));
        let gap = |recent: &Recent, since: &str| {
            recent.begin_position(Some(since.parse().unwrap()), LogIndex(20)).gap.is_some()
        };
        assert!(gap(&recent, "20-1") && gap(&recent, "200") && !gap(&recent, "201"));
        recent.push(applied(21, 1, &[1]));
        assert_eq!(read(&recent, "21-0", 9), ["21-1"]);
    }

    #[test]
    fn an_event_of_another_log_is_a_gap_and_one_that_is_about_to_come_is_not() {
        let recent = recent();
        let begin = |since: &str, applied: u64| {
            recent.begin_position(Some(since.parse().unwrap()), LogIndex(applied))
        };
        let ahead = sequence("9-1");
        assert_eq!(begin("9-1", 8), Begin { after: recent.last, gap: Some(Gap::Ahead(ahead)) });
        assert_eq!(begin("9-1", 9), Begin { after: ahead, gap: None });
    }
}
