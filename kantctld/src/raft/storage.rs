//! The consensus library's view of the log store: entries, hard state and snapshots on a [`Wal`].
//! Never decides when to write; `thread` does.

use protobuf::Message as _;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{GetEntriesContext, RaftState, Storage, StorageError};
use serde::{Deserialize, Serialize};
use wal::{Disk, Index, Options, Term, Wal};

/// The log store could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The files.
    #[error(transparent)]
    Wal(#[from] wal::Error),
    /// A record that passes its checksum but does not read.
    #[error("failed to decode {what} of the log: written by another version?")]
    Decode {
        /// Which part.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

fn decode_error<E>(what: &'static str) -> impl FnOnce(E) -> StoreError
where
    E: std::error::Error + Send + Sync + 'static,
{
    move |source| StoreError::Decode { what, source: Box::new(source) }
}

/// Who votes: stands before the state in a snapshot's payload, after its length in four bytes.
#[derive(Serialize, Deserialize)]
struct Members {
    voters: Vec<u64>,
    #[serde(default)]
    learners: Vec<u64>,
}

fn join_payload(members: &Members, state: &[u8]) -> Result<Vec<u8>, StoreError> {
    let head = rmp_serde::to_vec_named(members).map_err(decode_error("a snapshot"))?;
    let mut payload = Vec::with_capacity(4 + head.len() + state.len());
    let length = u32::try_from(head.len()).map_err(decode_error("a snapshot"))?;
    payload.extend_from_slice(&length.to_le_bytes());
    payload.extend_from_slice(&head);
    payload.extend_from_slice(state);
    Ok(payload)
}

fn split_payload(payload: &[u8]) -> Result<(Members, &[u8]), StoreError> {
    let short = || decode_error("a snapshot")(std::io::Error::other("it is too short"));
    let (length, rest) = payload.split_first_chunk::<4>().ok_or_else(short)?;
    let (head, state) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
    Ok((rmp_serde::from_slice(head).map_err(decode_error("a snapshot"))?, state))
}

/// The log, hard state and snapshots of one controller.
pub struct LogStore<D: Disk> {
    wal: Wal<D>,
    hard_state: HardState,
    conf_state: ConfState,
    /// The log position of the newest snapshot.
    snapshot_index: u64,
}

/// What a start finds: the state as of a log index.
pub struct Found {
    /// The last entry in the state.
    pub index: u64,
    /// The state; empty for a new cluster.
    pub state: Vec<u8>,
}

impl<D: Disk> LogStore<D> {
    /// Opens the log. An empty directory becomes a cluster of one voter, `id`, durably.
    ///
    /// # Errors
    /// [`StoreError`] when another controller runs here, or the files cannot be trusted.
    pub fn open(disk: D, options: Options, id: u64) -> Result<(Self, Found), StoreError> {
        let (mut wal, recovered) = Wal::open(disk, options)?;
        if let Some(place) = &recovered.torn {
            tracing::info!("cut off an unfinished write at the end of the log: {place:?}");
        }
        if let Some(file) = &recovered.damaged_snapshot {
            tracing::warn!("snapshot {file} is damaged; going on from the one before it");
        }
        let mut hard_state = HardState::default();
        let snapshot = match recovered.snapshot {
            Some(snapshot) => snapshot,
            None => found_cluster(&mut wal, id)?,
        };
        if let Some(recorded) = &recovered.hard_state {
            hard_state = HardState::parse_from_bytes(&recorded.payload)
                .map_err(decode_error("the hard state"))?;
            hard_state.commit = recorded.commit.0;
        }
        hard_state.commit = hard_state.commit.max(snapshot.index.0);
        hard_state.term = hard_state.term.max(snapshot.term.0);
        let (members, state) = split_payload(&snapshot.payload)?;
        let conf_state =
            ConfState { voters: members.voters, learners: members.learners, ..Default::default() };
        let found = Found { index: snapshot.index.0, state: state.to_vec() };
        Ok((Self { wal, hard_state, conf_state, snapshot_index: found.index }, found))
    }

    /// Appends entries and a changed hard state; durable after [`LogStore::sync`].
    ///
    /// # Errors
    /// [`StoreError::Wal`]; with `NoSpace` nothing has changed and it may be called again.
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

    /// Notes a raised commit index; need not be durable at once.
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

    /// Makes room for coming entries while there is nothing else to do.
    ///
    /// # Errors
    /// As [`LogStore::append`].
    pub fn prepare(&mut self) -> Result<(), StoreError> {
        Ok(self.wal.prepare()?)
    }

    /// Saves the state as of an applied index, and cuts the log up to the snapshot before it, so
    /// that a damaged newest snapshot loses nothing.
    ///
    /// # Errors
    /// As [`LogStore::append`].
    pub fn save_snapshot(&mut self, index: u64, state: &[u8]) -> Result<(), StoreError> {
        let members = Members {
            voters: self.conf_state.voters.clone(),
            learners: self.conf_state.learners.clone(),
        };
        let payload = join_payload(&members, state)?;
        let term = self.wal.term(Index(index))?;
        self.wal.save_snapshot(&wal::Snapshot { index: Index(index), term, payload })?;
        self.wal.compact(Index(self.snapshot_index))?;
        self.snapshot_index = index;
        Ok(())
    }

    /// The members changed.
    pub fn set_conf_state(&mut self, conf_state: ConfState) {
        self.conf_state = conf_state;
    }

    /// The log index of the newest snapshot.
    pub fn snapshot_index(&self) -> u64 {
        self.snapshot_index
    }
}

/// Writes the first snapshot: an empty state, one voter, index 1.
fn found_cluster<D: Disk>(wal: &mut Wal<D>, id: u64) -> Result<wal::Snapshot, StoreError> {
    let payload = join_payload(&Members { voters: vec![id], learners: Vec::new() }, &[])?;
    let snapshot = wal::Snapshot { index: Index(1), term: Term(1), payload };
    wal.install_snapshot(&snapshot)?;
    Ok(snapshot)
}

fn as_raft_error(error: StoreError) -> raft::Error {
    raft::Error::Store(StorageError::Other(Box::new(error)))
}

impl<D: Disk> Storage for LogStore<D> {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.conf_state.clone()))
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
        let records = self
            .wal
            .entries(Index(low), Index(high), bytes_max)
            .map_err(|e| as_raft_error(e.into()))?;
        let decode = |record: &wal::Entry| {
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
        self.wal.term(Index(index)).map(|t| t.0).map_err(|e| as_raft_error(e.into()))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.wal.first_index().0)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.wal.last_index().0)
    }

    /// Only asked for by a follower that is far behind; replication is the next step (issue of
    /// availability). A lone voter never is.
    fn snapshot(&self, _request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}
