//! A case becomes an ordinary [`Snapshot`], and `engine::round::fair_share` decides its rounds.
//! What kant cannot be asked for is reported as such.

mod allocations;
mod nodes;
mod player;
mod policy;
mod requests;
mod snapshot;

pub use player::SnapshotPlayer;

use super::error::ImportError;
use super::format::Case;
use common::id::JobKey;
use engine::{Snapshot, WaitingJob};

/// A job of kant that stands for a job of a case, or for a part of one.
#[derive(Debug, Clone)]
struct Part {
    /// As it waits.
    job: WaitingJob,
    /// The tasks of the case, by index, in the order of the job's ranks.
    tasks: Vec<usize>,
    /// Whether its user has deleted it: it does not wait again when it has ended.
    is_deleted: bool,
}

/// A case as nodes, queues and jobs of kant.
#[derive(Debug, Clone)]
pub struct World {
    snapshot: Snapshot,
    parts: Vec<Part>,
}

impl World {
    fn part(&self, key: JobKey) -> Option<&Part> {
        self.parts.iter().find(|part| part.job.key == key)
    }
}

/// The world of a case.
///
/// # Errors
/// [`ImportError`]: the case asks for something that kant does not have.
pub fn world(case: &Case) -> Result<World, ImportError> {
    snapshot::world(case)
}
