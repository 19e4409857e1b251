//! The earliest start of a job with segments: sets of nodes, each under one switch. Every node
//! must hold the largest part.
//!
//! Source: man sbatch, `--segment`.

use crate::model::cluster::NodeIndex;
use crate::model::cluster::switches::SwitchIndex;
use crate::model::demand::Part;
use crate::place::backfill::earliest::{Earliest, Window, add_ready_intervals};
use crate::place::node_search::NodeSearch;
use common::time::{Span, Time};
use common::topology::Level;
use std::collections::{BTreeMap, BTreeSet};

/// The segments that a job requires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segments {
    pub level: Level,
    /// Nodes per segment; the last segment may be smaller.
    pub size: usize,
    pub count: usize,
}

impl Segments {
    /// For a job that requires segments. `None`: a job that only prefers near nodes, or needs no
    /// more than one segment.
    pub fn required(search: &NodeSearch<'_>, count: usize) -> Option<Self> {
        let request = search.shape.demand.request;
        let size = (request.segment?.0 as usize).max(1);
        let level = match request.near {
            Some(near) if near.required => near.level,
            Some(_) => return None,
            None => Level::Leaf,
        };
        (size < count).then_some(Self { level, size, count })
    }

    /// The first time in the window at which there are enough segments with room
    /// for the part.
    pub fn earliest_time(
        self,
        search: &NodeSearch<'_>,
        part: Part,
        length: Span,
        window: Window,
    ) -> Option<Earliest> {
        let Window { after, by } = window;
        let mut edges: Vec<(Time, bool, NodeIndex, SwitchIndex)> = Vec::new();
        for (at, _) in search.cluster().nodes().filter(|(at, _)| search.allows(*at)) {
            let Some(switch) = search.cluster().switches().switch_of_node(self.level, at) else {
                continue;
            };
            add_ready_intervals(search, at, part, length, by, |from, to| {
                if to >= after {
                    edges.push((from.max(after), false, at, switch));
                    edges.push((to, true, at, switch));
                }
            });
        }
        edges.sort_unstable();
        let mut sets: BTreeMap<SwitchIndex, BTreeSet<NodeIndex>> = BTreeMap::new();
        for (time, leaves, at, switch) in edges {
            let set = sets.entry(switch).or_default();
            if leaves {
                set.remove(&at);
                continue;
            }
            set.insert(at);
            if let Some(nodes) = self.choose(&sets) {
                return Some(Earliest { at: time, nodes });
            }
        }
        None
    }

    /// The nodes of all segments, segment by segment.
    fn choose(self, sets: &BTreeMap<SwitchIndex, BTreeSet<NodeIndex>>) -> Option<Vec<NodeIndex>> {
        let (full, rest) = (self.count / self.size, self.count % self.size);
        let whole: usize = sets.values().map(|set| set.len() / self.size).sum();
        let has_rest = sets.values().any(|set| set.len() % self.size >= rest);
        if whole < full || (rest > 0 && whole == full && !has_rest) {
            return None;
        }
        let mut chosen = Vec::with_capacity(self.count);
        let mut left: Vec<Vec<NodeIndex>> = Vec::new();
        for set in sets.values() {
            let mut nodes: Vec<NodeIndex> = set.iter().copied().collect();
            while nodes.len() >= self.size && chosen.len() < full * self.size {
                chosen.extend(nodes.drain(..self.size));
            }
            left.push(nodes);
        }
        if rest > 0 {
            chosen.extend(left.into_iter().find(|nodes| nodes.len() >= rest)?.drain(..rest));
        }
        Some(chosen)
    }
}
