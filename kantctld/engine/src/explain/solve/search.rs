//! The search for the fewest moves: parts that look for a place are put somewhere one by one, the
//! largest first; a job that is in the way there is lifted and looks for a place as well. It tries
//! no moves, then one, then two, so the first result has the fewest. It uses counts only.
//!
//! It does not try equivalent things twice: nodes that look the same, interchangeable jobs, and
//! states that were reached before in another order. It skips what pieces rule out
//! ([`super::bound`]), and lifting a job where the others would have been enough.

use super::bound::Measure;
use super::item::Amounts;
use super::model::{Model, Node, Owner};
use super::{Effort, GaveUp, Impossible, Move, PARTS_MAX, Verdict};
use crate::model::cluster::{ClusterIndex, NodeIndex};
use common::id::NodeName;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Checks once per this many places whether to stop.
const STOP_EVERY: u64 = 256;
/// The cost of a trial in detail, in places looked at.
const DETAIL_TRIALS: u64 = 100;
/// The most states remembered.
const KNOWN_MAX: usize = 200_000;

/// The places of all jobs: by owner, the waiting job first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub room: Vec<NodeIndex>,
    /// The jobs that move, and their nodes.
    pub movers: Vec<(common::id::JobKey, Vec<NodeIndex>)>,
}

/// What holds in every detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proved {
    pub moves: Vec<Move>,
    pub room: Vec<NodeName>,
}

/// The result of a step.
enum Step {
    Found(Proved),
    /// The effort is used up, or the search was stopped.
    Over,
    /// There is nothing below this state, or not with this number of moves.
    Nothing {
        with_more: bool,
    },
}

/// A part that looks for a place: large ones come first.
pub(super) type Pending = (Reverse<Amounts>, usize, Owner, usize);

/// What a node looks like.
pub(super) type Look = (usize, Amounts, bool, bool, Vec<usize>, Vec<(usize, u32)>);

/// The changes since the start, in any order: looks before and after, and the parts that look for a
/// place.
pub(super) type State = (Vec<(u32, u32)>, Vec<(usize, usize)>);

pub(super) struct Search<'m, 'e> {
    pub(super) model: &'m Model,
    pub(super) cluster: &'m ClusterIndex,
    pub(super) effort: &'e Effort<'e>,
    pub(super) try_out: &'e mut dyn FnMut(&Found) -> Option<Proved>,
    pub(super) nodes: Vec<Node>,
    pub(super) pending: BTreeSet<Pending>,
    /// The nodes of each owner's parts.
    pub(super) seats: BTreeMap<Owner, Vec<usize>>,
    /// In the order in which they were lifted.
    pub(super) lifted: Vec<Owner>,
    /// Numbers of looks.
    pub(super) looks: BTreeMap<Look, u32>,
    pub(super) look_of: Vec<u32>,
    pub(super) by_look: BTreeMap<u32, BTreeSet<usize>>,
    /// The original looks of nodes that have changed.
    pub(super) changed: BTreeMap<usize, u32>,
    /// States with nothing below them, and the number of moves for which that holds.
    pub(super) known: BTreeMap<State, (u32, bool)>,
    /// Pieces free, pieces needed, and the most that one move gains, for each measure.
    pub(super) measures: Vec<(Measure, i64, i64, i64)>,
    /// The number of arrangements that counts allowed and that did not hold.
    pub(super) without_success: u64,
    /// The most parts that looked for a place at once, if those were too many.
    pub(super) parts_most: usize,
    pub(super) is_stopped: bool,
    pub(super) is_over: bool,
    pub(super) trials: u64,
    /// The number of trials at which to check next whether to stop.
    pub(super) asked_at: u64,
    /// Arrangements that did not hold in detail.
    pub(super) tried: BTreeSet<Found>,
}

impl<'m, 'e> Search<'m, 'e> {
    pub fn new(
        model: &'m Model,
        cluster: &'m ClusterIndex,
        effort: &'e Effort<'e>,
        try_out: &'e mut dyn FnMut(&Found) -> Option<Proved>,
    ) -> Self {
        let measures = Measure::all(model).into_iter().map(|measure| {
            let room = model.nodes.iter().map(|node| measure.room(model, node)).sum();
            let gains = (1..model.jobs.len()).map(|owner| measure.gain(model, owner));
            (measure, room, 0, gains.max().unwrap_or(0).max(0))
        });
        let mut search = Self {
            model,
            cluster,
            effort,
            try_out,
            nodes: model.nodes.clone(),
            pending: BTreeSet::new(),
            seats: BTreeMap::new(),
            lifted: Vec::new(),
            looks: BTreeMap::new(),
            look_of: Vec::new(),
            by_look: BTreeMap::new(),
            changed: BTreeMap::new(),
            known: BTreeMap::new(),
            measures: measures.collect(),
            without_success: 0,
            parts_most: 0,
            is_stopped: false,
            is_over: false,
            trials: 0,
            asked_at: 0,
            tried: BTreeSet::new(),
        };
        for place in 0..search.nodes.len() {
            let look = search.node_state_number(place);
            search.look_of.push(look);
            search.by_look.entry(look).or_default().insert(place);
        }
        search.add_parts_pending(0);
        search
    }

    pub fn verdict(&mut self) -> Verdict {
        let most = u32::try_from(self.model.movers.len()).unwrap_or(u32::MAX);
        for moves in 0..=most {
            let is_sure = self.without_success == 0 && self.parts_most == 0;
            match self.step(moves) {
                Step::Found(Proved { moves, room }) => {
                    return Verdict::Moves { moves, room, fewest: is_sure };
                }
                Step::Over if self.is_stopped => return Verdict::GaveUp(GaveUp::Stopped),
                Step::Over => return Verdict::GaveUp(GaveUp::Effort),
                Step::Nothing { with_more: true } => {}
                Step::Nothing { with_more: false } => break,
            }
        }
        match self.without_success {
            0 if self.parts_most > 0 => Verdict::GaveUp(GaveUp::Parts { parts: self.parts_most }),
            0 => Verdict::Impossible(Impossible::Exhausted),
            arrangements => Verdict::GaveUp(GaveUp::InDetail { arrangements }),
        }
    }

    /// Finds a place for all parts that look for one, with at most `left` more moves.
    fn step(&mut self, left: u32) -> Step {
        let Some(next) = self.pending.first().copied() else { return self.try_in_detail() };
        let parts = self.pending.len() + self.seats.values().map(Vec::len).sum::<usize>();
        if parts > PARTS_MAX {
            self.parts_most = self.parts_most.max(parts);
            return Step::Nothing { with_more: true };
        }
        if let Some(with_more) = self.lacks_pieces(left) {
            return Step::Nothing { with_more };
        }
        let state = self.current_state();
        if let Some((moves, with_more)) = self.known.get(&state)
            && *moves >= left
        {
            return Step::Nothing { with_more: *with_more };
        }
        self.remove_pending(next);
        let (Reverse(part), _, owner, _) = next;
        let (choices, mut with_more) = self.choices(owner, &part, left);
        if self.is_over {
            // The choices may be incomplete.
            return Step::Over;
        }
        for (lift, place) in choices {
            if self.count_trial_is_over() {
                return Step::Over;
            }
            let undo = self.put(owner, &part, place, &lift);
            let moves = u32::try_from(lift.len()).unwrap_or(u32::MAX);
            match self.step(left.saturating_sub(moves)) {
                Step::Nothing { with_more: more } => with_more |= more,
                found => return found,
            }
            self.take_back(owner, &lift, undo);
        }
        self.add_pending(next);
        if self.known.len() < KNOWN_MAX {
            let moves = if with_more { left } else { u32::MAX };
            self.known.insert(state, (moves, with_more));
        }
        Step::Nothing { with_more }
    }

    /// Counts one more place. Returns whether the effort is used up.
    pub(super) fn count_trial_is_over(&mut self) -> bool {
        if self.trials >= self.asked_at {
            self.asked_at = self.trials + STOP_EVERY;
            self.is_stopped |= (self.effort.is_stopped)();
        }
        self.is_over |= self.is_stopped || self.trials >= self.effort.trials;
        if !self.is_over {
            self.trials += 1;
        }
        self.is_over
    }

    /// Tries the arrangement in detail, as all parts have a place by the counts.
    fn try_in_detail(&mut self) -> Step {
        let at = |place: &usize| self.model.nodes[*place].at;
        let nodes = |owner: &Owner| -> Vec<NodeIndex> {
            let places: BTreeSet<usize> =
                self.seats.get(owner).into_iter().flatten().copied().collect();
            places.iter().map(at).collect()
        };
        let movers = self.lifted.iter().map(|owner| (self.model.jobs[*owner].key, nodes(owner)));
        let found = Found { room: nodes(&0), movers: movers.collect() };
        // With more moves the same arrangement would come up again, and it would not hold then
        // either.
        if !self.tried.insert(found.clone()) {
            return Step::Nothing { with_more: false };
        }
        // A trial takes a while: check first whether to stop.
        self.asked_at = self.trials;
        if self.count_trial_is_over() {
            return Step::Over;
        }
        self.trials += DETAIL_TRIALS;
        if let Some(proved) = (self.try_out)(&found) {
            return Step::Found(proved);
        }
        self.without_success += 1;
        Step::Nothing { with_more: false }
    }

    /// Whether fewer pieces are free than needed. If so, returns whether more moves would help.
    fn lacks_pieces(&self, left: u32) -> Option<bool> {
        let mut lacks = None;
        for (_, room, needed, gain) in &self.measures {
            let lack = needed - room;
            if lack > gain.saturating_mul(i64::from(left)) {
                if *gain == 0 {
                    return Some(false);
                }
                lacks = Some(true);
            }
        }
        lacks
    }
}
