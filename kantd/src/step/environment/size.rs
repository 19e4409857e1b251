//! How large a job is, for its script to read while it runs: a job may be given another size. Never
//! what is the node's own.
//! Source: the script that `scontrol update JobId= NumNodes=` writes (man scontrol).

use super::Variables;
use crate::step::order::StepOrder;
use common::job::Launch;
use std::collections::BTreeMap;

/// Names the file that tells how large the job is ([`of_size`]).
pub const SIZE_FILE: &str = "KANT_ENV_FILE";

/// Those variables that tell how large the job is, for a shell to read (`. $KANT_ENV_FILE`). A job
/// that was given another size finds here what it has now.
/// Source: the script that `scontrol update JobId= NumNodes=` writes.
#[must_use]
pub fn of_size(order: &StepOrder, resized: u32) -> String {
    let mut variables = Variables(BTreeMap::new());
    variables.nodes(order);
    variables.set("KANT_RESIZED", resized);
    if order.launch.launch != Launch::Once {
        variables.step();
    }
    if !order.gpus.is_empty() {
        variables.set("SLURM_GPUS", order.launch.allocation.gpus());
    }
    // The node's own are as before.
    let own = ["SLURMD_NODENAME", "SLURM_NODEID", "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE"];
    let is_own = |name: &str| {
        own.contains(&name)
            || name.starts_with("KANT_NODE") && name != "KANT_NODE_COUNT" && name != "KANT_NODES"
    };
    let lines = variables.0.iter().filter(|(name, _)| !is_own(name));
    let mut text: String =
        lines.map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    if !variables.0.contains_key("SLURM_NTASKS_PER_NODE") {
        text.push_str("unset SLURM_NTASKS_PER_NODE\n");
    }
    text
}
