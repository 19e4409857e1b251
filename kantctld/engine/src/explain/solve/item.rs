//! The least that the parts of a job take on any node. They really take at least this, so what does
//! not fit by these amounts does not fit.

use crate::model::demand::{Demand, Part};
use crate::model::shape::Shape;
use common::unit::{Bytes, Tasks};

/// Thousandths of GPUs, thousandths of wholly free GPUs, CPUs, bytes.
pub(super) const GPU_MILLI: usize = 0;
pub(super) const WHOLE_GPUS: usize = 1;
pub(super) const CPUS: usize = 2;
pub(super) const MEMORY: usize = 3;

/// The amount of each.
pub(super) type Amounts = [i64; 4];

/// What jobs of one shape ask for, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    pub each: Vec<Amounts>,
    /// The most parts on one node.
    pub per_node: u32,
    /// Whether each part has its node to itself.
    pub whole_node: bool,
}

impl Parts {
    pub fn of(shape: &Shape<'_>) -> Self {
        let shape = shape.with_fewest_tasks();
        let demand = &shape.demand;
        let request = demand.request;
        let whole_node = request.exclusive;
        if let Some(nodes) = shape.node_count() {
            let parts = demand.even_parts(nodes).into_iter().map(|part| least(demand, part));
            let mut each: Vec<Amounts> = parts.collect();
            each.sort_unstable_by(|a, b| b.cmp(a));
            return Self { each, per_node: 1, whole_node };
        }
        // Tasks on one node share what is asked for by the node, so only the first is counted with
        // it.
        let one = least(demand, demand.part(Tasks(1)));
        let two = least(demand, demand.part(Tasks(2)));
        let more = std::array::from_fn(|of| (two[of] - one[of]).clamp(0, one[of]));
        let tasks = demand.tasks.0.max(1) as usize;
        let each = std::iter::once(one).chain(std::iter::repeat_n(more, tasks - 1)).collect();
        // Tasks of the same job share whole nodes.
        let per_node = request.tasks_per_node.map_or(u32::MAX, |most| most.0.max(1));
        Self { each, per_node, whole_node: whole_node && tasks == 1 }
    }
}

fn least(demand: &Demand<'_>, part: Part) -> Amounts {
    let amounts = demand.amounts_of(part, Bytes::ZERO);
    let (milli, whole) = match demand.parts {
        Some(parts) => (i64::from(parts.least.times(parts.devices.0).0), 0),
        None => (i64::from(part.gpus.0) * 1000, i64::from(part.gpus.0) * 1000),
    };
    let cpus = i64::from(amounts.cpus.0.max(1));
    [milli, whole, cpus, i64::try_from(amounts.memory.0).unwrap_or(i64::MAX / 4)]
}
