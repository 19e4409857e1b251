//! The shapes that a round meets: jobs of one queue that ask for the same share one. Never says
//! what a shape is; `shape` does.

use crate::features::Featured;
use crate::floor::Floor;
use crate::score::yardstick::Yardsticks;
use crate::shape::Shape;
use crate::snapshot::WaitingJob;
use common::id::{QueueName, ReservationName};
use common::policy::Policy;
use common::queue::Queue;
use common::resource::Request;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a shape is in [`Shapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShapeIndex(usize);

/// What tells shapes apart: queue, request, whether it is a service, and the booking it runs in.
type Asks<'a> = (&'a QueueName, &'a Request, bool, Option<&'a ReservationName>);

/// The shapes met in a round.
#[derive(Debug, Default)]
pub(crate) struct Shapes<'a> {
    shapes: Vec<Shape<'a>>,
    typical: Arc<Yardsticks>,
    featured: Featured<'a>,
    by_request: BTreeMap<Asks<'a>, ShapeIndex>,
}

impl<'a> Shapes<'a> {
    /// None yet. `typical` is what FGD measures fragmentation against.
    pub fn new(typical: Arc<Yardsticks>) -> Self {
        Self { typical, ..Self::default() }
    }

    /// What FGD measures fragmentation against.
    pub fn typical(&self) -> Arc<Yardsticks> {
        self.typical.clone()
    }

    /// The shape of a job of this queue.
    pub fn of(
        &mut self,
        floor: &'a Floor,
        policy: &Policy,
        queue: &'a Queue,
        job: &'a WaitingJob,
    ) -> ShapeIndex {
        let request: &'a Request = &job.request;
        let asks = (&job.queue, request, job.service, job.reservation.as_ref());
        if let Some(known) = self.by_request.get(&asks) {
            return *known;
        }
        let featured = request.constraint.as_ref().map(|asked| self.featured.of(floor, asked));
        let typical = self.typical.clone();
        self.shapes.push(Shape::made(
            floor,
            policy,
            queue,
            (request, job.service),
            typical,
            featured,
        ));
        let index = ShapeIndex(self.shapes.len() - 1);
        self.by_request.insert(asks, index);
        index
    }

    pub fn get(&self, index: ShapeIndex) -> &Shape<'a> {
        &self.shapes[index.0]
    }

    pub fn get_mut(&mut self, index: ShapeIndex) -> &mut Shape<'a> {
        &mut self.shapes[index.0]
    }

    pub fn forget(&mut self) {
        self.shapes.iter_mut().for_each(Shape::forget);
    }
}
