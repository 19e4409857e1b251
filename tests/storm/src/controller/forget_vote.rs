//! The injected bug `forget-vote`: what the log of a controller is like if votes are not recorded.

use crate::disk::StormDisk;
use replica::votes::without_vote;
use wal::{HardState, Wal};

/// Removes the vote from the log on this disk, if one is there.
pub(super) fn forget_vote(disk: &StormDisk, options: wal::Options) {
    let Ok((mut wal, recovered)) = Wal::open(disk.clone(), options) else { return };
    let Some(recorded) = recovered.hard_state else { return };
    let Some(payload) = without_vote(&recorded.payload) else { return };
    // Without room, this start remembers its vote.
    let _ = wal.append(Vec::new(), Some(HardState { payload, ..recorded }));
    let _ = wal.sync();
}
