//! The `[[leaf]]`, `[[nvlink_domain]]` and `[[zone]]` tables. Never knows which nodes exist.

use super::table::config_table;
use crate::id::{SwitchName, ZoneName};

config_table! {
    /// One leaf switch and the nodes on it.
    pub struct LeafTable {
        /// Its name, none twice.
        name: Option<SwitchName> = None,
        /// Its nodes, like `g[001-016]`.
        nodes: String = String::new(),
        /// The spine switch above it.
        spine: Option<SwitchName> = None,
        /// The superspine (core) switch above the spine.
        superspine: Option<SwitchName> = None,
    }
}

config_table! {
    /// One NVLink domain: nodes whose GPUs are linked by NVLink.
    pub struct NvlinkDomainTable {
        /// Its name, none twice.
        name: Option<SwitchName> = None,
        /// Its nodes, like `g[001-016]`.
        nodes: String = String::new(),
    }
}

config_table! {
    /// One zone: a part of the cluster kept for a purpose, like inference.
    pub struct ZoneTable {
        /// Its name, none twice.
        name: Option<ZoneName> = None,
        /// Its nodes, like `g[001-016]`.
        nodes: String = String::new(),
    }
}
