//! Where something came free that plans had counted as in use. A job whose plan cannot come sooner
//! by what is free there need not be planned anew. Never forgets a node before everybody was asked.
//!
//! Source: ours; "compression" of A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, asks every
//! job anew.

use crate::floor::NodeIndex;
use std::collections::BTreeMap;

/// Nodes on which something came free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Freed {
    /// Anywhere, as far as is known.
    #[default]
    Everywhere,
    /// How often on each.
    On(BTreeMap<NodeIndex, u32>),
}

impl Freed {
    pub const fn nowhere() -> Self {
        Self::On(BTreeMap::new())
    }

    /// Something came free there.
    pub fn add(&mut self, at: NodeIndex) {
        if let Self::On(nodes) = self {
            *nodes.entry(at).or_default() += 1;
        }
    }

    pub fn take_back(&mut self, at: NodeIndex) {
        if let Self::On(nodes) = self
            && let Some(times) = nodes.get_mut(&at)
        {
            *times -= 1;
            if *times == 0 {
                nodes.remove(&at);
            }
        }
    }
}
