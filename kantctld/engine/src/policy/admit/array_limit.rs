//! The limit of an array on how many of its tasks run at once.
//!
//! Source: man sbatch, `--array=...%N`.
//! Reads: how many tasks of the array run, and the array's limit.
//! Knobs: `%N` of an array.
//!
//! Example, two idle nodes. Tasks 1_0, 1_1 and 1_2 of `--array=0-2%2` wait: 1_0 and 1_1 start, 1_2
//! waits until one of them ends.

use crate::model::job::WaitingJob;
use crate::model::snapshot::Snapshot;
use common::id::JobId;
use common::reason::WaitReason;
use std::collections::BTreeMap;

/// How many tasks of each array run, including those started in this round.
#[derive(Debug, Clone)]
pub(crate) struct Arrays {
    running: BTreeMap<JobId, u32>,
}

impl Arrays {
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { running: snapshot.array_running.clone() }
    }

    pub fn check(&self, job: &WaitingJob) -> Result<(), WaitReason> {
        let Some(limit) = job.array_limit else { return Ok(()) };
        let running = self.running.get(&job.key.job).copied().unwrap_or(0);
        if running >= limit { Err(WaitReason::ArrayLimit { limit }) } else { Ok(()) }
    }

    pub fn count_start(&mut self, job: &WaitingJob) {
        if job.array_limit.is_some() {
            *self.running.entry(job.key.job).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, placed, request, snapshot, waiting};
    use common::time::Time;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        for index in 0..3 {
            let mut task = waiting(1, request(1, 1), 10);
            task.key = format!("1_{index}").parse().unwrap();
            task.array_limit = Some(2);
            snapshot.set_waiting(task);
        }
        assert_eq!(placed(&snapshot), ["1_0 a", "1_1 a"]);
        let round = crate::schedule(&snapshot, Time(9_000_000));
        let third = "1_2".parse().unwrap();
        let waits = Some(WaitReason::ArrayLimit { limit: 2 });
        assert_eq!(round.waits.reason_of(&snapshot, third), waits);
    }
}
