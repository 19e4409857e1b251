//! The switches of each level, and the nodes under them.

use crate::model::cluster::NodeIndex;
use common::id::SwitchName;
use common::topology::{Level, Position};
use std::collections::BTreeMap;

/// A switch's position among those of its level, which are ordered by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SwitchIndex(pub u32);

/// All levels, nearest first.
pub(crate) const LEVELS: [Level; 4] =
    [Level::NvlinkDomain, Level::Leaf, Level::Spine, Level::Superspine];

/// The switches of one level.
#[derive(Debug, Clone, Default)]
struct Tier {
    names: Vec<SwitchName>,
    by_name: BTreeMap<SwitchName, SwitchIndex>,
    /// The switch of each node.
    of_node: Vec<Option<SwitchIndex>>,
}

/// The switches of all levels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Switches([Tier; 4]);

impl Switches {
    /// Finds the switches from the positions of all nodes, in node order.
    pub fn from_positions<'a>(positions: impl Iterator<Item = &'a Position> + Clone) -> Self {
        Self(LEVELS.map(|level| {
            let mut by_name: BTreeMap<SwitchName, SwitchIndex> = positions
                .clone()
                .filter_map(|position| {
                    Some((position.switch_at_level(level)?.clone(), SwitchIndex(0)))
                })
                .collect();
            for (number, (_, index)) in (0..).zip(&mut by_name) {
                *index = SwitchIndex(number);
            }
            let find = |position: &Position| by_name.get(position.switch_at_level(level)?).copied();
            let of_node = positions.clone().map(find).collect();
            Tier { names: by_name.keys().cloned().collect(), by_name, of_node }
        }))
    }

    const fn tier(&self, level: Level) -> &Tier {
        &self.0[level as usize]
    }

    /// Finds a switch by name.
    pub fn find(&self, level: Level, name: &SwitchName) -> Option<SwitchIndex> {
        self.tier(level).by_name.get(name).copied()
    }

    pub fn name(&self, level: Level, index: SwitchIndex) -> Option<&SwitchName> {
        self.tier(level).names.get(index.0 as usize)
    }

    /// The number of switches of a level.
    pub const fn count(&self, level: Level) -> usize {
        self.tier(level).names.len()
    }

    /// The switch of a node.
    pub fn switch_of_node(&self, level: Level, node: NodeIndex) -> Option<SwitchIndex> {
        self.tier(level).of_node.get(node.at()).copied().flatten()
    }
}
