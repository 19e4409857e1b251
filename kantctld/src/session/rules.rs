//! What this controller's configuration says about nodes.

use common::time::Span;
use common::wire::node::Hello;

/// The kind of nodes that this controller accepts; a cluster does not mix them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// Machines that run jobs.
    Real,
    /// Nodes of `kantd emulate`.
    Emulated,
}

impl NodeKind {
    #[must_use]
    pub const fn from_emulated(emulated: bool) -> Self {
        if emulated { Self::Emulated } else { Self::Real }
    }

    /// Checks that the node is of this kind.
    pub(super) fn check(self, hello: &Hello) -> Result<(), String> {
        match (self, hello.inventory.is_emulated()) {
            (Self::Real, true) => {
                Err("it is emulated, and this cluster has real nodes: a controller for \
                emulated nodes needs `emulated = true` in kantctld.toml"
                    .to_owned())
            }
            (Self::Emulated, false) => Err("it is a real node, and this cluster has only \
                emulated ones: remove `emulated = true` from kantctld.toml to run jobs"
                .to_owned()),
            _ => Ok(()),
        }
    }
}

/// What this controller's configuration says about nodes.
#[derive(Debug, Clone, Copy)]
pub struct NodeRules {
    pub kind: NodeKind,
    /// When a node without a leader ends its jobs; zero means never.
    pub fence_after: Span,
}
