//! Where nodes stand: NVLink domain, leaf, spine, superspine, zone. Never discovers anything; an
//! operator writes it down.

use crate::id::{NodeName, SwitchName, ZoneName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A level of the network, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// One NVLink domain (super-pod, HBD): GPUs of several nodes linked by NVLink.
    NvlinkDomain,
    Leaf,
    Spine,
    /// One superspine (core) switch.
    Superspine,
}

/// Where a node stands; what is not said is not known, and no two such nodes stand together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    pub nvlink_domain: Option<SwitchName>,
    pub leaf: Option<SwitchName>,
    pub spine: Option<SwitchName>,
    pub superspine: Option<SwitchName>,
    /// A part of the cluster kept for a purpose ("inference").
    pub zone: Option<ZoneName>,
}

impl Position {
    /// The switch or domain it hangs on at a level.
    #[must_use]
    pub const fn at(&self, level: Level) -> Option<&SwitchName> {
        match level {
            Level::NvlinkDomain => self.nvlink_domain.as_ref(),
            Level::Leaf => self.leaf.as_ref(),
            Level::Spine => self.spine.as_ref(),
            Level::Superspine => self.superspine.as_ref(),
        }
    }
}

/// The topology of a cluster: the positions of the nodes that have one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Topology(pub BTreeMap<NodeName, Position>);

/// A job's wish to be near itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Nearness {
    /// All of its nodes (of a segment, where it has segments) under one switch of this level.
    pub level: Level,
    /// It rather waits than be further apart; otherwise it takes the smallest level that holds it.
    pub required: bool,
}

/// As `--near` takes it.
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
