//! How many nodes hold a part of each job of a gang: a bound that is checked before a placement is
//! tried.

use super::wanted::Sought;
use crate::model::cluster::NodeIndex;
use crate::model::demand::Part;
use crate::round::planner::RoundState;
use common::unit::Nodes;

/// For each part of a gang: how many nodes it needs, and how many on each side hold a part of it.
pub(super) struct Holding(Vec<(Option<Nodes>, Vec<usize>)>);

/// For each part of a gang and each side: whether a node holds the smallest part of it.
pub(super) type Holds = Vec<Vec<bool>>;

impl Holding {
    /// What the nodes hold in the present trial.
    pub fn of(state: &RoundState<'_>, parts: &[Sought<'_>]) -> Self {
        let of = |part: &Sought<'_>| {
            let smallest = smallest(part);
            let count = |side| {
                let search = state.node_search_of(part.0, &part.1, side, &[]);
                search.all_that_hold(smallest).count()
            };
            (part.1.node_count(), part.1.sides().into_iter().map(count).collect())
        };
        Self(parts.iter().map(of).collect())
    }

    pub fn could_hold_all(&self) -> bool {
        let could = |(need, counts): &(Option<Nodes>, Vec<usize>)| {
            need.is_none_or(|need| counts.iter().any(|count| *count >= need.0 as usize))
        };
        self.0.iter().all(could)
    }

    /// Counts a node again. Returns whether it now holds any part.
    pub fn change(&mut self, before: &Holds, after: &Holds) -> bool {
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

/// What this node holds in the present trial.
pub(super) fn held_by(state: &RoundState<'_>, parts: &[Sought<'_>], at: NodeIndex) -> Holds {
    let of = |part: &Sought<'_>| {
        let smallest = smallest(part);
        let holds = |side| state.node_search_of(part.0, &part.1, side, &[]).holds(at, smallest);
        part.1.sides().into_iter().map(holds).collect()
    };
    parts.iter().map(of).collect()
}

/// The smallest part of a job.
fn smallest(part: &Sought<'_>) -> Part {
    let nodes = part.1.node_count().unwrap_or(Nodes(1));
    part.1.demand.even_part(nodes, nodes.0.saturating_sub(1))
}
