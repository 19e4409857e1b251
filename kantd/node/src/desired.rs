//! What the controller wants of this node, put together from its updates. A word counts only as
//! long as the connection it came on: on a new one nothing is done until everything was said
//! again. Never compares it with what runs; `reconcile` does.

use common::id::AttemptId;
use common::time::Span;
use common::wire::node::{DesiredStep, DesiredUpdate, LaunchOrder, Resized, Want};
use std::collections::BTreeMap;

/// One attempt that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What should become of it.
    pub want: Want,
    /// Of one that runs: it stands still.
    pub suspended: bool,
    /// Its time limit; `None`: as its order has it.
    pub time_limit: Option<Span>,
    /// What it has since it was given another size.
    pub resized: Option<Box<Resized>>,
    /// How to launch it; `None` if the controller believes that the node holds it.
    pub order: Option<Box<LaunchOrder>>,
}

/// Everything the controller wants, once it has said so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Desired {
    in_force: bool,
    steps: BTreeMap<AttemptId, Wanted>,
}

/// An update that makes no sense where it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DesiredError {
    /// A change came on a connection on which the whole was never said.
    #[error("failed to apply a change of what to run: the whole was not sent on this connection")]
    ChangeBeforeWhole,
}

impl Desired {
    /// Nothing was said yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { in_force: false, steps: BTreeMap::new() }
    }

    /// The connection is gone or a new one begins: what was said is no longer in force. The
    /// controller may have given the node up meanwhile and started its jobs elsewhere.
    pub fn suspend(&mut self) {
        self.in_force = false;
    }

    /// Has the controller said, on this connection, everything it wants?
    #[must_use]
    pub const fn is_in_force(&self) -> bool {
        self.in_force
    }

    /// Takes an update in. An order once received stays valid while its attempt is wanted, so a
    /// repeated want may leave it out. An order for another attempt than its step counts as none.
    ///
    /// # Errors
    /// [`DesiredError::ChangeBeforeWhole`]; nothing changed then.
    pub fn apply(&mut self, update: DesiredUpdate) -> Result<(), DesiredError> {
        let mut earlier = BTreeMap::new();
        if update.full {
            earlier = std::mem::take(&mut self.steps);
            self.in_force = true;
        } else if self.in_force {
            update.gone.iter().for_each(|id| drop(self.steps.remove(id)));
        } else {
            return Err(DesiredError::ChangeBeforeWhole);
        }
        for DesiredStep { id, want, suspended, time_limit, resized, order } in update.steps {
            let known = earlier.remove(&id).or_else(|| self.steps.remove(&id));
            let order = order.filter(|order| order.id == id).or(known.and_then(|k| k.order));
            self.steps.insert(id, Wanted { want, suspended, time_limit, resized, order });
        }
        Ok(())
    }

    /// What is wanted of an attempt; `None` if it is not wanted.
    #[must_use]
    pub fn wanted(&self, id: AttemptId) -> Option<&Wanted> {
        self.steps.get(&id)
    }

    /// Every wanted attempt, by id.
    pub fn iter(&self) -> impl Iterator<Item = (AttemptId, &Wanted)> {
        self.steps.iter().map(|(id, wanted)| (*id, wanted))
    }
}
