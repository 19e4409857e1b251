//! GPUs that a step asks for, shared out over its nodes. Never which ones.

use common::wire::node::{StepAnswer, StepAsk, StepGpus};

/// How many on each node; `None`: all that the job has there.
pub fn gpus_each(ask: &StepAsk) -> Result<Vec<Option<u32>>, StepAnswer> {
    let nodes = u32::try_from(ask.tasks.len()).unwrap_or(u32::MAX).max(1);
    Ok(match ask.gpus {
        StepGpus::All => ask.tasks.iter().map(|_| None).collect(),
        StepGpus::PerNode(count) => ask.tasks.iter().map(|_| Some(count)).collect(),
        StepGpus::PerTask(count) => {
            ask.tasks.iter().map(|(_, tasks)| Some(tasks.saturating_mul(count))).collect()
        }
        StepGpus::Total(count) if count % nodes != 0 => {
            let text = format!("{count} GPUs cannot be shared out evenly over {nodes} nodes");
            return Err(StepAnswer::Refused(text));
        }
        StepGpus::Total(count) => ask.tasks.iter().map(|_| Some(count / nodes)).collect(),
    })
}
