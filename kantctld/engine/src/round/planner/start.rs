//! Starts one job: where it looks for a place, and with how many tasks.

use super::RoundState;
use crate::model::cluster::NodeIndex;
use crate::model::job::WaitingJob;
use crate::model::shape::Placing;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::wait_queue::KindId;
use crate::place::node_search::NodeSearch;
use crate::place::node_search::bookings::Bookings;
use crate::place::placing::place;
use common::id::JobKey;
use common::reason::WaitReason;
use common::unit::Tasks;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// Why a job that may start did not.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// Too little is free.
    NoRoom,
    /// Enough is free, but kept for the given job or (`None`) for a reservation or several jobs.
    Kept(Option<JobKey>),
    /// A quota or a limit refuses what it would get on these nodes.
    Refused(Box<WaitReason>, Vec<NodeIndex>),
    /// A job with a promised start would not be admitted then.
    Claimed(JobKey),
}

/// What limits a search, and what it notes.
#[derive(Default)]
struct Limits<'f> {
    /// Nodes to avoid, by position. Empty: none.
    fence: &'f [bool],
    /// The most tasks of an elastic job.
    most: Option<Tasks>,
    /// The only nodes with room.
    among: Option<Arc<[NodeIndex]>>,
    /// The kind for which later rounds need to know the nodes with room.
    kind: Option<KindId>,
}

impl<'a> RoundState<'a> {
    /// Starts a job of this kind with all of its shares, or not at all. Notes for later rounds on
    /// which nodes it has room.
    pub(super) fn try_start(
        &mut self,
        kind: KindId,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
    ) -> Result<(), Obstacle> {
        self.try_limited(job, shape, Limits { kind: Some(kind), ..Limits::default() })
    }

    /// Starts a job for which only these nodes have room, or not at all.
    pub(super) fn try_start_among(
        &mut self,
        nodes: Arc<[NodeIndex]>,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
    ) -> Result<(), Obstacle> {
        self.try_limited(job, shape, Limits { among: Some(nodes), ..Limits::default() })
    }

    /// Starts the job off the nodes behind the fence; an elastic job gets at most `most` tasks.
    pub(super) fn try_start_with(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: ShapeIndex,
        fence: &[bool],
        most: Option<Tasks>,
    ) -> Result<(), Obstacle> {
        self.try_limited(job, shape, Limits { fence, most, ..Limits::default() })
    }

    fn try_limited(
        &mut self,
        job: &'a Arc<WaitingJob>,
        index: ShapeIndex,
        limits: Limits<'_>,
    ) -> Result<(), Obstacle> {
        let own = self.unbook(job.key);
        let mut shape = self.shapes.get(index).clone();
        if let Some(most) = limits.most.filter(|_| job.request.tasks_min.is_some()) {
            shape.demand = shape.demand.with_tasks(most.min(shape.demand.tasks));
        }
        shape.among = limits.among;
        let mut found = self.try_sides(job, &shape, limits.fence, true);
        if let (Err(_), Some(least)) = (&found, job.request.tasks_min) {
            found = self.try_fewer(job, &shape, least, limits.fence);
            shape.demand = shape.demand.with_tasks(Tasks(least.0.max(1)));
        }
        let lacks_room = matches!(found, Err(Obstacle::NoRoom));
        if matches!(found, Err(Obstacle::NoRoom | Obstacle::Kept(_))) {
            let known = limits.kind.and_then(|kind| self.has_open_room(kind, job, index));
            if lacks_room && known.unwrap_or_else(|| self.has_room_unbooked(job, &shape)) {
                found = Err(Obstacle::Kept(None));
            }
        }
        if found.is_err()
            && let Some(own) = own
        {
            self.book_again(job.key, own);
        }
        found
    }

    /// Whether a search finds room without what is kept for others.
    fn has_room_unbooked(&self, job: &WaitingJob, shape: &Shape<'a>) -> bool {
        let nothing = Bookings::default();
        !self.bookings.is_empty()
            && shape.sides().into_iter().any(|side| {
                let search = self.node_search_of(job, shape, side, &[]);
                let search = NodeSearch { bookings: &nothing, reservation: None, ..search };
                crate::place::fit::gang::lay_out(&search).is_some()
            })
    }

    /// Starts an elastic job with as many tasks as have room and are within quotas and limits, but
    /// at least its minimum.
    fn try_fewer(
        &mut self,
        job: &'a Arc<WaitingJob>,
        whole: &Shape<'a>,
        least: Tasks,
        fence: &[bool],
    ) -> Result<(), Obstacle> {
        let with = |tasks: u32| {
            let mut shape = whole.clone();
            shape.demand = shape.demand.with_tasks(Tasks(tasks));
            shape
        };
        self.priced.remove(&job.key);
        let (mut fits, mut too_many) = (least.0.max(1), whole.demand.tasks.0);
        self.try_sides(job, &with(fits), fence, false)?;
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if self.try_sides(job, &with(middle), fence, false).is_ok() {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        self.priced.remove(&job.key);
        self.try_sides(job, &with(fits), fence, true)
    }

    /// Tries the sides of the zones. Without `for_real`, only checks whether the job would start.
    /// If a quota on one kind of GPU refuses what the job would get,
    /// other kinds are tried.
    pub(super) fn try_sides(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: &Shape<'a>,
        fence: &[bool],
        for_real: bool,
    ) -> Result<(), Obstacle> {
        let mut obstacle = Obstacle::NoRoom;
        for side in shape.sides() {
            let mut fence = Cow::Borrowed(fence);
            loop {
                let found = match self.try_side(job, shape, side, &fence, for_real) {
                    Ok(()) => return Ok(()),
                    Err(found) => found,
                };
                let other_kinds = self.off_refused_kinds(job, &fence, &found);
                let is_last = matches!(found, Obstacle::Refused(..) | Obstacle::Claimed(_))
                    && other_kinds.is_none();
                let is_first = !matches!(obstacle, Obstacle::Refused(..));
                if is_first && !matches!(found, Obstacle::NoRoom) {
                    obstacle = found;
                }
                match other_kinds {
                    Some(other_kinds) => fence = Cow::Owned(other_kinds),
                    None if is_last => return Err(obstacle),
                    None => break,
                }
            }
        }
        Err(obstacle)
    }

    /// On one side of the zones, off the nodes behind the fence.
    fn try_side(
        &mut self,
        job: &'a Arc<WaitingJob>,
        shape: &Shape<'a>,
        side: Placing,
        fence: &[bool],
        for_real: bool,
    ) -> Result<(), Obstacle> {
        let placed =
            place(&self.node_search_of(job, shape, side, fence)).ok_or(Obstacle::NoRoom)?;
        let Some(hurt) = self.check_and_commit(job, placed, for_real)? else { return Ok(()) };
        // Elsewhere it might hurt no shadow: avoid the nodes that the hurt shadows count on.
        let mut avoid = self.counted_on(&hurt);
        if !fence.is_empty() {
            let avoid = Rc::make_mut(&mut avoid);
            avoid.iter_mut().zip(fence).for_each(|(avoid, fence)| *avoid |= *fence);
        }
        if let Some(placed) = place(&self.node_search_of(job, shape, side, &avoid))
            && self.check_and_commit(job, placed, for_real)?.is_none()
        {
            return Ok(());
        }
        Err(Obstacle::Kept(hurt.first().map(|which| self.shadows[*which].1.key)))
    }

    /// The fence, extended by all nodes with GPUs of the kind that a quota just refused. `None`: no
    /// kind was refused, or the job asks for that kind only.
    fn off_refused_kinds(
        &self,
        job: &WaitingJob,
        fence: &[bool],
        found: &Obstacle,
    ) -> Option<Vec<bool>> {
        let Obstacle::Refused(reason, nodes) = found else { return None };
        let WaitReason::QuotaExceeded { counted, .. } = &**reason else { return None };
        let request = &job.request;
        let is_open = request.gpu_kind.is_none() || !request.gpu_kinds_or.is_empty();
        counted.gpu_kind.as_ref().filter(|_| is_open)?;
        let cluster = self.trial.cluster;
        let kinds = |at: NodeIndex| {
            let all = cluster.node(at).class.kinds().iter().map(|(kind, _)| kind);
            all.filter(|kind| request.accepts(kind))
        };
        let refused: BTreeSet<_> = nodes.iter().flat_map(|at| kinds(*at)).collect();
        let is_off = |at: NodeIndex| {
            fence.get(at.at()).copied().unwrap_or(false)
                || kinds(at).any(|kind| refused.contains(kind))
        };
        Some(cluster.nodes().map(|(at, _)| is_off(at)).collect())
    }
}
