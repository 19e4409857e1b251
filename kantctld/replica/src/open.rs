//! Opens a log: an existing one, or a new one for a founded, restored or joining controller. A
//! log is not overwritten, and is created only on request.

use crate::error::{LogError, StoreError, decode_error};
use crate::members::{Member, Members};
use crate::snapshot_payload;
use crate::storage::LogStore;
use common::id::{ClusterId, ControllerId};
use protobuf::Message as _;
use raft::eraftpb::HardState;
use std::cell::Cell;
use wal::{Disk, Index, Options, Term, Wal};

/// The size below which snapshots and entries need not be reduced: reading or replaying this many
/// bytes takes little time.
pub const SNAPSHOT_BYTES_MIN: u64 = 32 << 20;

/// The number of entries between two comparisons of the members' states: encoding a large state
/// takes as long as applying a few thousand entries.
pub const COMPARE_EVERY: u64 = 10_000;

/// What to make of an empty directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bootstrap {
    /// A log must exist.
    None,
    /// Found a cluster with this voter, unless a log exists.
    Found(Member),
    /// Restore a saved state with this voter; a log must not exist.
    Restore { member: Member, state: Vec<u8> },
    /// Receive the log from the leader of a cluster that has added this controller.
    Join,
}

/// The configuration of a replica.
#[derive(Debug, Clone)]
pub struct ReplicaConfig {
    pub id: ControllerId,
    pub cluster: ClusterId,
    pub bootstrap: Bootstrap,
    /// The number of entries after which a snapshot is taken.
    pub snapshot_every: u64,
    /// Entries larger than this and than the last snapshot also cause a snapshot.
    pub snapshot_bytes_min: u64,
    /// The number of entries after which the states of the members are compared. The same for all
    /// of them.
    pub compare_every: u64,
    /// The seed of election time-outs; equal seeds give equal histories.
    pub seed: u64,
    pub options: Options,
}

/// Creates a log without starting a replica.
///
/// # Errors
/// [`LogError`] if it cannot be written, or exists where it must not.
pub fn create_log<D: Disk>(disk: D, replica_config: &ReplicaConfig) -> Result<(), LogError> {
    replica_config.open(disk).map(drop)
}

/// The state at a log index; empty before the first entry.
pub(crate) struct RestoredState {
    pub index: u64,
    pub state: Vec<u8>,
}

impl ReplicaConfig {
    pub(crate) fn open<D: Disk>(&self, disk: D) -> Result<(LogStore<D>, RestoredState), LogError> {
        Ok(self.open_store(disk)?)
    }

    fn open_store<D: Disk>(&self, disk: D) -> Result<(LogStore<D>, RestoredState), StoreError> {
        let place = disk.display_path("");
        let (mut wal, recovered) = Wal::open(disk, self.options)?;
        if let Some(torn) = &recovered.torn {
            tracing::info!("removed an interrupted write at the end of the log: {torn:?}");
        }
        if let Some(file) = &recovered.damaged_snapshot {
            tracing::warn!("snapshot {file} is damaged; continuing from the one before");
        }
        let snapshot = match (recovered.snapshot, &self.bootstrap) {
            (Some(_), Bootstrap::Restore { .. }) => return Err(StoreError::Taken { place }),
            (Some(snapshot), _) => Some(snapshot),
            (None, Bootstrap::Found(member)) => {
                Some(self.write_first_snapshot(&mut wal, member, &[])?)
            }
            (None, Bootstrap::Restore { member, state }) => {
                Some(self.write_first_snapshot(&mut wal, member, state)?)
            }
            (None, Bootstrap::Join) => None,
            (None, Bootstrap::None) => return Err(StoreError::Empty { place }),
        };
        let mut hard_state = HardState::default();
        if let Some(recorded) = &recovered.hard_state {
            hard_state = HardState::parse_from_bytes(&recorded.payload)
                .map_err(decode_error("the hard state"))?;
            hard_state.commit = recorded.commit.0;
        }
        let snapshot_bytes = snapshot.as_ref().map_or(0, |snapshot| snapshot.payload.len() as u64);
        let (members, found) = match &snapshot {
            None => (
                Members { cluster: self.cluster, ..Members::default() },
                RestoredState { index: 0, state: Vec::new() },
            ),
            Some(snapshot) => {
                hard_state.commit = hard_state.commit.max(snapshot.index.0);
                hard_state.term = hard_state.term.max(snapshot.term.0);
                let (members, state) = snapshot_payload::split(&snapshot.payload)?;
                (members, RestoredState { index: snapshot.index.0, state: state.to_vec() })
            }
        };
        if members.cluster != self.cluster {
            let (found, expected) = (members.cluster, self.cluster);
            return Err(StoreError::Foreign { place, found, expected });
        }
        let (snapshot_index, wants_snapshot) = (found.index, Cell::new(false));
        let store =
            LogStore { wal, hard_state, members, snapshot_index, snapshot_bytes, wants_snapshot };
        Ok((store, found))
    }

    /// Writes the first snapshot, at index 1: the given state and one voter.
    fn write_first_snapshot<D: Disk>(
        &self,
        wal: &mut Wal<D>,
        member: &Member,
        state: &[u8],
    ) -> Result<wal::Snapshot, StoreError> {
        let members = Members::founding(self.cluster, self.id, member.clone());
        let payload = snapshot_payload::join(&members, state)?;
        let snapshot = wal::Snapshot { index: Index(1), term: Term(1), payload };
        wal.install_snapshot(&snapshot)?;
        Ok(snapshot)
    }
}
