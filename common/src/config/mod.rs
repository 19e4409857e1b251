//! Configuration: TOML text to types. An unknown key is an error. The doc comment of a key is its
//! documentation in etc/ and docs/operating/configuration.md.

mod account;
mod amounts;
mod automatic;
mod client;
mod controller;
mod limits;
mod moves;
mod node;
pub mod policy;
mod priority;
mod qos;
mod queue;
mod roles;
mod suggestion;
mod table;
mod topology;

pub use account::AccountTable;
pub use amounts::AmountsTable;
pub use automatic::AutoSeconds;
pub use client::ClientConfig;
pub use controller::{ControllerConfig, VouchedFor};
pub use limits::LimitsTable;
pub use moves::MovesTable;
pub use node::{CgroupMode, NodeConfig};
pub use priority::PriorityTable;
pub use qos::QosTable;
pub use queue::QueueTable;
pub use roles::{Private, RolesTable};
pub use table::{KeyDoc, Table};
pub use topology::{LeafTable, NvlinkDomainTable, ZoneTable};

use serde::de::DeserializeOwned;
use suggestion::with_nearest_key;

/// A configuration that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to read configuration {file}: {message}")]
pub struct ConfigError {
    /// Which file, as the operator wrote it.
    pub file: String,
    /// What and where (the TOML reader names line and column).
    pub message: String,
}

/// Reads a configuration.
///
/// # Errors
/// [`ConfigError`] with line, column and the offending key.
pub fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let message = error.message();
        let text = error.to_string().replacen(message, &with_nearest_key(message), 1);
        ConfigError { file: file.to_owned(), message: text.trim_end().to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_gives_the_defaults_and_they_are_complete() {
        let read_controller: ControllerConfig = read("kantctld.toml", "").unwrap();
        assert_eq!(read_controller, ControllerConfig::default());
        assert_eq!(read::<NodeConfig>("kantd.toml", "").unwrap(), NodeConfig::default());
        assert_eq!(read::<ClientConfig>("kantctl.toml", "").unwrap(), ClientConfig::default());
    }

    #[test]
    fn a_typo_is_refused_with_its_line_and_key() {
        let error = read::<NodeConfig>("kantd.toml", "name = \"a\"\nspol_dir = \"/x\"\n");
        let message = error.unwrap_err().to_string();
        assert!(message.contains("kantd.toml") && message.contains("spol_dir"), "{message}");
        assert!(message.contains("line 2"), "{message}");
    }

    #[test]
    fn malformed_toml_is_refused_with_its_line() {
        let message = read::<ControllerConfig>("c.toml", "x = [").unwrap_err().to_string();
        assert!(message.contains("line 1"), "{message}");
    }

    #[test]
    fn every_key_has_a_sentence_and_a_default_that_reads_back() {
        let files = [ControllerConfig::keys(), NodeConfig::keys(), ClientConfig::keys()];
        let of_policy = [QueueTable::keys(), QosTable::keys(), AccountTable::keys()];
        let others =
            [LeafTable::keys(), ZoneTable::keys(), PriorityTable::keys(), RolesTable::keys()];
        for table in files.into_iter().chain(of_policy).chain(others) {
            for key in table.keys {
                assert!(key.doc.len() > 10, "{}: {}", key.name, key.doc);
            }
        }
    }
}
