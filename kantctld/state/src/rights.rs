//! Whether a user has a right to a job, as the job is now: its owner, its account, and its queue
//! with the queues above it.

use crate::command::Actor;
use crate::job::Record;
use crate::state::State;
use common::id::QueueName;
use common::job::Ask;
use common::right::{Right, Role, Roles};
use std::collections::BTreeSet;

impl State {
    /// Whether the user has the right to this job.
    #[must_use]
    pub fn may(&self, actor: &Actor, record: &Record, right: Right) -> bool {
        self.role_for(actor, record, right).is_some()
    }

    /// The first role that gives the user the right to this job.
    #[must_use]
    pub fn role_for(&self, actor: &Actor, record: &Record, right: Right) -> Option<Role> {
        let spec = &record.spec;
        let is_theirs = |role: &Role| match role {
            Role::Owner => spec.owner.uid == actor.uid,
            Role::Coordinator => self.coordinates(&actor.roles, &spec.ask),
            general => actor.is(*general),
        };
        Role::ALL.into_iter().filter(|role| right.is_of(*role)).find(is_theirs)
    }

    /// Whether a coordinator manages jobs with this account and queue.
    #[must_use]
    pub fn coordinates(&self, roles: &Roles, ask: &Ask) -> bool {
        let is_account = ask.account.as_ref().is_some_and(|name| roles.accounts.contains(name));
        let is_queue = || {
            let Some(queue) = ask.queue.as_ref().filter(|_| !roles.queues.is_empty()) else {
                return false;
            };
            self.with_queues_above(queue).any(|name| roles.queues.contains(name))
        };
        is_account || is_queue()
    }

    /// The queues whose jobs a coordinator manages: the named ones and those below them.
    #[must_use]
    pub fn coordinated_queues(&self, roles: &Roles) -> BTreeSet<QueueName> {
        let names = self.queues().iter().map(|queue| &queue.name);
        let is_one = |name: &&QueueName| {
            self.with_queues_above(name).any(|above| roles.queues.contains(above))
        };
        names.filter(is_one).cloned().collect()
    }

    /// A queue and the queues above it, the lowest first.
    fn with_queues_above<'a>(
        &'a self,
        queue: &'a QueueName,
    ) -> impl Iterator<Item = &'a QueueName> {
        // The tree has no circle; the bound holds for any settings.
        let depth_max = self.queues().len() + 1;
        let parent = |name: &&'a QueueName| self.queue(name)?.parent.as_ref();
        std::iter::successors(Some(queue), parent).take(depth_max)
    }
}
