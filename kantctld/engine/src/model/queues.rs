//! The queues of a policy by name, indexed once for each policy and not in each round.

use common::id::QueueName;
use common::policy::Policy;
use common::policy::queue::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Each queue's index in its policy.
pub(crate) type Places = Arc<BTreeMap<QueueName, usize>>;

/// If several queues have the same name, the last one counts.
pub(crate) fn places(policy: &Policy) -> Places {
    let queues = policy.queues.iter().enumerate();
    Arc::new(queues.map(|(at, queue)| (queue.name.clone(), at)).collect())
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Queues<'a> {
    places: &'a BTreeMap<QueueName, usize>,
    all: &'a [Queue],
}

impl<'a> Queues<'a> {
    pub fn new(policy: &'a Policy, places: &'a Places) -> Self {
        Self { places, all: &policy.queues }
    }

    pub fn get(&self, name: &QueueName) -> Option<&'a Queue> {
        self.places.get(name).and_then(|at| self.all.get(*at))
    }

    pub const fn len(&self) -> usize {
        self.all.len()
    }
}
