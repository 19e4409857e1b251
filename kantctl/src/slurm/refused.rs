//! Options of Slurm's commands that are not known here, with what to do instead: each is refused
//! with that. Never an option that is known.
//! Source: the manual pages of each command, release 22.05. Those of sbatch stand with submission.

use super::name::Name;
use crate::failure::Failure;
use crate::submission::complaint;

const LATER: &str = "--json is";

const SACCT: &[(&str, &str)] = &[
    ("--associations", "accounts stand in the configuration"),
    ("--batch-script", "`kantctl show job` names the files"),
    ("--completion", ""),
    ("--constraints", ""),
    ("--env-vars", ""),
    ("--file", ""),
    ("--federation-origin", ""),
    ("--flags", ""),
    ("--ncpus", ""),
    ("--nnodes", ""),
    ("--reason", ""),
    ("--timelimit-max", ""),
    ("--timelimit-min", ""),
    ("--use-local-uid", ""),
    ("--wckeys", ""),
    ("--whole-hetjob", ""),
    ("--yaml", LATER),
];

const SCANCEL: &[(&str, &str)] = &[
    ("--hurry", ""),
    ("--interactive", "`squeue` shows them before"),
    ("--sibling", "there are no federations"),
    ("--wckey", ""),
];

const SCONTROL: &[(&str, &str)] = &[
    ("--future", ""),
    ("--hide", ""),
    ("--sibling", "there are no federations"),
    ("--uid", ""),
    ("--yaml", LATER),
];

const SINFO: &[(&str, &str)] = &[
    ("--cluster-nodes", ""),
    ("--future", ""),
    ("--hide", ""),
    ("--noconvert", ""),
    ("--reservation", "`scontrol show reservation`"),
    ("--yaml", LATER),
];

const SQUEUE: &[(&str, &str)] = &[
    ("--hide", ""),
    ("--licenses", ""),
    ("-L", ""),
    ("--noconvert", ""),
    ("--only-job-state", ""),
    ("--sibling", "there are no federations"),
    ("--yaml", LATER),
];

const SPRIO: &[(&str, &str)] = &[("--sibling", "there are no federations"), ("--sort", "")];

const SREPORT: &[(&str, &str)] = &[("--all_clusters", "there is one"), ("--quiet", "")];

const SSHARE: &[(&str, &str)] = &[
    ("--format", "`kantctl report --csv`"),
    ("--parent", "accounts are a flat list"),
    ("--partition", "shares are accounts'"),
];

const SRUN: &[(&str, &str)] = &[
    ("--bcast", "a shared file system holds programs"),
    ("--epilog", ""),
    ("--het-group", ""),
    ("--multi-prog", "choose by SLURM_PROCID in a script"),
    ("--preserve-env", ""),
    ("-E", ""),
    ("--prolog", ""),
    ("--relative", "name nodes with --nodelist"),
    ("-r", "name nodes with --nodelist"),
    ("--signal", "of a job: sbatch has it"),
    ("--slurmd-debug", ""),
    ("--task-epilog", ""),
    ("--task-prolog", ""),
    ("--test-only", ""),
    ("--threads", ""),
    ("-T", ""),
    ("--x11", ""),
];

/// Those of this command.
#[must_use]
pub const fn of(name: Name) -> &'static [(&'static str, &'static str)] {
    match name {
        Name::Sacct => SACCT,
        Name::Sacctmgr | Name::Salloc | Name::Sbatch | Name::Sdiag => &[],
        Name::Scancel => SCANCEL,
        Name::Scontrol => SCONTROL,
        Name::Sinfo => SINFO,
        Name::Sprio => SPRIO,
        Name::Squeue => SQUEUE,
        Name::Sreport => SREPORT,
        Name::Srun => SRUN,
        Name::Sshare => SSHARE,
    }
}

/// The refusal of an option of Slurm's that is not known here; `None` for any other word.
#[must_use]
pub fn told(name: Name, option: &str) -> Option<Failure> {
    let known = of(name).iter().find(|(known, _)| *known == option);
    let Some((_, instead)) = known else {
        // What sbatch refuses, those that ask for jobs as it does refuse in the same words.
        let is_asking = matches!(name, Name::Salloc | Name::Srun);
        let text = is_asking.then(|| complaint::not_yet(option)).flatten()?;
        return Some(Failure::usage(anyhow::Error::msg(text)));
    };
    let gap = if instead.is_empty() { "" } else { ": " };
    let text = format!("{option} is not supported in this release{gap}{instead}");
    Some(Failure::usage(anyhow::Error::msg(text)))
}
