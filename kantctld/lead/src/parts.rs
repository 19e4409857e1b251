//! What a round decided, in parts that go into the log one after the other: while one is applied
//! nobody can look at the state, and a round may start thousands. Of all others there are few, and
//! they are not divided. Never puts those who start
//! together into two parts, nor somebody who starts before those who make room.

use common::id::JobKey;
use state::{Command, RoundStart};
use std::collections::{BTreeMap, VecDeque};

/// So many start by one entry, or those who start together: some 10 ms on one core of 2020.
pub const STARTS_MAX: usize = 256;

/// The command in parts of at most so many starts, but for those who start together. Together they
/// come to what it comes to; what others do in between is refused or allowed entry by entry, as it
/// is of one command.
#[must_use]
pub fn in_parts(command: Command, starts_max: usize) -> VecDeque<Command> {
    let (preempts, shrinks, starts, grows) = match command {
        Command::EnactRound { preempts, shrinks, starts, grows } if starts.len() > starts_max => {
            (preempts, shrinks, starts, grows)
        }
        short => return VecDeque::from([short]),
    };
    let mut parts: VecDeque<Vec<RoundStart>> = VecDeque::from([Vec::new()]);
    for unit in units(starts) {
        if parts.back().is_some_and(|part| !part.is_empty() && part.len() + unit.len() > starts_max)
        {
            parts.push_back(Vec::new());
        }
        parts.back_mut().expect("there is one from the beginning").extend(unit);
    }
    let of = |starts| Command::EnactRound {
        preempts: Vec::new(),
        shrinks: Vec::new(),
        starts,
        grows: Vec::new(),
    };
    let mut parts: VecDeque<Command> = parts.into_iter().map(of).collect();
    if let Some(Command::EnactRound { preempts: first, shrinks: also, .. }) = parts.front_mut() {
        (*first, *also) = (preempts, shrinks);
    }
    if let Some(Command::EnactRound { grows: last, .. }) = parts.back_mut() {
        *last = grows;
    }
    parts
}

/// Who starts alone, and who together, each at the place of its first: where they are started.
fn units(starts: Vec<RoundStart>) -> Vec<Vec<RoundStart>> {
    let mut units: Vec<Vec<RoundStart>> = Vec::new();
    let mut places: BTreeMap<JobKey, usize> = BTreeMap::new();
    for start in starts {
        match start.group.map(|group| *places.entry(group).or_insert(units.len())) {
            Some(place) if place < units.len() => units[place].push(start),
            _ => units.push(vec![start]),
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::id::{Attempt, AttemptId, JobId, NodeName};
    use common::job::{PreemptReason, Preempted};
    use common::policy::VictimMode;
    use common::resource::{Allocation, Share};
    use common::unit::{Bytes, Tasks};
    use state::RoundPreempt;

    fn key(job: u32) -> JobKey {
        JobKey { job: JobId(job), index: None }
    }

    fn start(job: u32, group: Option<u32>) -> RoundStart {
        let share = Share {
            node: NodeName::new("n1").unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first(1),
            memory: Bytes(1),
            gpus: Vec::new(),
            gpu_milli: None,
        };
        let allocation = Allocation::new(vec![share]).unwrap();
        let id = AttemptId { key: key(job), attempt: Attempt(1) };
        RoundStart { id, allocation, group: group.map(key) }
    }

    fn round(starts: Vec<RoundStart>) -> Command {
        Command::EnactRound { preempts: vec![], shrinks: vec![], starts, grows: vec![] }
    }

    fn jobs(part: &Command) -> Vec<u32> {
        let Command::EnactRound { starts, .. } = part else { panic!("{part:?}") };
        starts.iter().map(|start| start.id.key.job.0).collect()
    }

    #[test]
    fn parts_hold_no_more_than_so_many_starts_in_their_order() {
        let parts = in_parts(round((1..=5).map(|job| start(job, None)).collect()), 2);
        assert_eq!(parts.iter().map(jobs).collect::<Vec<_>>(), [vec![1, 2], vec![3, 4], vec![5]]);
    }

    #[test]
    fn those_who_start_together_are_in_one_part_however_many_they_are() {
        let of_seven = |job| start(job, Some(7));
        let starts = vec![start(1, None), of_seven(7), start(2, None), of_seven(8), of_seven(9)];
        let parts = in_parts(round(starts), 2);
        assert_eq!(parts.iter().map(jobs).collect::<Vec<_>>(), [vec![1], vec![7, 8, 9], vec![2]]);
    }

    #[test]
    fn who_makes_room_comes_first_and_a_short_round_stays_whole() {
        let preempt = RoundPreempt {
            id: AttemptId { key: key(9), attempt: Attempt(1) },
            preempted: Preempted { by: key(1), why: PreemptReason::Priority },
            mode: VictimMode::Requeue,
            to: vec![],
        };
        let of = |jobs: std::ops::Range<u32>| Command::EnactRound {
            preempts: vec![preempt.clone()],
            shrinks: vec![],
            starts: jobs.map(|job| start(job, None)).collect(),
            grows: vec![],
        };
        assert_eq!(in_parts(of(1..3), 2), [of(1..3)]);
        assert_eq!(in_parts(of(1..4), 2), [of(1..3), round(vec![start(3, None)])]);
    }
}
