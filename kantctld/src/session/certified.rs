//! What a controller requires of a node that connects: a certificate, and the right kind.

use common::id::NodeName;
use common::wire::node::Hello;

/// A node as its certificate names it.
#[derive(Debug, Clone)]
pub struct Certified {
    pub name: NodeName,
    pub enrolment: u32,
}

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
    pub const fn wanted(emulated: bool) -> Self {
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
