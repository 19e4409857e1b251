//! Looks for processes that a job left and nobody knows of: a group below ours whose step has no
//! directory in the spool, which was lost or emptied while the job ran. Never ends them: whose they
//! are cannot be known any more, and an operator may want what they still write.

use crate::cgroup::{self, Place};
use crate::step::StepDir;
use common::health::Check;
use node::Sign;
use std::path::PathBuf;

/// What is looked at.
#[derive(Debug, Clone)]
pub struct OrphanProbe {
    place: Place,
    steps: PathBuf,
}

impl OrphanProbe {
    /// Groups in this place, steps in this directory.
    #[must_use]
    pub const fn new(place: Place, steps: PathBuf) -> Self {
        Self { place, steps }
    }

    /// One look: a sign for each group that holds processes and belongs to no step. What cannot be
    /// read holds none.
    #[must_use]
    pub fn look(&self) -> Vec<Sign> {
        let groups = cgroup::names(&self.place).unwrap_or_default();
        // A step's directory is made before its group and removed after it.
        let unknown = groups.into_iter().filter(|name| self.is_unknown(name));
        let occupied = unknown.filter_map(|name| {
            let group = cgroup::open_to_look(&self.place, &name).ok()?;
            group.pids().is_ok_and(|pids| !pids.is_empty()).then(|| group.name())
        });
        let says = |group: String| {
            format!(
                "{group} holds processes of a job that this kantd does not know: look whose they \
                 are, and end them; if another kantd runs on this host, give each its own \
                 `cgroup_root` instead"
            )
        };
        occupied.map(|group| Sign::new(Check::Orphans, says(group))).collect()
    }

    /// Named like a step, or a step's hook (`42.1-prolog`), of which nothing is in the spool.
    fn is_unknown(&self, group: &str) -> bool {
        let step = group.split_once('-').map_or(group, |(step, _)| step);
        let dir = self.steps.join(step);
        StepDir::at(&dir).id().is_some() && matches!(dir.try_exists(), Ok(false))
    }
}
