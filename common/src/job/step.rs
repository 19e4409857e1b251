//! A step of a job as accounting keeps it: what `srun` or `kantctl run` started in it. Never one of
//! its programs.

use super::ExitStatus;
use crate::hostlist::fold;
use crate::time::{Span, Time};
use crate::wire::node::StepView;
use serde::{Deserialize, Serialize};

/// Of so many steps a job's end tells: the last ones. What a job does step by step, thousands of
/// times, is told by its output.
pub const STEPS_TOLD_MAX: usize = 256;

/// Of so much of its list of nodes a step's record tells, in bytes; how many they are it tells
/// anyway.
const NODES_TOLD_MAX_BYTES: usize = 1024;

/// A step, for accounting and lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its number in the job.
    pub number: u32,
    /// Its name: usually the program's.
    pub name: String,
    /// Its nodes, folded: `g-[001-004]`; of many that do not fold the first, and `...`.
    pub nodes: String,
    /// How many they are.
    pub node_count: u32,
    pub tasks: u32,
    /// CPUs, on all its nodes.
    pub cpus: u32,
    /// GPUs, on all its nodes; `None`: all that its job has there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// Since when, by the clock of the job's first node.
    pub started_at: Time,
    /// Until when; `None`: it runs.
    #[serde(default)]
    pub ended_at: Option<Time>,
    /// How it ended: the worst of its tasks.
    #[serde(default)]
    pub exit: Option<ExitStatus>,
    /// It did not end by itself: its job was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
}

impl StepRecord {
    /// How long it ran, until now if it does.
    #[must_use]
    pub fn elapsed(&self, now: Time) -> Span {
        self.ended_at.unwrap_or(now).since(self.started_at)
    }
}

impl From<&StepView> for StepRecord {
    fn from(view: &StepView) -> Self {
        let shares = &view.shares;
        let gpus = |count: Option<u32>, gpus: &Option<Vec<u32>>| {
            let more = u32::try_from(gpus.as_ref()?.len()).unwrap_or(u32::MAX);
            Some(count?.saturating_add(more))
        };
        Self {
            number: view.number,
            name: view.name.clone(),
            nodes: cut(fold(shares.iter().map(|share| &share.node))),
            node_count: u32::try_from(shares.len()).unwrap_or(u32::MAX),
            tasks: shares.iter().fold(0, |sum, share| sum.saturating_add(share.tasks)),
            cpus: shares.iter().fold(0, |sum, share| sum.saturating_add(share.cpus.len())),
            gpus: shares.iter().map(|share| &share.gpus).fold(Some(0), gpus),
            started_at: view.opened_at,
            ended_at: view.ended_at,
            exit: view.exit,
            cut_off: false,
        }
    }
}

/// With [`STEPS_TOLD_MAX`] a job's steps are to fit into an entry of the log.
fn cut(mut nodes: String) -> String {
    if nodes.len() > NODES_TOLD_MAX_BYTES {
        let most = nodes.floor_char_boundary(NODES_TOLD_MAX_BYTES);
        let whole = nodes[..most].rfind(',').map_or(most, |comma| comma + 1);
        nodes.truncate(whole);
        nodes.push_str("...");
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpuset::CpuSet;
    use crate::id::NodeName;
    use crate::wire::node::StepShare;

    #[test]
    fn the_parts_of_a_step_add_up() {
        let share = |node: &str, gpus: Option<Vec<u32>>| StepShare {
            node: NodeName::new(node).unwrap(),
            tasks: 2,
            cpus: CpuSet::first(4),
            gpus,
        };
        let mut view = StepView {
            number: 3,
            name: "train".to_owned(),
            shares: vec![share("g-1", Some(vec![0, 2])), share("g-2", Some(vec![1]))],
            exclusive: true,
            opened_at: Time(1000),
            ended_at: None,
            exit: None,
        };
        let record = StepRecord::from(&view);
        assert_eq!((record.nodes.as_str(), record.node_count), ("g-[1-2]", 2));
        assert_eq!((record.tasks, record.cpus, record.gpus), (4, 8, Some(3)));
        assert_eq!(record.elapsed(Time(3000)), Span::from_seconds(2));
        let odd = (0..4000).map(|number| share(&format!("g-{}", number * 2), None));
        let far = StepRecord::from(&StepView { shares: odd.collect(), ..view.clone() });
        assert!(far.nodes.starts_with("g-[0,2,4,") && far.nodes.ends_with(",..."), "{}", far.nodes);
        assert!(far.nodes.len() <= 1027 && far.node_count == 4000, "{}", far.nodes.len());
        view.shares[0].gpus = None;
        assert_eq!(StepRecord::from(&view).gpus, None, "all that the job has there");
    }
}
