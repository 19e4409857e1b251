//! The steps that the controller wants on this node, assembled from its updates. They are valid
//! only on the connection that brought them: on a new one nothing is done before a full update.

use common::id::AttemptId;
use common::time::Span;
use common::wire::node::{DesiredStep, DesiredUpdate, LaunchOrder, Resized, Want};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub want: Want,
    /// If it runs: whether it is suspended.
    pub suspended: bool,
    /// `None` if the limit of its launch order applies.
    pub time_limit: Option<Span>,
    /// The latest resize.
    pub resized: Option<Box<Resized>>,
    /// `None` if the controller believes that the node has the attempt.
    pub order: Option<Box<LaunchOrder>>,
}

/// Everything that the controller wants, once it has sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Desired {
    in_force: bool,
    steps: BTreeMap<AttemptId, Wanted>,
}

/// An update that is invalid at this point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DesiredError {
    /// A change on a connection without a full update.
    #[error("failed to apply a change of what to run: no full update was sent on this connection")]
    ChangeBeforeWhole,
}

impl Desired {
    /// An empty state before the first update.
    #[must_use]
    pub const fn new() -> Self {
        Self { in_force: false, steps: BTreeMap::new() }
    }

    /// Invalidates the state when the connection ends or a new one begins: the controller may have
    /// given the node up and started its jobs elsewhere.
    pub fn invalidate(&mut self) {
        self.in_force = false;
    }

    /// Whether the controller has sent a full update on this connection.
    #[must_use]
    pub const fn is_in_force(&self) -> bool {
        self.in_force
    }

    /// Applies an update. A launch order stays valid while its attempt is wanted, so that a
    /// repeated update may leave it out. An order for another attempt is ignored.
    ///
    /// # Errors
    /// [`DesiredError::ChangeBeforeWhole`]; the state is then unchanged.
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

    /// The entry of a wanted attempt.
    #[must_use]
    pub fn wanted(&self, id: AttemptId) -> Option<&Wanted> {
        self.steps.get(&id)
    }

    /// Every wanted attempt, by id.
    pub fn iter(&self) -> impl Iterator<Item = (AttemptId, &Wanted)> {
        self.steps.iter().map(|(id, wanted)| (*id, wanted))
    }
}
