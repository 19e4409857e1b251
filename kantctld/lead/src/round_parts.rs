//! The decisions of a round, split into parts that are logged one after the other: a round may
//! start thousands of jobs, and the state cannot be read while an entry is applied. Other decisions
//! are few and are not split. A gang stays in one part, and preemptions come before the starts that
//! need them.

use common::id::JobKey;
use state::{Command, RoundStart};
use std::collections::{BTreeMap, VecDeque};

/// The most starts in one entry, except for a larger gang: about 10 ms on one core of 2020.
pub const STARTS_MAX: usize = 256;

/// Splits the command into parts of at most `starts_max` starts, except for a larger gang. Together
/// they have the effect of the whole command; the state checks each start again, as it always does.
#[must_use]
pub fn split_round(command: Command, starts_max: usize) -> VecDeque<Command> {
    let (preempts, shrinks, starts, grows) = match command {
        Command::EnactRound { preempts, shrinks, starts, grows } if starts.len() > starts_max => {
            (preempts, shrinks, starts, grows)
        }
        short => return VecDeque::from([short]),
    };
    let mut parts: VecDeque<Vec<RoundStart>> = VecDeque::from([Vec::new()]);
    for unit in group_by_gang(starts) {
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

/// Groups starts by gang; a gang takes the position of its first job.
fn group_by_gang(starts: Vec<RoundStart>) -> Vec<Vec<RoundStart>> {
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
    use common::resource::{Allocation, GpuList, Share};
    use common::unit::{Bytes, Tasks};
    use state::RoundPreempt;

    fn key(job: u32) -> JobKey {
        JobKey { job: JobId(job), index: None }
    }

    fn start(job: u32, group: Option<u32>) -> RoundStart {
        let share = Share {
            node: NodeName::new("n1").unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::first_n(1),
            memory: Bytes(1),
            gpus: GpuList::new(),
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
    fn parts_have_a_limited_number_of_starts_in_order() {
        let parts = split_round(round((1..=5).map(|job| start(job, None)).collect()), 2);
        assert_eq!(parts.iter().map(jobs).collect::<Vec<_>>(), [vec![1, 2], vec![3, 4], vec![5]]);
    }

    #[test]
    fn a_gang_is_in_one_part_whatever_its_size() {
        let of_seven = |job| start(job, Some(7));
        let starts = vec![start(1, None), of_seven(7), start(2, None), of_seven(8), of_seven(9)];
        let parts = split_round(round(starts), 2);
        assert_eq!(parts.iter().map(jobs).collect::<Vec<_>>(), [vec![1], vec![7, 8, 9], vec![2]]);
    }

    #[test]
    fn preemptions_come_first_and_a_short_round_is_not_split() {
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
        assert_eq!(split_round(of(1..3), 2), [of(1..3)]);
        assert_eq!(split_round(of(1..4), 2), [of(1..3), round(vec![start(3, None)])]);
    }
}
