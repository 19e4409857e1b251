//! The number of GPUs a step asks for on each of its nodes.

use common::wire::node::{StepAnswer, StepAsk, StepGpus};

/// The number for each node; `None` means all of the job's GPUs there.
pub fn gpus_per_node(ask: &StepAsk) -> Result<Vec<Option<u32>>, StepAnswer> {
    let nodes = u32::try_from(ask.tasks.len()).unwrap_or(u32::MAX).max(1);
    Ok(match ask.gpus {
        StepGpus::All => ask.tasks.iter().map(|_| None).collect(),
        StepGpus::PerNode(count) => ask.tasks.iter().map(|_| Some(count)).collect(),
        StepGpus::PerTask(count) => {
            ask.tasks.iter().map(|(_, tasks)| Some(tasks.saturating_mul(count))).collect()
        }
        StepGpus::Total(count) if count % nodes != 0 => {
            let text = format!("{count} GPUs cannot be divided evenly among {nodes} nodes");
            return Err(StepAnswer::Refused(text));
        }
        StepGpus::Total(count) => ask.tasks.iter().map(|_| Some(count / nodes)).collect(),
    })
}
