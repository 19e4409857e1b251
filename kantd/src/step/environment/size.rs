//! The environment variables that describe a job's size, which may change while the job runs.
//! Source: the script that `scontrol update JobId= NumNodes=` writes (man scontrol).

use super::Variables;
use crate::step::spec::StepSpec;
use common::job::Launch;
use std::collections::BTreeMap;

/// The variable with the path of the file that [`size_script`] describes.
pub const SIZE_FILE: &str = "KANT_ENV_FILE";

/// A shell script (`. $KANT_ENV_FILE`) that sets the variables of the job's current size.
/// Source: the script that `scontrol update JobId= NumNodes=` writes.
#[must_use]
pub fn size_script(spec: &StepSpec, resized: u32) -> String {
    let mut variables = Variables(BTreeMap::new());
    variables.set_nodes(spec);
    variables.set("KANT_RESIZED", resized);
    if spec.launch.launch != Launch::Once {
        variables.set_step();
    }
    if !spec.gpus.is_empty() {
        variables.set("SLURM_GPUS", spec.launch.allocation.gpus());
    }
    // The node's own values do not change.
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
