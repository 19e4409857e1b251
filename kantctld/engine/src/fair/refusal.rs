//! The reason why a bound keeps a job from starting in a fair-sharing round, as shown to its user.

use super::amount::{Amount, Resource};
use super::bars::Bars;
use super::board::Board;
use super::bounds::Excess;
use super::round::within_firm;
use super::sight::Sight;
use super::tree::Account;
use super::view::View;
use super::world::{GpuAsk, JobAt, Task, World};
use crate::planner::RoundState;
use crate::snapshot::Snapshot;
use common::id::{JobKey, QueueName};
use common::reason::{Counted, QuotaBound, WaitReason, What};
use common::time::Time;

/// The quota that a waiting job which is not preemptible would exceed with its minimum of tasks,
/// whatever is free. `None`: it exceeds none, or fair sharing is off. The snapshot must be settled.
#[must_use]
pub fn over_quota(snapshot: &Snapshot, now: Time, key: JobKey) -> Option<WaitReason> {
    if !snapshot.policy.fair_sharing {
        return None;
    }
    let mut desk = RoundState::new(snapshot, now);
    let view = View::of(&mut desk, &Bars::default(), Sight::sums());
    let (at, _) = view.waiting.iter().find(|(_, (job, _))| job.key == key)?;
    let board = Board::new(&view.world);
    let excess = within_firm(&board.tree, &view.world, *at).err()?;
    view_of(&view.world, &board.tree.accounts, *at, excess)
}

/// An exceeded limit or quota, with its numbers.
pub(super) fn view_of(
    world: &World,
    accounts: &[Account],
    job: JobAt,
    excess: Excess,
) -> Option<WaitReason> {
    let (queue, resource, is_quota) = match excess {
        Excess::Limit(queue, resource) => (queue, resource, false),
        Excess::Quota(queue, resource) => (queue, resource, true),
    };
    let (terms, account) = (&world.queues.terms[queue.0], &accounts[queue.0]);
    let (bound, used) =
        if is_quota { (terms.firm, account.firm) } else { (terms.limit, account.allocated) };
    let tasks = &world.jobs[job.0].tasks;
    let asked =
        tasks.iter().fold(Amount::default(), |sum, task| sum.plus(&asks(&world.tasks[task.0])));
    let shown = |amount: &Amount| {
        let of = amount.of(resource);
        let of = if resource == Resource::Cpu { of / 1000 } else { of };
        u64::try_from(of).unwrap_or_default()
    };
    let what = match resource {
        Resource::Cpu => What::Cpus,
        Resource::Memory => What::Memory,
        Resource::Gpu => What::Gpus,
    };
    let bound_kind = QuotaBound::AtMost { owed: shown(&terms.quota) };
    let counted = Counted {
        what,
        gpu_kind: None,
        limit: shown(&bound),
        used: shown(&used),
        asked: shown(&asked),
    };
    Some(WaitReason::QuotaExceeded {
        queue: QueueName::new(&terms.name).ok()?,
        bound: bound_kind,
        counted,
    })
}

fn asks(task: &Task) -> Amount {
    let gpu_milli = match &task.gpus {
        GpuAsk::Whole(gpus) => i64::from(*gpus) * 1000,
        GpuAsk::Part { milli, devices } => milli * i64::from(*devices),
        GpuAsk::None | GpuAsk::Memory { .. } | GpuAsk::Slices(_) => 0,
    };
    Amount { cpu_milli: task.cpu_milli, memory_bytes: task.memory_bytes, gpu_milli }
}
