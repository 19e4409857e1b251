//! The search for victims that make room for one gang: candidates are taken in order, on trial,
//! until it fits; then those that prove unnecessary are dropped.
//!
//! Source: Kueue and KAI Scheduler: candidates in order until the job fits, then backwards. Ours:
//! before a placement is tried, enough nodes must hold a part of the job.

use super::asks::held;
use super::candidates::Candidate;
use crate::fair::Amount;
use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::shape::Shape;
use crate::place::placing::Placed;
use crate::round::planner::RoundState;
use common::id::JobKey;
use common::unit::Nodes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most trial placements for one gang until there is room, and then to drop victims.
const TRIALS_MAX_EACH: u32 = 250;

/// At most this many victims are dropped one by one.
const ONE_BY_ONE_MAX: usize = 64;

/// A job and its shape with the fewest tasks.
pub(super) type Sought<'a> = (&'a Arc<WaitingJob>, Shape<'a>);

/// The nodes of each job that gets a place: the parts of the gang, then the jobs that move.
pub(super) type Places = Vec<Vec<NodeIndex>>;

pub(super) struct Search<'s, 'a> {
    pub state: &'s mut RoundState<'a>,
    parts: Vec<Sought<'a>>,
    /// Whether each victim must have another place.
    moves: bool,
    trials_left: u32,
}

/// Victims that make room, and the places that are free then.
pub(super) type Found<'a> = (Vec<Candidate<'a>>, Places);

impl<'s, 'a> Search<'s, 'a> {
    pub const fn new(state: &'s mut RoundState<'a>, parts: Vec<Sought<'a>>) -> Self {
        Self { state, parts, moves: false, trials_left: TRIALS_MAX_EACH }
    }

    /// A search where each victim must have another place.
    pub const fn of_moves(state: &'s mut RoundState<'a>, parts: Vec<Sought<'a>>) -> Self {
        Self { state, parts, moves: true, trials_left: TRIALS_MAX_EACH }
    }

    /// The fewest victims that make room, of the first candidates that do. `None`: there are none,
    /// or none are needed.
    pub fn fewest(
        &mut self,
        next: impl FnMut(&RoundState<'a>) -> Option<Candidate<'a>>,
    ) -> Option<Found<'a>> {
        let taken = self.first_enough(next).filter(|taken| !taken.is_empty());
        let mut victims = merged(taken?);
        self.trials_left = TRIALS_MAX_EACH;
        self.leave_out(&mut victims);
        self.keep_more(&mut victims);
        self.trials_left = self.trials_left.max(1);
        let places = self.without(&victims)?;
        Some((victims, places))
    }

    /// The first candidates that make enough room once they are gone. `None`: none do.
    fn first_enough(
        &mut self,
        mut next: impl FnMut(&RoundState<'a>) -> Option<Candidate<'a>>,
    ) -> Option<Vec<Candidate<'a>>> {
        let checkpoint = self.state.trial.checkpoint();
        self.state.release_all();
        let mut taken: Vec<Candidate<'a>> = Vec::new();
        let mut holding = self.holding();
        let mut is_enough = false;
        let mut has_changed = true;
        while self.trials_left > 0 {
            if has_changed && holding.could_hold_all() && self.places(&taken).is_some() {
                is_enough = true;
                break;
            }
            let Some(mut victim) = next(&*self.state) else { break };
            if self.moves {
                victim.again = self.again(&victim);
                if victim.again.is_none() {
                    continue;
                }
            }
            has_changed = false;
            for at in &victim.nodes {
                let before = self.holds(*at);
                self.state.trial.give_back(*at, victim.job.key);
                has_changed |= holding.change(&before, &self.holds(*at));
            }
            taken.push(victim);
        }
        self.state.trial.roll_back(checkpoint);
        is_enough.then_some(taken)
    }

    /// How a job that moves will wait.
    fn again(&mut self, victim: &Candidate<'a>) -> Option<Sought<'a>> {
        let job = self.state.snapshot.may_move(victim.job, self.state.now)?;
        let queue = self.state.queues.get(&job.queue)?;
        let shape = self.state.shape_for(queue, job);
        Some((job, self.state.shapes.get(shape).fewest().into_owned()))
    }

    /// The smallest part of each job of the gang.
    fn smallest(part: &Sought<'a>) -> Part {
        let nodes = part.1.nodes().unwrap_or(Nodes(1));
        part.1.demand.even_part(nodes, nodes.0.saturating_sub(1))
    }

    fn holding(&self) -> Holding {
        let of = |part: &Sought<'a>| {
            let smallest = Self::smallest(part);
            let count = |side| {
                let search = self.state.node_search_of(part.0, &part.1, side, &[]);
                search.all_that_hold(smallest).count()
            };
            (part.1.nodes(), part.1.sides().into_iter().map(count).collect())
        };
        Holding(self.parts.iter().map(of).collect())
    }

    /// For each part of the gang and each side: whether this node holds the smallest part of it.
    fn holds(&self, at: NodeIndex) -> Vec<Vec<bool>> {
        let of = |part: &Sought<'a>| {
            let smallest = Self::smallest(part);
            let holds =
                |side| self.state.node_search_of(part.0, &part.1, side, &[]).holds(at, smallest);
            part.1.sides().into_iter().map(holds).collect()
        };
        self.parts.iter().map(of).collect()
    }

    /// The places in the present trial, for the parts of the gang and for those victims that move.
    pub fn places(&mut self, victims: &[Candidate<'a>]) -> Option<Places> {
        self.trials_left = self.trials_left.checked_sub(1)?;
        let checkpoint = self.state.trial.checkpoint();
        let own = self.parts.iter().map(|part| (part, None));
        let again = victims.iter().filter_map(|one| Some((one.again.as_ref()?, Some(&**one.job))));
        let mut places = Places::new();
        let mut is_whole = true;
        for ((job, shape), has) in own.chain(again) {
            let found = self.state.find(job, shape, &[]);
            // A job that moves gets as much as it has now.
            let cluster = &self.state.snapshot.cluster;
            let is_enough = |placed: &Placed| {
                let gets = placed.shares.iter().map(|share| held(cluster, [share]));
                let gets = gets.fold(Amount::default(), |sum, one| sum.plus(&one));
                has.is_none_or(|job: &RunningJob| {
                    held(cluster, job.allocation.shares()).is_within(&gets)
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

    /// The places once these victims and all that leave anyway are gone.
    pub fn without(&mut self, victims: &[Candidate<'a>]) -> Option<Places> {
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
    fn leave_out(&mut self, victims: &mut Vec<Candidate<'a>>) {
        let Some(there) = self.without(victims) else { return };
        let there: Vec<NodeIndex> = there.into_iter().take(self.parts.len()).flatten().collect();
        let is_there = |one: &&Candidate<'a>| one.nodes.iter().any(|at| there.contains(at));
        let few: Vec<Candidate<'a>> = victims.iter().filter(is_there).cloned().collect();
        if few.len() < victims.len() && self.without(&few).is_some() {
            *victims = few;
        }
        let mut bundle = victims.len().div_ceil(ONE_BY_ONE_MAX).max(1);
        loop {
            let mut end = victims.len();
            while end > 0 {
                let from = end.saturating_sub(bundle);
                let rest = [&victims[..from], &victims[end..]].concat();
                if self.without(&rest).is_some() {
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

    /// Lets each job that shrinks keep as many nodes as the others leave it.
    fn keep_more(&mut self, victims: &mut Vec<Candidate<'a>>) {
        for at in (0..victims.len()).rev() {
            while let Some(keeps) = victims[at].keeps {
                let mut more = victims.clone();
                let one = &mut more[at];
                // Its nodes stand in the order in which it gives them up.
                if one.nodes.len() < 2 || one.nodes.pop().is_none() {
                    break;
                }
                one.keeps = Some(Nodes(keeps.0 + 1));
                if self.without(&more).is_none() {
                    break;
                }
                *victims = more;
            }
        }
    }
}

/// For each part of a gang: how many nodes it needs, and how many on each side hold a part of it.
struct Holding(Vec<(Option<Nodes>, Vec<usize>)>);

impl Holding {
    fn could_hold_all(&self) -> bool {
        let could = |(need, counts): &(Option<Nodes>, Vec<usize>)| {
            need.is_none_or(|need| counts.iter().any(|count| *count >= need.0 as usize))
        };
        self.0.iter().all(could)
    }

    /// Counts a node again. Returns whether it now holds any part.
    fn change(&mut self, before: &[Vec<bool>], after: &[Vec<bool>]) -> bool {
        let mut holds_any = false;
        for ((need, counts), (before, after)) in self.0.iter_mut().zip(before.iter().zip(after)) {
            for (count, (before, after)) in counts.iter_mut().zip(before.iter().zip(after)) {
                *count += usize::from(*after && !before);
                holds_any |= *after;
            }
            // How many of its tasks go on one node is not known beforehand.
            holds_any |= need.is_none();
        }
        holds_any
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
