//! The accounting record of a step, made from a node's report.

use super::node::StepView;
use crate::hostlist::compress;
#[cfg(doc)]
use crate::job::STEPS_REPORTED_MAX;
use crate::job::StepRecord;

/// The maximum length of the node list in a step's record, which also has the number of nodes.
const NODES_BYTES_MAX: usize = 1024;

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
            nodes: truncate_nodes(compress(shares.iter().map(|share| &share.node))),
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

/// A truncated node list. The steps of a job (at most [`STEPS_REPORTED_MAX`]) must fit into one log
/// entry.
fn truncate_nodes(mut nodes: String) -> String {
    if nodes.len() > NODES_BYTES_MAX {
        let most = nodes.floor_char_boundary(NODES_BYTES_MAX);
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
    use crate::time::{Span, Time};
    use crate::wire::node::StepShare;

    #[test]
    fn the_parts_of_a_step_add_up() {
        let share = |node: &str, gpus: Option<Vec<u32>>| StepShare {
            node: NodeName::new(node).unwrap(),
            tasks: 2,
            cpus: CpuSet::first_n(4),
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
