//! Opening a log: going on with one, founding a cluster, or joining one. Never overwrites a log,
//! and never begins one unasked.

use crate::error::{LogError, StoreError, decode_error};
use crate::members::{Member, Members};
use crate::payload;
use crate::storage::LogStore;
use common::id::{ClusterId, ControllerId};
use protobuf::Message as _;
use raft::eraftpb::HardState;
use std::cell::Cell;
use wal::{Disk, Index, Options, Term, Wal};

/// A snapshot smaller than this is read, and entries of so many bytes are replayed, in no time:
/// more snapshots would make no start quicker.
pub const SNAPSHOT_BYTES_MIN: u64 = 32 << 20;

/// What an empty directory is to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beginning {
    /// Nothing: there must be a log.
    None,
    /// A new cluster with this one voter, unless a log is there already.
    Found(Member),
    /// The cluster that was saved, with this one voter; refused where a log is.
    Restore { member: Member, state: Vec<u8> },
    /// One more of a cluster that runs, and has added it: its log comes from the leader.
    Join,
}

/// Which log is opened, and how.
#[derive(Debug, Clone)]
pub struct Opening {
    pub id: ControllerId,
    /// Of which cluster; `None`: of whichever the log says.
    pub cluster: Option<ClusterId>,
    /// What to do with an empty directory.
    pub beginning: Beginning,
    /// A snapshot of the state is taken after so many entries.
    pub snapshot_every: u64,
    /// Or once the entries since the last one hold more bytes than it, and than this.
    pub snapshot_bytes_min: u64,
    /// Spreads elections; equal seeds give equal histories.
    pub seed: u64,
    pub options: Options,
}

/// Begins a log without starting a replica: what [`Beginning`] says becomes durable.
///
/// # Errors
/// [`LogError`] when it cannot be written, or one is there that must not be.
pub fn begin<D: Disk>(disk: D, opening: &Opening) -> Result<(), LogError> {
    opening.open(disk).map(drop)
}

/// The state as of a log index; empty before the first entry.
pub(crate) struct Found {
    pub index: u64,
    pub state: Vec<u8>,
}

impl Opening {
    pub(crate) fn open<D: Disk>(&self, disk: D) -> Result<(LogStore<D>, Found), LogError> {
        Ok(self.open_store(disk)?)
    }

    fn open_store<D: Disk>(&self, disk: D) -> Result<(LogStore<D>, Found), StoreError> {
        let place = disk.place("");
        let (mut wal, recovered) = Wal::open(disk, self.options)?;
        if let Some(torn) = &recovered.torn {
            tracing::info!("cut off an unfinished write at the end of the log: {torn:?}");
        }
        if let Some(file) = &recovered.damaged_snapshot {
            tracing::warn!("snapshot {file} is damaged; going on from the one before it");
        }
        let snapshot = match (recovered.snapshot, &self.beginning) {
            (Some(_), Beginning::Restore { .. }) => return Err(StoreError::Taken { place }),
            (Some(snapshot), _) => Some(snapshot),
            (None, Beginning::Found(member)) => Some(self.begin(&mut wal, member, &[])?),
            (None, Beginning::Restore { member, state }) => {
                Some(self.begin(&mut wal, member, state)?)
            }
            (None, Beginning::Join) => None,
            (None, Beginning::None) => return Err(StoreError::Empty { place }),
        };
        let mut hard_state = HardState::default();
        if let Some(recorded) = &recovered.hard_state {
            hard_state = HardState::parse_from_bytes(&recorded.payload)
                .map_err(decode_error("the hard state"))?;
            hard_state.commit = recorded.commit.0;
        }
        let snapshot_bytes = snapshot.as_ref().map_or(0, |snapshot| snapshot.payload.len() as u64);
        let (members, found) = match &snapshot {
            None => {
                let cluster = self.cluster.unwrap_or_default();
                (Members { cluster, ..Members::default() }, Found { index: 0, state: Vec::new() })
            }
            Some(snapshot) => {
                hard_state.commit = hard_state.commit.max(snapshot.index.0);
                hard_state.term = hard_state.term.max(snapshot.term.0);
                let (members, state) = payload::split(&snapshot.payload)?;
                (members, Found { index: snapshot.index.0, state: state.to_vec() })
            }
        };
        if let Some(expected) = self.cluster.filter(|expected| *expected != members.cluster) {
            return Err(StoreError::Foreign { place, found: members.cluster, expected });
        }
        let (snapshot_index, wants_snapshot) = (found.index, Cell::new(false));
        let store =
            LogStore { wal, hard_state, members, snapshot_index, snapshot_bytes, wants_snapshot };
        Ok((store, found))
    }

    /// Writes the first snapshot: a state, empty for a new cluster; one voter; index 1.
    fn begin<D: Disk>(
        &self,
        wal: &mut Wal<D>,
        member: &Member,
        state: &[u8],
    ) -> Result<wal::Snapshot, StoreError> {
        let cluster = self.cluster.unwrap_or_default();
        let members = Members::founding(cluster, self.id, member.clone());
        let payload = payload::join(&members, state)?;
        let snapshot = wal::Snapshot { index: Index(1), term: Term(1), payload };
        wal.install_snapshot(&snapshot)?;
        Ok(snapshot)
    }
}
