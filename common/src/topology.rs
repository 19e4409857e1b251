//! The position of nodes in the network: NVLink domain, leaf, spine, superspine, zone. Operators
//! configure it.

use crate::id::{NodeName, SwitchName, ZoneName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A level of the network, nearest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// One NVLink domain (super-pod, HBD): GPUs of several nodes joined by NVLink.
    NvlinkDomain,
    Leaf,
    Spine,
    /// One superspine (core) switch.
    Superspine,
}

/// A node's position. An absent field is unknown, and two nodes with an unknown field are not
/// close.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
pub struct Position {
    pub nvlink_domain: Option<SwitchName>,
    pub leaf: Option<SwitchName>,
    pub spine: Option<SwitchName>,
    pub superspine: Option<SwitchName>,
    /// A part of the cluster for a purpose ("inference").
    pub zone: Option<ZoneName>,
}

impl Position {
    /// Its switch or domain at a level.
    #[must_use]
    pub const fn switch_at_level(&self, level: Level) -> Option<&SwitchName> {
        match level {
            Level::NvlinkDomain => self.nvlink_domain.as_ref(),
            Level::Leaf => self.leaf.as_ref(),
            Level::Spine => self.spine.as_ref(),
            Level::Superspine => self.superspine.as_ref(),
        }
    }
}

/// The positions of the nodes that have one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Topology(pub BTreeMap<NodeName, Position>);

/// The required closeness of a job's nodes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Nearness {
    /// All nodes of the job, or of each segment, are under one switch of this level.
    pub level: Level,
    /// The job waits until this is possible; otherwise it takes the lowest level that holds it.
    pub required: bool,
}

/// The form in `--near`.
impl fmt::Display for Nearness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::NvlinkDomain => "nvlink-domain",
            Level::Leaf => "leaf",
            Level::Spine => "spine",
            Level::Superspine => "superspine",
        })?;
        f.write_str(if self.required { ":required" } else { "" })
    }
}
