//! Step 4: which of the nodes that fit is best. One policy per file. Each gives a node a key,
//! smaller is better, and gives a group of nodes a lower bound of its nodes' keys, so that groups
//! that cannot win are skipped.

pub(crate) mod binpack;
pub(crate) mod cpu_only;
pub(crate) mod ebinpack;
pub(crate) mod espread;
pub(crate) mod fgd;
pub(crate) mod first;
pub(crate) mod leafs;
pub(crate) mod nvlink;
pub(crate) mod spread;

use crate::model::cluster::NodeIndex;
use crate::model::cluster::group::GroupIndex;
use crate::model::cluster::tally::Takes;
use crate::place::node_search::NodeSearch;
use common::policy::Placement;
use common::unit::{GpuMilli, Gpus};
use leafs::Leafs;
use std::cell::OnceCell;

/// The cost of a node for a part: compared from the left, then by the node's position.
pub(crate) type Key = [u64; 5];

/// What the policies read in addition to the node search.
pub(crate) struct Scorer<'a> {
    pub search: &'a NodeSearch<'a>,
    /// Sums by leaf, computed at the first use.
    leafs: OnceCell<Leafs>,
}

impl<'a> Scorer<'a> {
    pub const fn new(search: &'a NodeSearch<'a>) -> Self {
        Self { search, leafs: OnceCell::new() }
    }

    pub fn leafs(&self) -> &Leafs {
        self.leafs.get_or_init(|| Leafs::of(self.search))
    }

    /// The key of a node that holds the part.
    pub fn key(&self, at: NodeIndex, takes: Takes) -> Key {
        if takes.resources.gpus == Gpus::ZERO && takes.milli == GpuMilli::ZERO {
            return match self.search.placement {
                Placement::First => first::KEY,
                Placement::Spread => spread::cpu_key(self.search, at),
                // Taking CPUs may leave GPUs unusable, too.
                Placement::Fgd => fgd::key(self.search, at, takes),
                _ => cpu_only::key(self.search, at, takes),
            };
        }
        match self.search.placement {
            Placement::First => first::KEY,
            Placement::Binpack => binpack::key(self.search, at),
            Placement::EBinpack => ebinpack::key(self, at, takes),
            Placement::Spread => spread::key(self.search, at),
            Placement::ESpread => espread::key(self, at),
            Placement::Fgd => fgd::key(self.search, at, takes),
        }
    }

    /// A lower bound of the keys of the group's nodes.
    pub fn bound(&self, group: GroupIndex, takes: Takes) -> Key {
        if takes.resources.gpus == Gpus::ZERO {
            return [0; 5];
        }
        match self.search.placement {
            Placement::Binpack => binpack::bound(self.search, group, takes),
            Placement::EBinpack => ebinpack::bound(self, group, takes),
            Placement::First | Placement::Spread | Placement::ESpread | Placement::Fgd => [0; 5],
        }
    }
}
