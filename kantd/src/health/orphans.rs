//! Detection of orphaned processes of jobs: in a cgroup of ours whose step has no directory in the
//! spool, which was lost or emptied while the job ran. They are not killed: their job is unknown,
//! and an operator may want to keep their output.

use crate::cgroup::{self, CgroupParent};
use crate::step::StepDir;
use common::health::Check;
use node::Symptom;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct OrphanProbe {
    parent: CgroupParent,
    steps: PathBuf,
}

impl OrphanProbe {
    /// Cgroups below this parent, and steps in this directory.
    #[must_use]
    pub const fn new(parent: CgroupParent, steps: PathBuf) -> Self {
        Self { parent, steps }
    }

    /// A symptom for each cgroup that has processes and no step. Unreadable ones count as empty.
    #[must_use]
    pub fn symptoms(&self) -> Vec<Symptom> {
        let groups = cgroup::names(&self.parent).unwrap_or_default();
        // A step's directory is made before its cgroup and removed after it.
        let unknown = groups.into_iter().filter(|name| self.is_unknown(name));
        let occupied = unknown.filter_map(|name| {
            let group = cgroup::open_by_name(&self.parent, &name).ok()?;
            group.pids().is_ok_and(|pids| !pids.is_empty()).then(|| group.name())
        });
        let says = |group: String| {
            format!(
                "{group} has processes of a job that kantd does not know: check which job they \
                 belong to, and end them; if another kantd runs on this host, give each its own \
                 `cgroup_root` instead"
            )
        };
        occupied.map(|group| Symptom::new(Check::Orphans, says(group))).collect()
    }

    /// Whether a cgroup is named like a step, or its hook (`42.1-prolog`), without a directory.
    fn is_unknown(&self, group: &str) -> bool {
        let step = group.split_once('-').map_or(group, |(step, _)| step);
        let dir = self.steps.join(step);
        StepDir::at(&dir).id().is_some() && matches!(dir.try_exists(), Ok(false))
    }
}
