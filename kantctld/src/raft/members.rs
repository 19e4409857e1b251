//! Takes a committed change of members into force. Never proposes one: with a single voter nobody
//! does yet, but a log that holds one must be read right.

use super::handle::LogError;
use super::storage::LogStore;
use protobuf::{Message as _, ProtobufError};
use raft::RawNode;
use raft::eraftpb::{ConfChange, ConfChangeV2, Entry, EntryType};
use wal::Disk;

/// Applies the change in an entry and notes the members for the next snapshot. The two kinds of
/// entry have bodies of their own, which must not be read as each other.
///
/// # Errors
/// [`LogError`] when the entry does not read, or the library refuses it.
pub fn change<D: Disk>(node: &mut RawNode<LogStore<D>>, entry: &Entry) -> Result<(), LogError> {
    let unreadable =
        |error: ProtobufError| LogError::Apply { index: entry.index, reason: error.to_string() };
    let conf_state = if entry.get_entry_type() == EntryType::EntryConfChange {
        let change = ConfChange::parse_from_bytes(&entry.data).map_err(unreadable)?;
        node.apply_conf_change(&change)?
    } else {
        let change = ConfChangeV2::parse_from_bytes(&entry.data).map_err(unreadable)?;
        node.apply_conf_change(&change)?
    };
    node.mut_store().set_conf_state(conf_state);
    Ok(())
}
