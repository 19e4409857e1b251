//! The shapes met in a round. Jobs that ask for the same share one, also jobs of several queues if
//! these place jobs in the same way.

use crate::model::cluster::ClusterIndex;
use crate::model::features::Featured;
use crate::model::job::WaitingJob;
use crate::model::shape::{Shape, has_zones};
use crate::model::wait_queue::KindId;
use crate::model::yardstick::Yardsticks;
use common::id::{QueueName, ReservationName, ZoneName};
use common::policy::queue::Queue;
use common::policy::{Placement, Policy, ZoneOverflow};
use common::resource::Request;
use common::time::{Span, Time};
use common::unit::Bytes;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The index in [`ShapeCache`] of jobs of one queue that ask for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShapeIndex(usize);

/// What distinguishes jobs of one index: queue, request, whether it is a service, and the
/// reservation. Queues are compared by their place in the policy, which is faster than by name.
type Asks<'a> = (*const Queue, Asked<'a>, bool, Option<&'a ReservationName>);

/// A request. Most jobs that ask for the same share one, which needs no comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked<'a>(&'a Request);

impl Ord for Asked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if std::ptr::eq(self.0, other.0) { Ordering::Equal } else { self.0.cmp(other.0) }
    }
}

impl PartialOrd for Asked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shapes that need the same room: either jobs of each of them have a place, or none has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoomIndex(usize);

/// What distinguishes rooms: the same as for shapes, but only those properties of the queue that
/// affect where its jobs are placed.
type Room<'a> = (Looks<'a>, Asked<'a>, bool, Option<&'a ReservationName>);

/// The queue, if it names nodes; its placement, zone, and memory per CPU.
type Looks<'a> = (Option<&'a QueueName>, Placement, Option<&'a ZoneName>, ZoneOverflow, Bytes);

/// The shapes met in a round.
#[derive(Debug, Default)]
pub(crate) struct ShapeCache<'a> {
    /// The shape of each room.
    shapes: Vec<Shape<'a>>,
    typical: Arc<Yardsticks>,
    featured: Featured<'a>,
    by_request: BTreeMap<Asks<'a>, ShapeIndex>,
    /// The same by kinds of jobs, which are faster to compare.
    by_kind: BTreeMap<KindId, ShapeIndex>,
    rooms: BTreeMap<Room<'a>, RoomIndex>,
    room_of: Vec<RoomIndex>,
    /// The earliest end of a job of each index that did not fit. What is free for them only shrinks
    /// in a round, and a later end has no more of it, so no job of the index that ends then or
    /// later fits either.
    no_fit_from: Vec<Option<Time>>,
    has_zones: Option<bool>,
}

impl<'a> ShapeCache<'a> {
    /// No shapes yet. `typical` is what FGD measures fragmentation against.
    pub fn new(typical: Arc<Yardsticks>) -> Self {
        Self { typical, ..Self::default() }
    }

    /// What FGD measures fragmentation against.
    pub fn yardsticks(&self) -> Arc<Yardsticks> {
        self.typical.clone()
    }

    /// The shape of a job of this queue and kind.
    pub fn of_kind(
        &mut self,
        kind: KindId,
        cluster: &'a ClusterIndex,
        policy: &Policy,
        (queue, job): (&'a Queue, &'a WaitingJob),
    ) -> ShapeIndex {
        if let Some(known) = self.by_kind.get(&kind) {
            return *known;
        }
        let shape = self.for_job(cluster, policy, queue, job);
        self.by_kind.insert(kind, shape);
        shape
    }

    /// The shape of a job of this queue.
    pub fn for_job(
        &mut self,
        cluster: &'a ClusterIndex,
        policy: &Policy,
        queue: &'a Queue,
        job: &'a WaitingJob,
    ) -> ShapeIndex {
        let request: &'a Request = &job.request;
        let place = std::ptr::from_ref(queue);
        let asks = (place, Asked(request), job.service, job.reservation.as_ref());
        let new = match self.by_request.entry(asks) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(new) => new,
        };
        let named = (!queue.nodes.is_empty()).then_some(&queue.name);
        let (placement, zone) = (queue.placement, queue.zone.as_ref());
        let looks = (named, placement, zone, queue.zone_overflow, queue.memory_per_cpu);
        let next = RoomIndex(self.shapes.len());
        let room = (looks, Asked(request), job.service, job.reservation.as_ref());
        let room = *self.rooms.entry(room).or_insert(next);
        if room == next {
            let featured = request
                .constraint
                .as_ref()
                .map(|asked| self.featured.nodes_satisfying(cluster, asked));
            self.shapes.push(Shape::with_feature_nodes(
                cluster,
                *self.has_zones.get_or_insert_with(|| has_zones(policy)),
                queue,
                request,
                job.service,
                self.typical.clone(),
                featured,
            ));
        }
        let index = ShapeIndex(self.room_of.len());
        self.room_of.push(room);
        self.no_fit_from.push(None);
        *new.insert(index)
    }

    pub fn room_of(&self, index: ShapeIndex) -> RoomIndex {
        self.room_of[index.0]
    }

    pub fn get(&self, index: ShapeIndex) -> &Shape<'a> {
        &self.shapes[self.room_of(index).0]
    }

    /// Whether a job of this index that ends then is known not to fit.
    pub fn cannot_fit(&self, index: ShapeIndex, ends: Time) -> bool {
        self.no_fit_from(index).is_some_and(|from| ends >= from)
    }

    /// The end from which on no job of this index fits. `None`: none is known.
    pub fn no_fit_from(&self, index: ShapeIndex) -> Option<Time> {
        self.no_fit_from[index.0]
    }

    /// The time limit below which jobs may still fit. `None`: none is known.
    pub fn fits_below(&self, index: ShapeIndex, now: Time) -> Option<Span> {
        self.no_fit_from(index).map(|from| from.since(now))
    }

    /// Notes that a job of this index that ends then did not fit.
    pub fn note_no_fit(&mut self, index: ShapeIndex, ends: Time) {
        let known = &mut self.no_fit_from[index.0];
        *known = Some(known.map_or(ends, |from| from.min(ends)));
    }

    /// Forgets what did not fit, since something was freed.
    pub fn forget(&mut self) {
        self.no_fit_from.fill(None);
    }
}
