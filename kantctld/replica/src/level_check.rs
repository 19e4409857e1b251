//! The checks that this build knows the rules level of what it is to accept. A replica that
//! accepted more would count for a majority that it cannot serve.

use crate::error::LogError;
use crate::machine::Machine;
use crate::snapshot_payload;
use crate::storage::LogStore;
use common::rules_level::UnknownLevel;
use raft::eraftpb::{Entry, EntryType, Message};
use raft::{GetEntriesContext, Storage as _};
use wal::Disk;

/// The size of the entries that are read at once, in bytes.
const CHUNK_BYTES: u64 = 8 << 20;

/// Checks a received message.
///
/// # Errors
/// [`LogError::UnknownLevel`]; the process must end, and has acknowledged nothing of it.
pub(crate) fn check_message<M: Machine>(machine: &M, message: &Message) -> Result<(), LogError> {
    check_entries(machine, &message.entries)?;
    let snapshot = message.get_snapshot();
    match snapshot_payload::split(&snapshot.data) {
        Ok((_, state)) if !state.is_empty() => {
            let checked = machine.check_snapshot_level(state);
            checked.map_err(unknown_level_error(snapshot.get_metadata().index))
        }
        // There is none, or it will be refused.
        _ => Ok(()),
    }
}

/// Checks the entries of a log that is opened, after its newest snapshot.
///
/// # Errors
/// [`LogError::UnknownLevel`]: a newer release wrote this log.
pub(crate) fn check_log<M: Machine, D: Disk>(
    machine: &M,
    store: &LogStore<D>,
) -> Result<(), LogError> {
    let first = store.first_index()?.max(store.snapshot_index + 1);
    let (mut next, end) = (first, store.last_index()? + 1);
    while next < end {
        let context = GetEntriesContext::empty(false);
        let entries = store.entries(next, end, Some(CHUNK_BYTES), context)?;
        check_entries(machine, &entries)?;
        // At least one entry is read, whatever its size.
        next = entries.last().map_or(end, |entry| entry.index + 1);
    }
    Ok(())
}

fn check_entries<M: Machine>(machine: &M, entries: &[Entry]) -> Result<(), LogError> {
    let commands = entries
        .iter()
        .filter(|entry| entry.get_entry_type() == EntryType::EntryNormal && !entry.data.is_empty());
    for entry in commands {
        machine.check_entry_level(&entry.data).map_err(unknown_level_error(entry.index))?;
    }
    Ok(())
}

fn unknown_level_error(index: u64) -> impl FnOnce(UnknownLevel) -> LogError {
    move |source| LogError::UnknownLevel { index, source }
}
