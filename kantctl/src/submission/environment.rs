//! The environment in a submission: variables that set options, and variables that the job gets.
//! `shell` reads the environment itself.

use super::export::Export;
use super::options::{self, Options};
use super::parse_error::explain;
use crate::failure::Failure;
use std::collections::BTreeMap;

/// Prefix of variables that set an option (`KANTCTL_QUEUE`, `KANTCTL_NTASKS_PER_NODE`). It is not
/// `KANT_`, because those describe the surrounding job, and must not affect a submission inside it.
const PREFIX: &str = "KANTCTL_";

/// Variables of sbatch (man sbatch, INPUT ENVIRONMENT VARIABLES) and the options they set.
const SBATCH: &[(&str, &str)] = &[
    ("SBATCH_ACCOUNT", "account"),
    ("SBATCH_ARRAY_INX", "array"),
    ("SBATCH_CONTAINER", "container"),
    ("SBATCH_ERROR", "error"),
    ("SBATCH_EXCLUSIVE", "exclusive"),
    ("SBATCH_EXPORT", "export"),
    ("SBATCH_GPUS", "gpus"),
    ("SBATCH_GPUS_PER_NODE", "gpus-per-node"),
    ("SBATCH_GPUS_PER_TASK", "gpus-per-task"),
    ("SBATCH_GRES", "gres"),
    ("SBATCH_INPUT", "input"),
    ("SBATCH_JOB_NAME", "job-name"),
    ("SBATCH_MEM_PER_CPU", "mem-per-cpu"),
    ("SBATCH_MEM_PER_GPU", "mem-per-gpu"),
    ("SBATCH_MEM_PER_NODE", "mem"),
    ("SBATCH_NO_REQUEUE", "no-requeue"),
    ("SBATCH_OPEN_MODE", "open-mode"),
    ("SBATCH_OUTPUT", "output"),
    ("SBATCH_PARTITION", "queue"),
    ("SBATCH_QOS", "qos"),
    ("SBATCH_REQUEUE", "requeue"),
    ("SBATCH_REQ_SWITCH", "switches"),
    ("SBATCH_RESERVATION", "reservation"),
    ("SBATCH_SIGNAL", "signal"),
    ("SBATCH_TIMELIMIT", "time"),
    ("SBATCH_WAIT", "wait"),
];

/// Variables of salloc (man salloc, INPUT ENVIRONMENT VARIABLES) and the options they set.
const SALLOC: &[(&str, &str)] = &[
    ("SALLOC_ACCOUNT", "account"),
    ("SALLOC_EXCLUSIVE", "exclusive"),
    ("SALLOC_GPUS", "gpus"),
    ("SALLOC_GPUS_PER_NODE", "gpus-per-node"),
    ("SALLOC_GPUS_PER_TASK", "gpus-per-task"),
    ("SALLOC_GRES", "gres"),
    ("SALLOC_MEM_PER_CPU", "mem-per-cpu"),
    ("SALLOC_MEM_PER_GPU", "mem-per-gpu"),
    ("SALLOC_MEM_PER_NODE", "mem"),
    ("SALLOC_PARTITION", "queue"),
    ("SALLOC_QOS", "qos"),
    ("SALLOC_RESERVATION", "reservation"),
    ("SALLOC_REQ_SWITCH", "switches"),
    ("SALLOC_TIMELIMIT", "time"),
];

/// Variables of srun outside of a job (man srun, INPUT ENVIRONMENT VARIABLES).
const SRUN: &[(&str, &str)] = &[
    ("SLURM_ACCOUNT", "account"),
    ("SLURM_EXCLUSIVE", "exclusive"),
    ("SLURM_GPUS", "gpus"),
    ("SLURM_GPUS_PER_NODE", "gpus-per-node"),
    ("SLURM_GPUS_PER_TASK", "gpus-per-task"),
    ("SLURM_GRES", "gres"),
    ("SLURM_JOB_NAME", "job-name"),
    ("SLURM_MEM_PER_CPU", "mem-per-cpu"),
    ("SLURM_MEM_PER_GPU", "mem-per-gpu"),
    ("SLURM_MEM_PER_NODE", "mem"),
    ("SLURM_NTASKS", "ntasks"),
    ("SLURM_PARTITION", "queue"),
    ("SLURM_QOS", "qos"),
    ("SLURM_RESERVATION", "reservation"),
    ("SLURM_REQ_SWITCH", "switches"),
    ("SLURM_TIMELIMIT", "time"),
];

/// The Slurm command whose variables are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlurmCommand {
    Sbatch,
    Salloc,
    Srun,
}

/// Options set by the environment; `KANTCTL_` overrides `SBATCH_`.
///
/// # Errors
/// [`Failure`] naming the variable with an invalid value.
pub fn read_options(environment: &BTreeMap<String, String>) -> Result<Options, Failure> {
    Ok(read_kantctl_options(environment)?
        .over(read_slurm_options(environment, SlurmCommand::Sbatch)?))
}

/// Options set by variables of a Slurm command.
///
/// # Errors
/// As [`read_options`].
pub fn read_slurm_options(
    environment: &BTreeMap<String, String>,
    command: SlurmCommand,
) -> Result<Options, Failure> {
    let names = match command {
        SlurmCommand::Sbatch => SBATCH,
        SlurmCommand::Salloc => SALLOC,
        SlurmCommand::Srun => SRUN,
    };
    let names = names.iter().map(|(name, long)| ((*name).to_owned(), (*long).to_owned()));
    read_layer(environment, names)
}

/// Options set by `KANTCTL_` variables.
///
/// # Errors
/// As [`read_options`].
pub fn read_kantctl_options(environment: &BTreeMap<String, String>) -> Result<Options, Failure> {
    let own = options::definition()
        .get_arguments()
        .filter_map(|arg| arg.get_long())
        .map(|long| (format!("{PREFIX}{}", long.to_uppercase().replace('-', "_")), long.to_owned()))
        .chain([(format!("{PREFIX}PARTITION"), "queue".to_owned())])
        .collect::<Vec<_>>();
    read_layer(environment, own)
}

fn read_layer(
    environment: &BTreeMap<String, String>,
    names: impl IntoIterator<Item = (String, String)>,
) -> Result<Options, Failure> {
    let mut layer = Options::default();
    for (name, long) in names {
        let Some(value) = environment.get(&name) else { continue };
        let Some(word) = word(&long, value) else { continue };
        let one = options::read_words(&[word]).map_err(|error| {
            Failure::usage(anyhow::anyhow!("environment variable {name}: {}", explain(&error)))
        })?;
        layer = one.over(layer);
    }
    Ok(layer)
}

/// The option as a command line word; `None` for a flag that is off (`no`, `0`, `false`).
fn word(long: &str, value: &str) -> Option<String> {
    let definition = options::definition();
    let argument = definition.get_arguments().find(|arg| arg.get_long() == Some(long))?;
    if argument.get_action().takes_values() {
        return Some(format!("--{long}={value}"));
    }
    (!matches!(value, "no" | "0" | "false")).then(|| format!("--{long}"))
}

/// Variables that kant sets in a job, and that must not be inherited by jobs submitted inside it.
const OF_ONE_JOB: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "RANK",
    "WORLD_SIZE",
];

/// The environment that the job gets, with the submission directory as `PWD`, from which the node
/// derives SLURM_SUBMIT_DIR.
#[must_use]
pub fn for_job(
    export: &Export,
    shell: &BTreeMap<String, String>,
    directory: &str,
) -> BTreeMap<String, String> {
    let inside = shell.contains_key("KANT_JOB_ID");
    let stale = |name: &str| {
        let facts = ["SLURM_", "SLURMD_", "KANT_"].iter().any(|p| name.starts_with(p));
        let ours = matches!(name, "KANT_SOCKET" | "KANT_CONFIG" | "KANT_RETRY");
        inside && (facts && !ours || OF_ONE_JOB.contains(&name))
    };
    let fresh = shell.iter().filter(|(name, _)| !stale(name));
    let fresh = fresh.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut passed = export.apply(&fresh);
    passed.insert("PWD".to_owned(), directory.to_owned());
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn kantctl_variables_override_sbatch_variables() {
        let read = read_options(&variables(&[
            ("SBATCH_TIMELIMIT", "10"),
            ("SBATCH_PARTITION", "cpu"),
            ("KANTCTL_QUEUE", "gpu"),
            ("SBATCH_EXCLUSIVE", ""),
            ("SBATCH_REQUEUE", "1"),
            ("KANTCTL_HOLD", "no"),
            ("KANT_NTASKS", "99"),
        ]));
        let expected = ["--time=10", "--queue=gpu", "--exclusive", "--requeue"];
        assert_eq!(read.unwrap(), options::read_words(&expected).unwrap());
    }

    #[test]
    fn a_bad_value_names_its_variable() {
        let error = read_options(&variables(&[("SBATCH_TIMELIMIT", "soon")])).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("SBATCH_TIMELIMIT") && message.contains("soon"), "{message}");
    }

    #[test]
    fn every_variable_of_sbatch_sets_an_existing_option() {
        let definition = options::definition();
        for (name, long) in SBATCH {
            let known = definition.get_arguments().any(|arg| arg.get_long() == Some(long));
            assert!(known, "{name} sets --{long}");
        }
    }

    #[test]
    fn a_job_submitted_inside_a_job_does_not_inherit_its_variables() {
        let inside = variables(&[
            ("KANT_JOB_ID", "7"),
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("CUDA_VISIBLE_DEVICES", "GPU-1"),
            ("KANT_SOCKET", "/s"),
            ("HOME", "/h"),
        ]);
        let names = for_job(&Export::default(), &inside, "/d").into_keys().collect::<Vec<_>>();
        assert_eq!(names, ["HOME", "KANT_SOCKET", "PWD"]);
        let outside = variables(&[("CUDA_VISIBLE_DEVICES", "0"), ("SLURM_CONF", "/c")]);
        assert_eq!(for_job(&Export::default(), &outside, "/d").len(), 3);
    }
}
