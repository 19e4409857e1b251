//! Queues as users see them: their settings, and what their jobs and those of the queues below them
//! hold. What a quota leaves free is computed by the engine.

use common::gpu::GpuKind;
use common::id::{GpuIndex, NodeName, QueueName};
use common::job::Phase;
use common::policy::queue::Queue;
use common::unit::{Cpus, GpuMilli};
use common::wire::api::{QueueHeld, QueueList};
use state::State;
use state::job::Run;
use std::collections::BTreeMap;

/// All queues, the highest priority first, with what they hold.
#[must_use]
pub fn queue_list(state: &State) -> QueueList {
    let mut queues = state.queues().to_vec();
    queues.sort_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.name.cmp(&b.name)));
    QueueList { queues, held: queue_held(state) }
}

/// What the jobs of each queue, and of those below it, hold.
pub(super) fn queue_held(state: &State) -> BTreeMap<QueueName, QueueHeld> {
    let mut own: BTreeMap<&QueueName, QueueHeld> = BTreeMap::new();
    for key in state.live() {
        let Some((record, element)) = state.element(key) else { continue };
        let Some(queue) = &record.spec.ask.queue else { continue };
        let held = own.entry(queue).or_default();
        match (element.phase, &element.run) {
            (Phase::Pending, _) => held.waiting += 1,
            (_, Some(run)) => {
                held.running += 1;
                add_run(state, held, run);
            }
            (_, None) => {}
        }
    }
    let mut sums: BTreeMap<QueueName, QueueHeld> = BTreeMap::new();
    for queue in state.queues().iter().filter(|queue| state.is_retired(&queue.name)) {
        sums.entry(queue.name.clone()).or_default().closing = true;
    }
    for (queue, held) in own {
        for above in with_queues_above(state, queue) {
            add(sums.entry(above.name.clone()).or_default(), &held);
        }
    }
    sums
}

/// A queue and all its ancestors. The settings have no cycles; the bound ends the walk if one slips
/// in.
pub(super) fn with_queues_above<'a>(
    state: &'a State,
    queue: &QueueName,
) -> impl Iterator<Item = &'a Queue> {
    let parent = |queue: &&'a Queue| queue.parent.as_ref().and_then(|name| state.queue(name));
    std::iter::successors(state.queue(queue), parent).take(state.queues().len())
}

fn add_run(state: &State, held: &mut QueueHeld, run: &Run) {
    let shares = run.allocation.shares().iter().zip(&run.shares);
    for (share, _) in shares.filter(|(_, phase)| !phase.is_over()) {
        held.cpus += Cpus(share.cpus.len());
        held.memory += share.memory;
        let part = share.gpu_milli.unwrap_or(GpuMilli::WHOLE);
        for gpu in &share.gpus {
            if let Some(kind) = kind(state, &share.node, *gpu) {
                *held.gpus_milli.entry(kind).or_default() += part;
            }
        }
    }
}

/// The kind of a GPU; `None` if the GPU no longer exists.
fn kind(state: &State, node: &NodeName, gpu: GpuIndex) -> Option<GpuKind> {
    let inventory = &state.node(node)?.inventory;
    inventory.gpus.iter().find(|there| there.index == gpu).map(|there| there.kind.clone())
}

fn add(sum: &mut QueueHeld, more: &QueueHeld) {
    sum.running += more.running;
    sum.waiting += more.waiting;
    sum.cpus += more.cpus;
    sum.memory += more.memory;
    for (kind, milli) in &more.gpus_milli {
        *sum.gpus_milli.entry(kind.clone()).or_default() += *milli;
    }
}
