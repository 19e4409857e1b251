//! The pass that places jobs: where there is room now, or where others are leaving. An elastic job
//! gets its minimum first, and then one task at a time as its queue has its turns.
//!
//! Source: KAI Scheduler, allocate: a gang is placed as a whole or not at all; one that fits only
//! where others are leaving waits for them, and its place is kept.
//! Reads: what is free, limits, quotas. Knobs: none.
//!
//! Example, two nodes of 8 GPUs; queues a and b are equal. Job 1 of a asks for 1 to 16 tasks with
//! a GPU each, job 2 of b for 6 GPUs: both start, job 1 with 10 tasks.

use super::accounts::ClassFacts;
use super::gang::Gang;
use super::line::{Line, Turn};
use super::queue_jobs::Standing;
use super::round::FairRound;
use super::search::Search;
use crate::model::shape_cache::{RoomIndex, ShapeIndex};
use crate::policy::admit::Refused;
use crate::policy::sharing::bounds::{Excess, within_bounds};
use common::id::JobKey;
use common::job::PreemptReason;
use common::reason::WaitReason;
use common::time::Time;
use common::unit::Tasks;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a class of waiting jobs of which none starts now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lacking<'a> {
    pub turn: Turn<'a>,
    pub shape: ShapeIndex,
    /// The bound that keeps it from starting. `None`: it lacks room.
    pub excess: Option<Excess>,
    /// Whether no further job of it was tried.
    pub is_dropped: bool,
}

impl<'a> Lacking<'a> {
    const fn new(turn: Turn<'a>, shape: ShapeIndex, excess: Option<Excess>) -> Self {
        Self { turn, shape, excess, is_dropped: false }
    }
}

/// Why a gang does not start.
enum Lack {
    Room,
    /// The reason of the job is noted.
    Reported,
    /// A reason that holds for all jobs of the class.
    Class(WaitReason),
}

/// What the pass notes while it goes on.
#[derive(Default)]
pub(super) struct Placing {
    /// The tasks above the minimum that jobs have got in this round.
    more: BTreeMap<JobKey, u32>,
    /// NodeUsages that have no place even where others are leaving, for jobs that end then or
    /// later.
    none_leaving: BTreeMap<RoomIndex, Time>,
    /// Components of several queues, by the first of each set.
    apart: BTreeSet<JobKey>,
    together: BTreeSet<JobKey>,
}

impl<'a> FairRound<'a> {
    /// Gives all jobs in line their turns.
    pub fn place_all(&mut self, line: &mut Line<'a>) {
        let mut placing = Placing::default();
        loop {
            if line.has_no_room() && !self.state.is_any_leaving() {
                line.allow_any_order();
            }
            let Some(turn) = line.pop(&self.accounts) else { break };
            match turn.standing {
                Standing::Waits => self.place_first(line, &mut placing, &turn),
                Standing::AtLeast | Standing::Above => {
                    self.place_more(line, &mut placing, &turn);
                }
            }
        }
        for first in std::mem::take(&mut placing.apart) {
            self.state.start_components(first, true);
        }
    }

    fn place_first(&mut self, line: &mut Line<'a>, placing: &mut Placing, turn: &Turn<'a>) {
        let job = turn.job;
        if !self.state.room_kept_for(job.key).is_empty() {
            let shape = self.state.queues.get(&job.queue);
            let shape = shape.map(|queue| self.state.shape_for(queue, job));
            return shape.into_iter().for_each(|shape| self.state.note_no_room(job, shape));
        }
        let is_first = job.together.is_none_or(|first| placing.together.insert(first));
        if self.state.waits.is_decided(job.key) || !is_first {
            return;
        }
        let Some(gang) = Gang::of_turn(&mut self.state, &mut self.accounts, turn) else {
            placing.apart.extend(job.together);
            return;
        };
        let shape = gang.parts[0].1;
        let tree = &self.accounts.tree;
        if let Err(excess) = within_bounds(tree, turn.queue, &gang.asks, gang.is_preemptible) {
            return self.note_lacking(line, &gang, Lacking::new(*turn, shape, Some(excess)));
        }
        let started = if self.passes.place { self.start(&gang, turn) } else { Err(Lack::Room) };
        match started {
            Ok(()) => {}
            Err(Lack::Reported) => return,
            Err(Lack::Class(reason)) => {
                self.state.waits.set_class_reason(turn.class, reason);
                return line.drop_class(&self.accounts, turn);
            }
            Err(Lack::Room)
                if self.passes.place && self.reserve_awaiting_others(placing, &gang) =>
            {
                self.extra.entry(turn.queue).or_default().push(gang.asks);
            }
            Err(Lack::Room) => {
                let room = self.state.shapes.room_of(shape);
                if self.state.is_room_full(room) {
                    line.mark_room_full(room);
                }
                return self.note_lacking(line, &gang, Lacking::new(*turn, shape, None));
            }
        }
        self.accounts.tree.charge(turn.queue, &gang.asks, !gang.is_preemptible, true);
        line.rerank_queue(&self.accounts, turn.queue);
        for (part, _) in gang.parts.iter().copied() {
            // More tasks could be too far from the other components.
            let may_grow = part.request.tasks_min.is_some() && gang.near.is_none();
            if may_grow && self.state.has_started(part.key) {
                let Some(class) = self.state.snapshot.class_of(part.key) else { continue };
                let Some(at) = self.accounts.find_class(class) else { continue };
                let turn = Turn { job: part, at, ..*turn };
                line.insert_growing(&self.accounts, turn, Standing::AtLeast);
            }
        }
    }

    /// Starts a gang with its fewest tasks.
    fn start(&mut self, gang: &Gang<'a>, turn: &Turn<'a>) -> Result<(), Lack> {
        let job = turn.job;
        if let Some(first) = job.together {
            if gang.near.is_none() {
                self.state.start_components(first, true);
            } else {
                gang.parts.iter().for_each(|(job, shape)| self.state.note_no_room(job, *shape));
            }
            let is_started = self.state.has_started(job.key) || self.start_at(first, gang);
            return if is_started { Ok(()) } else { Err(Lack::Room) };
        }
        let shape = gang.parts[0].1;
        match self.state.may_start_at_all(job, shape) {
            Ok(()) => {}
            Err(Refused::Job(reason)) => {
                self.state.note_refusal(job.key, reason);
                return Err(Lack::Reported);
            }
            Err(Refused::Class(reason)) => return Err(Lack::Class(reason)),
        }
        match self.state.start_anywhere(job, shape, job.request.tasks_min) {
            Ok(()) => Ok(()),
            Err(None) => Err(Lack::Room),
            Err(Some(reason)) => {
                self.state.note_refusal(job.key, reason);
                Err(Lack::Reported)
            }
        }
    }

    /// Starts all components where they have places if the largest is placed first.
    fn start_at(&mut self, first: JobKey, gang: &Gang<'a>) -> bool {
        if !self.may_start_at_all(gang) {
            return false;
        }
        let keys: Vec<JobKey> = gang.parts.iter().map(|(job, _)| job.key).collect();
        let wanted = self.wanted(gang);
        let places =
            self.state.without_own_bookings(&keys, |state| Search::new(state, wanted).places(&[]));
        places.is_some_and(|node_indices| {
            self.state.start_all_there(first, &gang.at(&node_indices), gang.near)
        })
    }

    /// Notes a job that does not start, for all of its class that could not start either.
    fn note_lacking(&mut self, line: &mut Line<'a>, gang: &Gang<'a>, lacking: Lacking<'a>) {
        let Lacking { turn, shape, excess, .. } = lacking;
        let lacking = self.lacking[turn.at.0].get_or_insert(lacking);
        if turn.job.together.is_some() {
            // Without room, each component has its reason already.
            let reason =
                excess.and_then(|excess| self.accounts.reason_for_excess(excess, &gang.asks));
            for (job, _) in gang.parts.iter() {
                reason.iter().for_each(|one| self.state.note_refusal(job.key, one.clone()));
            }
            return;
        }
        let limit = if line.has_single_job(turn.class) {
            turn.job.time_limit
        } else {
            let class = self.state.snapshot.wait_queue.class(turn.class);
            class.map(crate::model::wait_queue::Class::limit_min)
        };
        let ends = self.state.ends_by(limit.filter(|limit| *limit < crate::model::job::UNLIMITED));
        if excess.is_some() || self.state.shapes.cannot_fit(shape, ends) {
            lacking.is_dropped = true;
            line.drop_class(&self.accounts, &turn);
        } else {
            self.state.note_no_room(turn.job, shape);
        }
    }

    /// Keeps places for a gang where others are leaving. Returns whether there are any.
    fn reserve_awaiting_others(&mut self, placing: &mut Placing, gang: &Gang<'a>) -> bool {
        if !self.state.is_any_leaving() {
            return false;
        }
        let (job, shape) = gang.parts[0];
        let room = self.state.shapes.room_of(shape);
        let ends = self.state.ends_by(job.time_limit);
        let is_known = placing.none_leaving.get(&room).is_some_and(|from| ends >= *from);
        if is_known && gang.parts.len() == 1 {
            return false;
        }
        let keys: Vec<JobKey> = gang.parts.iter().map(|(job, _)| job.key).collect();
        let wanted = self.wanted(gang);
        let places = self
            .state
            .without_own_bookings(&keys, |state| Search::new(state, wanted).places_without(&[]));
        let why = PreemptReason::Reclaim;
        if places.is_some_and(|node_indices| self.keep_rooms(gang, (&[], &node_indices), why)) {
            gang.parts.iter().for_each(|(job, shape)| self.state.note_no_room(job, *shape));
            return true;
        }
        if gang.parts.len() == 1 {
            placing.none_leaving.insert(room, ends);
        }
        false
    }

    /// Gives a job that has started one more task, if there is room and no bound is exceeded.
    fn place_more(&mut self, line: &mut Line<'a>, placing: &mut Placing, turn: &Turn<'a>) {
        let job = turn.job;
        let ClassFacts { shape, asks, is_preemptible: may_yield, .. } =
            *self.accounts.facts(turn.at);
        let has = placing.more.get(&job.key).copied().unwrap_or(0);
        let least = job.request.tasks_min.unwrap_or(job.request.tasks);
        let tasks = Tasks(least.0.saturating_add(has + 1));
        let more = asks.with_more(has + 1).minus(&asks.with_more(has));
        let bounded = within_bounds(&self.accounts.tree, turn.queue, &more, may_yield);
        let may = tasks <= job.request.tasks && bounded.is_ok();
        if !may || !self.state.extend_start(job, shape, tasks) {
            return;
        }
        placing.more.insert(job.key, has + 1);
        self.accounts.tree.charge(turn.queue, &more, !may_yield, true);
        self.extra.entry(turn.queue).or_default().push(more);
        line.rerank_queue(&self.accounts, turn.queue);
        line.insert_growing(&self.accounts, *turn, Standing::Above);
    }
}
