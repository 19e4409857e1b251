//! `ResizeJob`: shrinks a running job, which gives up its last nodes and runs on (Slurm: `scontrol
//! update job`, NumNodes). For its owner or an operator. The job keeps at least its minimum of
//! tasks; a job that named no range may be shrunk to one node. The command does not wait for the
//! nodes, and never adds one.

use super::target::{self, Did};
use crate::command::{Actor, Target};
use crate::event::Event;
use crate::lifecycle;
use crate::state::State;
use common::id::JobKey;
use common::job::{JobSize, Phase};
use common::reason::{BadRequest, Refusal};
use common::resource::Allocation;
use common::right::JobAction;
use common::unit::Tasks;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    target: Target,
    size: JobSize,
) -> Result<(), Refusal> {
    let keys = target::keys_of_single_component(state, actor, JobAction::Resize.right(), target)?;
    target::apply_to_each(keys, |key| {
        let Some((record, element)) = state.element(key) else {
            return Did::Not(Refusal::UnknownJob { key });
        };
        let Some(run) = element.run.as_ref().filter(|_| element.phase == Phase::Running) else {
            return target::wrong_phase_refusal(state, key, "resize");
        };
        let least = record.spec.ask.request.tasks_min;
        match kept(key, &run.staying(), least, size) {
            Ok(keep) => lifecycle::shrink(state, events, key, keep, (actor.uid, None)),
            Err(cause) => return Did::Not(cause.into()),
        }
        Did::Fine
    })
}

/// The number of nodes that a job of this size keeps.
///
/// # Errors
/// The size is impossible.
fn kept(
    key: JobKey,
    has: &Allocation,
    least: Option<Tasks>,
    size: JobSize,
) -> Result<usize, BadRequest> {
    let (nodes, all) = (has.shares().len(), has.tasks());
    let ends = has.shares().iter().scan(Tasks::ZERO, |sum, share| {
        *sum += share.tasks;
        Some(*sum)
    });
    // The number of tasks after the first node, the second, and so on.
    let ends: Vec<Tasks> = ends.collect();
    let (keep, more) = match size {
        JobSize::Nodes(asked) => {
            let asked = asked.0 as usize;
            ((1..=nodes).contains(&asked).then_some(asked), asked > nodes)
        }
        JobSize::Tasks(asked) => {
            (ends.iter().position(|tasks| *tasks == asked).map(|at| at + 1), asked > all)
        }
    };
    if more {
        let on = common::unit::Nodes(u32::try_from(nodes).unwrap_or(u32::MAX));
        let (has, on) = (JobSize::Tasks(all), JobSize::Nodes(on));
        return Err(BadRequest::Enlarged { key, has, on });
    }
    let least = least.unwrap_or(Tasks(1));
    match keep {
        Some(keep) if ends[keep - 1] >= least => Ok(keep),
        Some(keep) => {
            let keeps = JobSize::Tasks(ends[keep - 1]);
            Err(BadRequest::BelowLeast { key, keeps, least })
        }
        None => {
            let can = ends.iter().copied().filter(|tasks| *tasks >= least).collect();
            Err(BadRequest::NoSuchSize { key, size, can })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::id::{JobId, NodeName};
    use common::resource::{GpuList, Share};
    use common::unit::{Bytes, Nodes};

    /// Four tasks on the first node, two on the second, two on the third.
    fn has() -> Allocation {
        let share = |(node, tasks): (&str, u32)| Share {
            node: NodeName::new(node).unwrap(),
            tasks: Tasks(tasks),
            cpus: CpuSet::first_n(1),
            memory: Bytes(1),
            gpus: GpuList::new(),
            gpu_milli: None,
        };
        Allocation::new([("a", 4), ("b", 2), ("c", 2)].map(share).to_vec()).unwrap()
    }

    fn kept(least: Option<u32>, size: JobSize) -> Result<usize, BadRequest> {
        super::kept(JobKey::single(JobId(5)), &has(), least.map(Tasks), size)
    }

    #[test]
    fn the_first_nodes_stay() {
        let tasks = |count| JobSize::Tasks(Tasks(count));
        assert_eq!(kept(None, tasks(8)), Ok(3), "as it is");
        assert_eq!(kept(None, tasks(6)), Ok(2));
        assert_eq!(kept(Some(4), tasks(4)), Ok(1));
        assert_eq!(kept(None, JobSize::Nodes(Nodes(1))), Ok(1));
    }

    #[test]
    fn what_it_cannot_have_is_said_with_what_it_can() {
        for (least, size, says) in [
            (None, JobSize::Tasks(Tasks(5)), "it can have 4, 6, 8 tasks"),
            (Some(6), JobSize::Tasks(Tasks(5)), "it can have 6, 8 tasks"),
            (None, JobSize::Tasks(Tasks(0)), "it can have 4, 6, 8 tasks"),
            (Some(5), JobSize::Nodes(Nodes(1)), "keep 4 tasks, and requested at least 5"),
            (None, JobSize::Nodes(Nodes(4)), "8 tasks on 3 nodes"),
            (None, JobSize::Tasks(Tasks(9)), "not enlarged"),
            (None, JobSize::Nodes(Nodes(0)), "cannot be made 0 nodes"),
        ] {
            let refused = kept(least, size).unwrap_err();
            assert!(refused.to_string().contains(says), "{size}: {refused}");
        }
    }
}
