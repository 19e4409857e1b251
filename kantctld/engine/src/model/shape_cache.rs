//! The shapes met in a round. Jobs of one queue that ask for the same share one.

use crate::model::cluster::ClusterIndex;
use crate::model::features::Featured;
use crate::model::job::WaitingJob;
use crate::model::shape::{Shape, has_zones};
use crate::model::yardstick::Yardsticks;
use common::id::{QueueName, ReservationName, ZoneName};
use common::policy::queue::Queue;
use common::policy::{Placement, Policy, ZoneOverflow};
use common::resource::Request;
use common::unit::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The index of a shape in [`ShapeCache`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShapeIndex(usize);

/// What distinguishes shapes: queue, request, whether it is a service, and the reservation. Queues
/// are compared by their place in the policy, which is faster than by name.
type Asks<'a> = (*const Queue, &'a Request, bool, Option<&'a ReservationName>);

/// Shapes that need the same room: either jobs of each of them have a place, or none has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoomIndex(usize);

/// What distinguishes rooms: the same as for shapes, but only those properties of the queue that
/// affect where its jobs are placed.
type Room<'a> = (Looks<'a>, &'a Request, bool, Option<&'a ReservationName>);

/// The queue, if it names nodes; its placement, zone, and memory per CPU.
type Looks<'a> = (Option<&'a QueueName>, Placement, Option<&'a ZoneName>, ZoneOverflow, Bytes);

/// The shapes met in a round.
#[derive(Debug, Default)]
pub(crate) struct ShapeCache<'a> {
    shapes: Vec<Shape<'a>>,
    typical: Arc<Yardsticks>,
    featured: Featured<'a>,
    by_request: BTreeMap<Asks<'a>, ShapeIndex>,
    rooms: BTreeMap<Room<'a>, RoomIndex>,
    room_of: Vec<RoomIndex>,
    has_zones: Option<bool>,
}

impl<'a> ShapeCache<'a> {
    /// No shapes yet. `typical` is what FGD measures fragmentation against.
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
        cluster: &'a ClusterIndex,
        policy: &Policy,
        queue: &'a Queue,
        job: &'a WaitingJob,
    ) -> ShapeIndex {
        let request: &'a Request = &job.request;
        let place = std::ptr::from_ref(queue);
        let asks = (place, request, job.service, job.reservation.as_ref());
        if let Some(known) = self.by_request.get(&asks) {
            return *known;
        }
        let featured = request.constraint.as_ref().map(|asked| self.featured.of(cluster, asked));
        let typical = self.typical.clone();
        self.shapes.push(Shape::made(
            cluster,
            *self.has_zones.get_or_insert_with(|| has_zones(policy)),
            queue,
            request,
            job.service,
            typical,
            featured,
        ));
        let index = ShapeIndex(self.shapes.len() - 1);
        self.by_request.insert(asks, index);
        let named = (!queue.nodes.is_empty()).then_some(&queue.name);
        let (placement, zone) = (queue.placement, queue.zone.as_ref());
        let looks = (named, placement, zone, queue.zone_overflow, queue.memory_per_cpu);
        let next = RoomIndex(self.rooms.len());
        let room = (looks, request, job.service, job.reservation.as_ref());
        self.room_of.push(*self.rooms.entry(room).or_insert(next));
        index
    }

    pub fn room_of(&self, index: ShapeIndex) -> RoomIndex {
        self.room_of[index.0]
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
