//! What is kept for preemptors until their victims are gone. `preempt` chooses the victims.
//!
//! Source: ours. Slurm and Kubernetes nominate nodes, too; if a nomination binds no other job,
//! small jobs take what is freed first, and more and more victims are needed.
//!
//! The room is kept from the decision on: other jobs may use what remains around it, but not what
//! is freed in it. The preemptor starts as soon as it fits on its nodes, before any other job has
//! its turn. If all victims are gone and it does not fit, the room is no longer kept.

use super::leaving::Victim;
use super::reserve::bookings;
use super::start::Obstacle;
use super::{NoRoom, RoundState};
use crate::model::cluster::NodeIndex;
use crate::model::cluster::node::NEVER;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::PlannedStart;
use crate::model::usage_accounting::Claim;
use crate::model::victim_index::PriorityKey;
use crate::place::fit::gang::{Layout, lay_out};
use crate::place::placing::{Placed, with_chosen_devices};
use crate::round::preempt::victims::Chosen;
use crate::round::preempt::{Asker, choose, may_preempt};
use crate::round::waits::Waits;
use common::id::JobKey;
use common::policy::queue::Queue;
use common::reason::WaitReason;
use common::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A job that waits for its victims to be gone.
#[derive(Debug, Clone)]
pub(crate) struct Awaiting {
    pub(super) shape: ShapeIndex,
    pub(super) nodes: Vec<NodeIndex>,
    /// What it will hold; already in the usage accounting.
    pub(super) claim: Claim,
    pub(super) ends_by: Option<Time>,
}

/// The numbers of decisions and of jobs that wait for victims.
pub(crate) type Version = (usize, usize);

impl<'a> RoundState<'a> {
    /// Changes whenever what is held or will be held changes, except for rooms on trial.
    pub fn version(&self) -> Version {
        (self.decisions.len(), self.awaiting.len())
    }

    /// Keeps the rooms of preemptors, and starts those that fit by now.
    pub(super) fn keep_rooms(&mut self) {
        let snapshot = self.snapshot;
        for (key, by) in snapshot.ending.iter().chain(&snapshot.giving_up) {
            if let Some(by) = by {
                self.yielders.entry(*by).or_insert((0, *key)).0 += 1;
            }
        }
        let firm = self.rooms_kept();
        if firm.is_empty() {
            return;
        }
        let checkpoint = self.trial.checkpoint();
        self.release_all();
        let kept: Vec<_> = firm.into_iter().filter_map(|(key, at)| self.room_of(key, at)).collect();
        self.trial.roll_back(checkpoint);
        self.start_or_await_each(kept);
    }

    /// The room that is kept for a job, if it still fits once the victims are gone.
    fn room_of(
        &mut self,
        key: JobKey,
        planned_start: PlannedStart,
    ) -> Option<(&'a Arc<WaitingJob>, Awaiting)> {
        let snapshot = self.snapshot;
        let may_start = || snapshot.waiting_job(key).filter(|_| snapshot.class_of(key).is_some());
        let job = self.restarting_job(key).or_else(may_start)?;
        let queue = self.queues.get(&job.queue)?;
        let nodes = planned_start.nodes.iter().map(|name| snapshot.cluster.find(name));
        let nodes = nodes.collect::<Option<Vec<NodeIndex>>>()?;
        let index = self.shapes.for_job(&snapshot.cluster, &snapshot.policy, queue, job);
        let shape = self.shapes.get(index).with_fewest_tasks().into_owned();
        let fence = self.fence(&nodes);
        let (layout, placed) = shape.sides().into_iter().find_map(|side| {
            let search = self.node_search_of(job, &shape, side, &fence);
            let layout = lay_out(&search)?;
            Some((layout.clone(), with_chosen_devices(&search, layout)))
        })?;
        let shares = placed.shares_on();
        let claim =
            crate::model::claims::of_start(job, shares, self.trial.cluster, &mut self.accounting);
        self.book_from_now(job, &shape, layout);
        self.set_booked_gpus(key, &placed);
        if snapshot.waiting_job(key).is_some() {
            self.planned_starts.insert(key, planned_start);
        }
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        Some((job, Awaiting { shape: index, nodes, claim, ends_by }))
    }

    pub(super) fn fence(&self, nodes: &[NodeIndex]) -> Vec<bool> {
        let mut fence = vec![true; self.trial.cluster.len()];
        nodes.iter().for_each(|at| fence[at.at()] = false);
        fence
    }

    pub(super) fn book_from_now(&mut self, job: &WaitingJob, shape: &Shape<'a>, layout: Layout) {
        let Some(side) = shape.sides().first().copied() else { return };
        let booked = bookings(&self.node_search_of(job, shape, side, &[]), job, self.now, layout);
        booked.into_iter().for_each(|(at, booking)| self.bookings.add(at, booking));
    }

    /// Notes which GPUs are kept for a job.
    pub(super) fn set_booked_gpus(&mut self, key: JobKey, placed: &Placed) {
        for (at, share) in placed.nodes.iter().zip(&*placed.shares) {
            let class = &self.trial.cluster.node(*at).class;
            let positions = share.gpus.iter().filter_map(|gpu| class.position(*gpu));
            let gpus = positions.fold(0, |gpus: u128, at| gpus | 1 << at);
            self.bookings.set_booked_gpus(*at, key, gpus);
        }
    }

    pub(super) fn start_or_await(&mut self, job: &'a Arc<WaitingJob>, awaiting: Awaiting) {
        if self.snapshot.running_job(job.key).is_some() {
            // The job is moved there, and has not left its old place yet.
            return self.keep_room_waiting(job.key, awaiting);
        }
        let fence = self.fence(&awaiting.nodes);
        // With fair sharing, it gets only what room was made for: more may belong to another queue.
        let most = job.request.tasks_min.filter(|_| self.snapshot.policy.fair_sharing);
        let started = match self.admit(job, awaiting.shape) {
            Ok(_) => self.try_start_with(job, awaiting.shape, &fence, most),
            Err(_) => Err(Obstacle::NoRoom),
        };
        if started.is_ok() {
            return;
        }
        if self.yielders.contains_key(&job.key) || self.some_job_goes_from(&awaiting.nodes) {
            self.accounting.add(&awaiting.claim, awaiting.ends_by);
            self.count_kept(job);
            self.awaiting.insert(job.key, awaiting);
        } else {
            self.unbook(job.key);
            self.planned_starts.remove(&job.key);
        }
    }

    /// Removes a preemptor's future claim from the usage accounting, so that it does not block the
    /// job itself.
    pub(super) fn remove_own_claim(&mut self, key: JobKey) -> Option<Awaiting> {
        let awaiting = self.awaiting.remove(&key)?;
        self.accounting.remove(&awaiting.claim, awaiting.ends_by);
        Some(awaiting)
    }

    /// Restores it after the job's turn, unless it started or lost its promise.
    pub(super) fn restore_own_claim(&mut self, key: JobKey, awaiting: Awaiting) {
        if self.planned_starts.contains_key(&key) {
            self.accounting.add(&awaiting.claim, awaiting.ends_by);
            self.awaiting.insert(key, awaiting);
        }
    }

    /// Lets a job without room or quota preempt others. Returns whether room is kept for it now.
    pub(super) fn try_preempt(
        &mut self,
        queue: &'a Queue,
        no: NoRoom<'a>,
        lacks_quota: bool,
    ) -> bool {
        let job = no.job;
        if self.planned_starts.get(&job.key).is_some_and(|planned_start| planned_start.yielded) {
            return true;
        }
        if self.yielders.contains_key(&job.key) {
            return false;
        }
        let asker = Asker {
            job,
            queue,
            index: no.shape,
            shape: self.shapes.get(no.shape).with_fewest_tasks().into_owned(),
            priority_key: PriorityKey::new(
                &self.snapshot.policy,
                Some(queue),
                job.qos.as_ref(),
                job.nice,
            ),
            quota_status: no.quota_status,
            is_head: self.heads.get(&queue.name).is_some_and(|(head, _)| *head == job.key),
            lacks_quota,
        };
        if !may_preempt(self, &asker) {
            return false;
        }
        // The promises of jobs behind it do not block it.
        let own = self.unbook(job.key);
        let behind: Vec<JobKey> =
            self.unmet.iter().copied().filter(|key| *key != job.key).collect();
        let behind: Vec<_> =
            behind.into_iter().filter_map(|key| Some((key, self.unbook(key)?))).collect();
        let chosen = choose(self, &asker);
        let nodes: Vec<NodeIndex> =
            chosen.iter().flat_map(|chosen| &chosen.room.layout).map(|(at, _)| *at).collect();
        for (key, others) in behind {
            if others.nodes.iter().any(|at| nodes.contains(at)) {
                self.planned_starts.remove(&key);
                self.unmet.remove(&key);
            } else {
                self.book_again(key, others);
            }
        }
        match (chosen, own) {
            (Some(chosen), _) => self.make_yield(&asker, chosen),
            (None, Some(own)) => {
                self.book_again(job.key, own);
                return false;
            }
            (None, None) => return false,
        }
        true
    }

    fn make_yield(&mut self, asker: &Asker<'a>, chosen: Chosen<'a>) {
        let (job, room) = (asker.job, chosen.room);
        for one in &chosen.victims {
            let victim = Victim { job: one.job, reason: one.reason, keeps: one.keeps };
            self.preempt_victim(&victim, job.key);
        }
        self.keep_room(job, asker.index, &asker.shape, room.layout, room.claim);
    }

    /// Keeps a place for a job until its victims there are gone.
    pub(super) fn keep_room(
        &mut self,
        job: &WaitingJob,
        shape: ShapeIndex,
        of: &Shape<'a>,
        layout: Layout,
        claim: Claim,
    ) {
        let cluster = self.trial.cluster;
        let nodes: Vec<NodeIndex> = layout.iter().map(|(at, _)| *at).collect();
        let names = nodes.iter().map(|at| cluster.node(*at).name.clone()).collect();
        self.planned_starts.insert(
            job.key,
            PlannedStart { yielded: true, ..PlannedStart::without_preemption(self.now, names) },
        );
        self.unmet.remove(&job.key);
        self.book_from_now(job, of, layout);
        self.update_shadows(&nodes, NEVER);
        let ends_by = job.time_limit.map(|limit| self.now + limit);
        self.accounting.add(&claim, ends_by);
        self.count_kept(job);
        self.awaiting.insert(job.key, Awaiting { shape, nodes, claim, ends_by });
    }

    /// With fair sharing, room is kept for no more tasks of an array than may run at once.
    /// Otherwise each task has its turn in every round, where the array's limit is checked.
    fn count_kept(&mut self, job: &WaitingJob) {
        if self.snapshot.policy.fair_sharing {
            self.arrays.count_start(job);
        }
    }

    /// Sets the reason of jobs that wait for victims, whatever else keeps them waiting.
    pub(super) fn tell_awaiting(&self, waits: &mut Waits) {
        let started: BTreeSet<JobKey> = self
            .decisions
            .iter()
            .filter_map(|decision| match decision {
                Decision::Start { key, .. } => Some(*key),
                Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
            })
            .collect();
        for (key, (victims, example)) in &self.yielders {
            if self.snapshot.class_of(*key).is_some() && !started.contains(key) {
                let (victims, example) = (*victims, *example);
                let reason = WaitReason::Preempting { victims, example };
                let components = self.snapshot.wait_queue.components_with(*key).map(|one| one.key);
                components.for_each(|one| waits.set_reason(one, reason.clone()));
                waits.set_reason(*key, reason);
            }
        }
    }
}
