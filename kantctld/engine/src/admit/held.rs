//! A held job waits until somebody releases it.
//!
//! Source: man sbatch, `--hold`; man scontrol, hold and release.
//! Reads: the job's hold. Never: whose hold it is; the state knows. Knobs: none.
//!
//! Example, two nodes that nobody uses. Jobs 1 and 3 start; job 2 is held and waits, and takes
//! nobody's turn meanwhile.

use crate::snapshot::WaitingJob;
use common::reason::WaitReason;

pub(crate) fn check(job: &WaitingJob) -> Result<(), WaitReason> {
    if job.held { Err(WaitReason::Held) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cpu_node, key, request, snapshot, waiting};
    use common::time::Time;

    #[test]
    fn the_example() {
        let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4)]);
        snapshot.waiting = (1..=3).map(|job| waiting(job, request(1, 4), 10)).collect();
        snapshot.waiting[1].held = true;
        let round = crate::schedule(&snapshot, Time(9_000));
        assert_eq!(round.decisions.len(), 2);
        assert_eq!(round.reasons, [(key(2), WaitReason::Held)]);
    }
}
