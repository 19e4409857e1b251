//! The environment in a submission: variables that set options, and variables that the job gets.
//! `shell` reads the environment itself.

use super::export::Export;
use super::options::{self, Options};
use super::parse_error::explain;
use crate::failure::Failure;
use common::job::attributes::{ROWS, SlurmReader};
use std::collections::BTreeMap;

/// Prefix of variables that set an option (`KANTCTL_QUEUE`, `KANTCTL_NTASKS_PER_NODE`). It is not
/// `KANT_`, because those describe the surrounding job, and must not affect a submission inside it.
const PREFIX: &str = "KANTCTL_";

/// Options set by the environment; `KANTCTL_` overrides `SBATCH_`.
///
/// # Errors
/// [`Failure`] naming the variable with an invalid value.
pub fn read_options(environment: &BTreeMap<String, String>) -> Result<Options, Failure> {
    Ok(read_kantctl_options(environment)?
        .merged_over(read_slurm_options(environment, SlurmReader::Sbatch)?))
}

/// Options set by variables of a Slurm command.
/// Source: INPUT ENVIRONMENT VARIABLES in man sbatch, man salloc, man srun.
///
/// # Errors
/// As [`read_options`].
pub fn read_slurm_options(
    environment: &BTreeMap<String, String>,
    command: SlurmReader,
) -> Result<Options, Failure> {
    let prefix = match command {
        SlurmReader::Sbatch => "SBATCH_",
        SlurmReader::Salloc => "SALLOC_",
        // Of srun outside a job.
        SlurmReader::Srun => "SLURM_",
    };
    let rows = ROWS.iter().filter(|row| row.slurm.read_by.contains(&command));
    let names = rows.map(|row| (format!("{prefix}{}", row.slurm.variable), row.option.to_owned()));
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
        let Some(word) = to_option_word(&long, value) else { continue };
        let one = options::read_words(&[word]).map_err(|error| {
            Failure::usage(anyhow::anyhow!("environment variable {name}: {}", explain(&error)))
        })?;
        layer = one.merged_over(layer);
    }
    Ok(layer)
}

/// The option as a command line word; `None` for a flag that is off (`no`, `0`, `false`).
fn to_option_word(long: &str, value: &str) -> Option<String> {
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

/// The variables as the controller keeps them: `NAME=value`, each terminated by NUL.
#[must_use]
pub fn to_text(variables: &BTreeMap<String, String>) -> String {
    variables.iter().flat_map(|(name, value)| [name, "=", value, "\0"]).collect()
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
