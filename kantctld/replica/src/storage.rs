//! The consensus library's view of the log store: entries, hard state and snapshots in a [`Wal`].

use crate::error::{StoreError, decode_error};
use crate::members::Members;
use crate::snapshot_payload;
use common::id::ControllerId;
use protobuf::Message as _;
use raft::eraftpb::{Entry, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};
use std::borrow::Cow;
use std::cell::Cell;
use wal::{Disk, Index, Term, Wal, Written};

/// The log, hard state, members and snapshots of one controller.
pub struct LogStore<D: Disk> {
    pub(crate) wal: Wal<D>,
    pub(crate) hard_state: HardState,
    pub(crate) members: Members,
    /// The index of the newest snapshot; 0 before the first.
    pub(crate) snapshot_index: u64,
    /// The size of the newest snapshot.
    pub(crate) snapshot_bytes: u64,
    /// A member that is far behind or new needs a snapshot, and the newest one does not suffice.
    pub(crate) wants_snapshot: Cell<bool>,
}

impl<D: Disk> LogStore<D> {
    /// Appends entries and a changed hard state; durable after [`LogStore::sync`].
    ///
    /// # Errors
    /// [`StoreError::Wal`]; after `NoSpace` nothing has changed, and the call may be repeated.
    pub fn append(
        &mut self,
        entries: &[Entry],
        hard: Option<&HardState>,
    ) -> Result<(), StoreError> {
        let mut records = Vec::with_capacity(entries.len());
        for entry in entries {
            let payload = entry.write_to_bytes().map_err(decode_error("an entry"))?;
            records.push(wal::Entry { index: Index(entry.index), term: Term(entry.term), payload });
        }
        let record = match hard {
            None => None,
            Some(hard) => {
                let payload = hard.write_to_bytes().map_err(decode_error("the hard state"))?;
                Some(wal::HardState { commit: Index(hard.commit), payload })
            }
        };
        self.wal.append(records, record)?;
        if let Some(hard) = hard {
            self.hard_state = hard.clone();
        }
        Ok(())
    }

    /// Notes a higher commit index, which need not be durable at once.
    ///
    /// # Errors
    /// As [`LogStore::append`].
    pub fn note_commit(&mut self, commit: u64) -> Result<(), StoreError> {
        let hard = HardState { commit, ..self.hard_state.clone() };
        self.append(&[], Some(&hard))
    }

    /// One fsync for everything appended.
    ///
    /// # Errors
    /// [`StoreError::Wal`]: fatal, the process must end.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        Ok(self.wal.sync()?)
    }

    /// Makes a written snapshot the newest, and removes the log before the previous snapshot, so
    /// that a damaged newest snapshot loses nothing. False if a newer one was installed meanwhile.
    ///
    /// # Errors
    /// As [`LogStore::append`].
    pub fn adopt_snapshot(
        &mut self,
        index: u64,
        bytes: u64,
        written: wal::Result<Written>,
    ) -> Result<bool, StoreError> {
        match self.wal.adopt_snapshot(written) {
            Err(wal::Error::Refused { .. }) if index <= self.snapshot_index => return Ok(false),
            adopted => adopted?,
        }
        self.wal.compact(Index(self.snapshot_index))?;
        (self.snapshot_index, self.snapshot_bytes) = (index, bytes);
        self.wants_snapshot.set(false);
        Ok(true)
    }

    /// Replaces the log by a snapshot from the leader, durably. May be repeated after `NoSpace`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn install_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let meta = snapshot.get_metadata();
        let (members, _) = snapshot_payload::split(&snapshot.data)?;
        let installed = wal::Snapshot {
            index: Index(meta.index),
            term: Term(meta.term),
            payload: snapshot.data.to_vec(),
        };
        self.wal.install_snapshot(&installed)?;
        self.members = members;
        (self.snapshot_index, self.snapshot_bytes) = (meta.index, snapshot.data.len() as u64);
        self.hard_state.commit = self.hard_state.commit.max(meta.index);
        Ok(())
    }
}

fn as_raft_error(error: impl Into<StoreError>) -> raft::Error {
    raft::Error::Store(StorageError::Other(Box::new(error.into())))
}

impl<D: Disk> Storage for LogStore<D> {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.members.conf_state()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        bytes_max: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low < self.wal.first_index().0 {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        let bytes_max = bytes_max.into().unwrap_or(u64::MAX);
        let records = self.wal.entries(Index(low), Index(high), bytes_max).map_err(|error| {
            self.wants_snapshot.set(true);
            // The member that needs unreadable entries gets a snapshot instead. On any other error
            // the library panics.
            tracing::error!("entries {low} to {high} of the log: {error}");
            raft::Error::Store(StorageError::Compacted)
        })?;
        let decode = |record: Cow<'_, wal::Entry>| {
            Entry::parse_from_bytes(&record.payload)
                .map_err(|e| as_raft_error(decode_error("an entry")(e)))
        };
        records.into_iter().map(decode).collect()
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let first = self.wal.first_index().0;
        if index + 1 < first {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        if index > self.wal.last_index().0 {
            return Err(raft::Error::Store(StorageError::Unavailable));
        }
        self.wal.term(Index(index)).map(|t| t.0).map_err(as_raft_error)
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.wal.first_index().0)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.wal.last_index().0)
    }

    /// The newest snapshot, if its members include the receiver: by a rule of raft a follower
    /// ignores a snapshot without itself, and would wait for ever. Otherwise a new one is
    /// requested.
    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        let unavailable = raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable);
        // If it is damaged, a new one will be written. On any other error the library panics.
        let found = self.wal.snapshot().ok().flatten();
        let read = found.and_then(|found| {
            let (members, _) = snapshot_payload::split(&found.payload).ok()?;
            Some((found, members))
        });
        let Some((found, members)) = read else {
            self.wants_snapshot.set(true);
            return Err(unavailable);
        };
        if found.index.0 < request_index || !members.has(ControllerId(to)) {
            self.wants_snapshot.set(true);
            return Err(unavailable);
        }
        let mut snapshot = Snapshot::default();
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (found.index.0, found.term.0);
        meta.set_conf_state(members.conf_state());
        snapshot.data = found.payload.into();
        Ok(snapshot)
    }
}
