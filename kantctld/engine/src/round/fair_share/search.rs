//! The search for victims that make room for one gang: candidates are taken in order, on trial,
//! until it fits; then those that prove unnecessary are dropped.
//!
//! Source: Kueue and KAI Scheduler: candidates in order until the job fits, then backwards. Ours:
//! before a placement is tried, enough nodes must hold a part of the job.

use super::candidates::Candidate;
use super::holding::{Holding, held_by};
use super::moves::may_move;
use super::wanted::{Sought, Wanted};
use crate::model::cluster::NodeIndex;
use crate::model::job::RunningJob;
use crate::model::shares::tree::QueueAt;
use crate::model::shares::{Amount, held};
use crate::place::fit::near::fences;
use crate::place::placing::Placed;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::unit::Nodes;
use std::collections::BTreeMap;

/// The most trial placements for one gang until there is room, and then to drop victims.
const TRIALS_MAX_EACH: u32 = 250;

/// At most this many victims are dropped one by one.
const ONE_BY_ONE_MAX: usize = 64;

/// The nodes of each job that gets a place: the parts of the gang, then the jobs that move.
pub(super) type Places = Vec<Vec<NodeIndex>>;

pub(super) struct Search<'s, 'a> {
    pub state: &'s mut RoundState<'a>,
    parts: Vec<Sought<'a>>,
    /// The nodes that the gang avoids, in the order in which this is tried.
    fences: Vec<Vec<bool>>,
    /// Whether each victim must have another place.
    moves: bool,
    /// How many victims may get another place.
    moves_max: u32,
    /// Whether the gang is within all bounds without these victims. `None`: it is anyway.
    bounds: Option<Bounds<'s, 'a>>,
    trials_left: u32,
}

type IsWithin<'s, 'a> = Box<dyn Fn(&[Candidate<'a>]) -> bool + 's>;

/// Bounds of queues that the gang exceeds unless others make room.
pub(super) struct Bounds<'s, 'a> {
    /// Whether these victims are enough.
    pub is_within: IsWithin<'s, 'a>,
    /// Whether what this queue loses counts for a bound that is exceeded.
    pub is_counted: Box<dyn Fn(QueueAt) -> bool + 's>,
}

/// Victims that make room, and the places that are free then.
pub(super) type Found<'a> = (Vec<Candidate<'a>>, Places);

impl<'s, 'a> Search<'s, 'a> {
    pub fn new(state: &'s mut RoundState<'a>, wanted: Wanted<'a>) -> Self {
        let fences = fences(&state.snapshot.cluster, wanted.near).collect();
        Self {
            state,
            parts: wanted.parts,
            fences,
            moves: false,
            moves_max: 0,
            bounds: None,
            trials_left: TRIALS_MAX_EACH,
        }
    }

    /// A search where each victim must have another place.
    pub fn of_moves(state: &'s mut RoundState<'a>, wanted: Wanted<'a>) -> Self {
        Self { moves: true, ..Self::new(state, wanted) }
    }

    /// The same, where victims move if there is room for them, up to a number.
    pub fn with_moves(self, moves_max: u32) -> Self {
        Self { moves_max, ..self }
    }

    /// The same, where the victims must also be enough for these bounds.
    pub fn within(self, bounds: Bounds<'s, 'a>) -> Self {
        Self { bounds: Some(bounds), ..self }
    }

    /// The fewest victims that make room, of the first candidates that do. `None`: there are none,
    /// or none are needed.
    pub fn find_fewest_victims(
        &mut self,
        next: impl FnMut(&RoundState<'a>) -> Option<Candidate<'a>>,
    ) -> Option<Found<'a>> {
        let taken = self.first_sufficient(next).filter(|taken| !taken.is_empty());
        let mut victims = merged(taken?);
        self.trials_left = TRIALS_MAX_EACH;
        self.drop_unneeded_victims(&mut victims);
        self.let_shrinking_keep_more(&mut victims);
        if !self.moves {
            self.place_again(&mut victims);
        }
        let one_of_each = u32::try_from(self.fences.len()).unwrap_or(u32::MAX);
        self.trials_left = self.trials_left.max(one_of_each);
        let places = self.places_without(&victims)?;
        Some((victims, places))
    }

    /// The first candidates that make enough room once they are gone. `None`: none do.
    fn first_sufficient(
        &mut self,
        mut next: impl FnMut(&RoundState<'a>) -> Option<Candidate<'a>>,
    ) -> Option<Vec<Candidate<'a>>> {
        let checkpoint = self.state.trial.checkpoint();
        self.state.release_all();
        let mut taken: Vec<Candidate<'a>> = Vec::new();
        let mut holding = Holding::of(self.state, &self.parts);
        let mut is_enough = false;
        let mut has_changed = true;
        let mut is_within = self.bounds.is_none();
        let mut may_be_within = false;
        while self.trials_left > 0 {
            if may_be_within && !is_within && self.are_enough(&merged(taken.clone())) {
                (is_within, has_changed) = (true, true);
            }
            let may = is_within && has_changed && holding.could_hold_all();
            if may && self.places(&taken).is_some() {
                is_enough = true;
                break;
            }
            let Some(mut victim) = next(&*self.state) else { break };
            if self.moves {
                victim.again = self.as_waiting_mover(&victim);
                if victim.again.is_none() {
                    continue;
                }
            }
            has_changed = false;
            for at in &victim.nodes {
                let before = held_by(self.state, &self.parts, *at);
                self.state.trial.give_back(*at, victim.job.key);
                has_changed |= holding.change(&before, &held_by(self.state, &self.parts, *at));
            }
            may_be_within = self.bounds.as_ref().is_some_and(|of| (of.is_counted)(victim.queue));
            taken.push(victim);
        }
        self.state.trial.roll_back(checkpoint);
        is_enough.then_some(taken)
    }

    /// How a job that moves will wait.
    fn as_waiting_mover(&mut self, victim: &Candidate<'a>) -> Option<Sought<'a>> {
        let job = self.state.snapshot.may_move(victim.job, self.state.now)?;
        let queue = self.state.queues.get(&job.queue)?;
        let shape = self.state.shape_for(queue, job);
        Some((job, self.state.shapes.get(shape).with_fewest_tasks().into_owned()))
    }

    /// The places in the present trial, for the parts of the gang and for those victims that move.
    pub fn places(&mut self, victims: &[Candidate<'a>]) -> Option<Places> {
        let fences = std::mem::take(&mut self.fences);
        let found = fences.iter().find_map(|fence| self.find_places_outside(fence, victims));
        self.fences = fences;
        found
    }

    /// The same, where the gang avoids the nodes behind the fence.
    fn find_places_outside(&mut self, fence: &[bool], victims: &[Candidate<'a>]) -> Option<Places> {
        self.trials_left = self.trials_left.checked_sub(1)?;
        let checkpoint = self.state.trial.checkpoint();
        let own = self.parts.iter().map(|part| (part, None));
        let again = victims.iter().filter_map(|one| Some((one.again.as_ref()?, Some(&**one.job))));
        let mut places = Places::new();
        let mut is_whole = true;
        for ((job, shape), has) in own.chain(again) {
            let found = self.state.find_place(job, shape, if has.is_none() { fence } else { &[] });
            // A job that moves gets as much as it has now, on no more nodes.
            let cluster = &self.state.snapshot.cluster;
            let is_enough = |placed: &Placed| {
                let gets = placed.shares.iter().map(|share| held(cluster, [share]));
                let gets = gets.fold(Amount::default(), |sum, one| sum.plus(&one));
                has.is_none_or(|job: &RunningJob| {
                    let has = job.allocation.shares();
                    placed.shares.len() <= has.len() && held(cluster, has).is_within(&gets)
                })
            };
            let Some((layout, placed)) = found.filter(|(_, placed)| is_enough(placed)) else {
                is_whole = false;
                break;
            };
            places.push(layout.iter().map(|(at, _)| *at).collect());
            self.state.hold(job, &placed);
        }
        self.state.trial.roll_back(checkpoint);
        is_whole.then_some(places)
    }

    /// Whether these victims are enough for the bounds of the gang's queue.
    fn are_enough(&self, victims: &[Candidate<'a>]) -> bool {
        self.bounds.as_ref().is_none_or(|bounds| (bounds.is_within)(victims))
    }

    /// The places once these victims and all that leave anyway are gone.
    pub fn places_without(&mut self, victims: &[Candidate<'a>]) -> Option<Places> {
        if !self.are_enough(victims) {
            return None;
        }
        let checkpoint = self.state.trial.checkpoint();
        self.state.release_all();
        for victim in victims {
            for at in &victim.nodes {
                self.state.trial.give_back(*at, victim.job.key);
            }
        }
        let found = self.places(victims);
        self.state.trial.roll_back(checkpoint);
        found
    }

    /// Drops each victim that proves unnecessary, from the back; of many, whole bundles first.
    fn drop_unneeded_victims(&mut self, victims: &mut Vec<Candidate<'a>>) {
        let Some(there) = self.places_without(victims) else { return };
        let there: Vec<NodeIndex> = there.into_iter().take(self.parts.len()).flatten().collect();
        let is_there = |one: &&Candidate<'a>| one.nodes.iter().any(|at| there.contains(at));
        let few: Vec<Candidate<'a>> = victims.iter().filter(is_there).cloned().collect();
        if few.len() < victims.len() && self.places_without(&few).is_some() {
            *victims = few;
        }
        let mut bundle = victims.len().div_ceil(ONE_BY_ONE_MAX).max(1);
        loop {
            let mut end = victims.len();
            while end > 0 {
                let from = end.saturating_sub(bundle);
                let rest = [&victims[..from], &victims[end..]].concat();
                if self.places_without(&rest).is_some() {
                    *victims = rest;
                }
                end = from;
            }
            if bundle == 1 {
                return;
            }
            bundle = bundle.div_ceil(2);
        }
    }

    /// Gives victims other places where there is room, first those that were taken last.
    fn place_again(&mut self, victims: &mut [Candidate<'a>]) {
        let mut left = self.moves_max;
        for at in (0..victims.len()).rev() {
            if left == 0 || victims[at].keeps.is_some() || !may_move(self.state, victims[at].job) {
                continue;
            }
            victims[at].again = self.as_waiting_mover(&victims[at]);
            if victims[at].again.is_some() && self.places_without(victims).is_some() {
                left -= 1;
            } else {
                victims[at].again = None;
            }
        }
    }

    /// Lets each job that shrinks keep as many nodes as the others leave it.
    fn let_shrinking_keep_more(&mut self, victims: &mut Vec<Candidate<'a>>) {
        for at in (0..victims.len()).rev() {
            while let Some(keeps) = victims[at].keeps {
                let mut more = victims.clone();
                let one = &mut more[at];
                // Its nodes stand in the order in which it gives them up.
                if one.nodes.len() < 2 || one.nodes.pop().is_none() {
                    break;
                }
                one.keeps = Some(Nodes(keeps.0 + 1));
                if self.places_without(&more).is_none() {
                    break;
                }
                *victims = more;
            }
        }
    }
}

/// One victim for each job, with the fewest nodes that it keeps, in the order in which they were
/// first taken.
fn merged(taken: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let mut victims: Vec<Candidate<'_>> = Vec::new();
    let mut places: BTreeMap<JobKey, usize> = BTreeMap::new();
    for one in taken {
        match places.get(&one.job.key) {
            Some(place) => {
                let known = &mut victims[*place];
                known.keeps = one.keeps;
                known.nodes.extend(one.nodes);
            }
            None => {
                places.insert(one.job.key, victims.len());
                victims.push(one);
            }
        }
    }
    victims
}
