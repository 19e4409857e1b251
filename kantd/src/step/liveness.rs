//! Why a replica of a service is ended although no user requested it: probes found that it does
//! not work. Probes find it, and the supervisor ends the step.

use common::job::{Probe, Replica};
use common::time::Span;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LivenessFailure {
    /// Its liveness probe failed this number of times in a row.
    Failed { in_a_row: u32 },
    /// Its startup probe did not succeed within this time.
    NotStarted { within: Span },
}

impl LivenessFailure {
    /// The message for the job's user.
    #[must_use]
    pub fn sentence(&self, replica: Option<&Replica>) -> String {
        let probes = replica.map(|replica| &replica.probes);
        let action = |probe: Option<&Probe>| {
            probe.map(|probe| format!(" ({})", probe.action)).unwrap_or_default()
        };
        match self {
            Self::Failed { in_a_row } => {
                let action = action(probes.and_then(|probes| probes.liveness.as_ref()));
                format!("its liveness probe{action} failed {in_a_row} times in a row")
            }
            Self::NotStarted { within } => {
                let action = action(probes.and_then(|probes| probes.startup.as_ref()));
                format!("its startup probe{action} did not succeed within {within}")
            }
        }
    }
}
