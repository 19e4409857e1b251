//! The `[[leaf]]`, `[[nvlink_domain]]` and `[[zone]]` tables.

use super::table::config_table;
use crate::id::{SwitchName, ZoneName};

config_table! {
    /// A [[leaf]] table lists the nodes that are connected to the switch.
    pub struct LeafTable {
        /// Its name, unique.
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
    /// The GPUs of all nodes of a domain are connected by NVLink.
    pub struct NvlinkDomainTable {
        /// Its name, unique.
        name: Option<SwitchName> = None,
        /// Its nodes, like `g[001-016]`.
        nodes: String = String::new(),
    }
}

config_table! {
    /// A zone is a part of the cluster reserved for a purpose, such as inference.
    pub struct ZoneTable {
        /// Its name, unique.
        name: Option<ZoneName> = None,
        /// Its nodes, like `g[001-016]`.
        nodes: String = String::new(),
    }
}
