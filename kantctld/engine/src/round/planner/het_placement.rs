//! Places for all components of a set, or for none: starts on the nodes that a plan names, and
//! rooms that are kept until victims are gone. The caller chooses the victims.
//!
//! Example. Jobs 1 and 2 have 8 GPUs each on nodes a and b. The components of job 3 ask for 8 and
//! 4: both jobs are stopped, and a and b are kept. Job 1 is gone first: nothing starts. Job 2 is
//! gone: both components start.

use super::RoundState;
use super::leaving::Victim;
use super::moving::Mover;
use super::preempting::Awaiting;
use crate::model::cluster::NodeIndex;
use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use crate::model::shape_cache::ShapeIndex;
use crate::model::usage_accounting::Claim;
use crate::place::fit::gang::Layout;
use crate::place::node_search::bookings::Bookings;
use crate::place::placing::Placed;
use common::id::JobKey;
use common::job::PreemptReason;
use common::topology::Nearness;
use common::unit::Tasks;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A component, its nodes, and the most tasks it gets.
#[derive(Debug)]
pub(crate) struct Component<'a> {
    pub job: &'a Arc<WaitingJob>,
    pub shape: ShapeIndex,
    pub nodes: Vec<NodeIndex>,
    pub most: Option<Tasks>,
}

/// A component with a room: its shape with the fewest tasks, its layout, its claim, and what it
/// would get.
type Found<'a> = (Shape<'a>, Layout, Claim, Placed);

impl<'a> RoundState<'a> {
    /// Starts all components on their nodes, or on others if requirements other than room exclude
    /// those; or starts none. Returns whether they start.
    pub(crate) fn start_all_there(
        &mut self,
        first: JobKey,
        places: &[Component<'a>],
        near: Option<Nearness>,
    ) -> bool {
        self.drop_later_promises(first);
        let fences: Vec<(Vec<bool>, Option<Tasks>)> =
            places.iter().map(|one| (self.fence(&one.nodes), one.most)).collect();
        let anywhere: Vec<(Vec<bool>, Option<Tasks>)> =
            places.iter().map(|one| (Vec::new(), one.most)).collect();
        let components: Vec<&'a Arc<WaitingJob>> = places.iter().map(|one| one.job).collect();
        // Other nodes may be further apart.
        let may_go_elsewhere = near.is_none_or(|near| !near.required);
        self.start_all(&components, &fences).is_ok()
            || may_go_elsewhere && self.start_all(&components, &anywhere).is_ok()
    }

    /// Preempts the victims, moves the movers, whose new places are kept for them, and keeps room
    /// for all components. None of it happens if a component or mover would have no room then, or
    /// would not be admitted. Returns whether it happens.
    pub(crate) fn preempt_for_all(
        &mut self,
        places: &[Component<'a>],
        victims: &[Victim<'a>],
        movers: &[Mover<'a>],
    ) -> bool {
        let Some(first) = places.first().map(|one| one.job.key) else { return false };
        let again: Option<Vec<Component<'a>>> =
            movers.iter().map(|mover| self.component_of_mover(mover)).collect();
        let Some(again) = again else { return false };
        let own: Vec<_> = places
            .iter()
            .filter_map(|one| Some((one.job.key, self.unbook(one.job.key)?)))
            .collect();
        let goes = |(job, _): &Mover<'a>| Victim { job, reason: PreemptReason::Move, keeps: None };
        let gone: Vec<Victim<'a>> =
            victims.iter().copied().chain(movers.iter().map(goes)).collect();
        let asked: Vec<&Component<'a>> = places.iter().chain(&again).collect();
        let all: BTreeSet<NodeIndex> = asked.iter().flat_map(|one| &one.nodes).copied().collect();
        let checkpoint = self.trial.checkpoint();
        let booked: Bookings = self.bookings.clone();
        self.release_nodes(&all.into_iter().collect::<Vec<_>>(), &gone);
        let found: Option<Vec<Found<'a>>> =
            asked.iter().map(|one| self.find_and_book(one)).collect();
        self.trial.roll_back(checkpoint);
        self.bookings = booked;
        let Some(mut found) = found.filter(|found| self.all_admitted(&asked, found, &gone)) else {
            own.into_iter().for_each(|(key, own)| self.book_again(key, own));
            return false;
        };
        let found_again = found.split_off(places.len());
        victims.iter().for_each(|victim| self.preempt_victim(victim, first));
        for ((mover, _), (_, layout, ..)) in movers.iter().zip(&found_again) {
            self.decide_move(mover, layout, first);
        }
        for (one, (shape, layout, claim, placed)) in places.iter().zip(found) {
            self.keep_room(one.job, one.shape, &shape, layout, claim);
            self.set_booked_gpus(one.job.key, &placed);
        }
        for (one, (shape, layout, claim, placed)) in again.iter().zip(found_again) {
            self.keep_place(one.job, one.shape, &shape, layout, claim);
            self.set_booked_gpus(one.job.key, &placed);
        }
        true
    }

    /// A job that moves, as it will wait, with its new nodes. `None`: it may not be moved.
    fn component_of_mover(&mut self, (mover, nodes): &Mover<'a>) -> Option<Component<'a>> {
        let job = self.snapshot.may_move(mover, self.now)?;
        let queue = self.queues.get(&job.queue)?;
        let shape = self.shape_for(queue, job);
        Some(Component { job, shape, nodes: nodes.clone(), most: None })
    }

    /// Finds the room of a component on its nodes, next to the components before it. Its room is
    /// booked, so that the next component avoids it.
    fn find_and_book(&mut self, one: &Component<'a>) -> Option<Found<'a>> {
        let shape = self.shapes.get(one.shape).with_fewest_tasks().into_owned();
        let fence = self.fence(&one.nodes);
        let (layout, placed) = self.find_place(one.job, &shape, &fence)?;
        let shares = placed.shares_on();
        let claim = crate::model::claims::of_start(
            one.job,
            shares,
            self.trial.cluster,
            &mut self.accounting,
        );
        self.book_from_now(one.job, &shape, layout.clone());
        self.set_booked_gpus(one.job.key, &placed);
        Some((shape, layout, claim, placed))
    }

    /// Whether all components are within quotas and limits, together and without the victims.
    fn all_admitted(
        &self,
        places: &[&Component<'a>],
        found: &[Found<'a>],
        victims: &[Victim<'a>],
    ) -> bool {
        let mut accounting = self.accounting.clone();
        for victim in victims {
            if let Some(claim) = self.claim_given_up(victim) {
                accounting.remove(&claim, victim.job.ends_by);
            }
        }
        places.iter().zip(found).all(|(one, (_, _, claim, _))| {
            let limit = one.job.time_limit;
            let limits = accounting.check_limits(claim, limit, self.now);
            let may = limits.and_then(|()| accounting.admit(claim)).is_ok();
            accounting.add(claim, limit.map(|limit| self.now + limit));
            may
        })
    }

    /// Starts the jobs that fit by now in the rooms kept for them, and keeps the rooms of the
    /// others.
    pub(super) fn start_or_await_each(&mut self, kept: Vec<(&'a Arc<WaitingJob>, Awaiting)>) {
        let mut sets: BTreeMap<JobKey, Vec<(&'a Arc<WaitingJob>, Awaiting)>> = BTreeMap::new();
        for (job, awaiting) in kept {
            match job.together.filter(|_| self.snapshot.running_job(job.key).is_none()) {
                Some(first) => sets.entry(first).or_default().push((job, awaiting)),
                None => self.start_or_await(job, awaiting),
            }
        }
        for (first, kept) in sets {
            self.start_or_await_all(first, kept);
        }
    }

    fn start_or_await_all(&mut self, first: JobKey, kept: Vec<(&'a Arc<WaitingJob>, Awaiting)>) {
        let components: Vec<&'a Arc<WaitingJob>> = kept.iter().map(|(job, _)| *job).collect();
        let is_whole = self.snapshot.wait_queue.components_with(first).count() == components.len();
        let places: Vec<(Vec<bool>, Option<Tasks>)> = kept
            .iter()
            .map(|(job, awaiting)| (self.fence(&awaiting.nodes), job.request.tasks_min))
            .collect();
        if is_whole && self.start_all(&components, &places).is_ok() {
            return;
        }
        let others_go = |(job, awaiting): &(&Arc<WaitingJob>, Awaiting)| {
            self.yielders.contains_key(&job.key) || self.some_job_goes_from(&awaiting.nodes)
        };
        let awaits = is_whole && kept.iter().any(others_go);
        for (job, awaiting) in kept {
            if awaits {
                self.keep_room_waiting(job.key, awaiting);
            } else {
                self.unbook(job.key);
                self.planned_starts.remove(&job.key);
            }
        }
    }

    /// Whether anything on these nodes will be gone soon.
    pub(super) fn some_job_goes_from(&self, nodes: &[NodeIndex]) -> bool {
        let goes = |at: &NodeIndex| {
            self.trial.holders(*at).iter().any(|holder| self.goes_from(holder.key, *at))
        };
        nodes.iter().any(goes)
    }
}
