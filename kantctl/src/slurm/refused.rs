//! Options of Slurm's commands that are not known here, with what to do instead: each is refused
//! with that. Never an option that is known.
//! Source: the manual pages of each command, release 22.05. Those of sbatch stand with submission.

use super::name::Name;
use crate::failure::Failure;
use crate::submission::parse_error;

const LATER: &str = "--json is";

const SACCT: &[(&str, &str)] = &[
    ("--associations", "accounts stand in the configuration"),
    ("--batch-script", "`kantctl show job` names the files"),
    ("--completion", "accounting is the one record there is"),
    ("--constraints", "see `-o jobid,constraints`, and filter that"),
    ("--env-vars", "the environment is not kept once a job is over"),
    ("--file", "records are in the controllers: `kantctl export` writes them out"),
    ("--federation-origin", "there are no federations"),
    ("--flags", "jobs carry no marks of the scheduler"),
    ("--ncpus", "see `-o jobid,ncpus`, and filter that"),
    ("--nnodes", "see `-o jobid,nnodes`, and filter that"),
    ("--reason", "see `-o jobid,reason`, and filter that"),
    ("--timelimit-max", "see `-o jobid,timelimitraw`, and filter that"),
    ("--timelimit-min", "see `-o jobid,timelimitraw`, and filter that"),
    ("--use-local-uid", "users have the names that the controllers know them by"),
    ("--wckeys", "there are no such keys: use --accounts"),
    ("--whole-hetjob", "name the first job of the set: all its components are shown"),
    ("--yaml", LATER),
];

const SATTACH: &[(&str, &str)] = &[(
    "--pty",
    "what is typed is sent line by line without it, also to a step with a terminal; `srun --jobid \
     JOB --pty bash` is a shell beside the step",
)];

const SCANCEL: &[(&str, &str)] = &[
    ("--hurry", "there are no burst buffers to write back"),
    ("--interactive", "`squeue` shows them before"),
    ("--sibling", "there are no federations"),
    ("--wckey", "there are no such keys: use --account"),
];

const SCONTROL: &[(&str, &str)] = &[
    ("--future", "nodes are there once they have registered"),
    ("--hide", "queues are never hidden"),
    ("--sibling", "there are no federations"),
    ("--uid", "what is done is done as who asks: use sudo -u before"),
    ("--yaml", LATER),
];

const SINFO: &[(&str, &str)] = &[
    ("--cluster-nodes", "there is one cluster: leave it out"),
    ("--future", "nodes are there once they have registered"),
    ("--hide", "queues are never hidden"),
    ("--reservation", "`scontrol show reservation`"),
    ("--yaml", LATER),
];

const SQUEUE: &[(&str, &str)] = &[
    ("--hide", "queues are never hidden"),
    ("--licenses", "licences are not counted"),
    ("-L", "licences are not counted"),
    ("--only-job-state", "use -o '%i %T'"),
    ("--sibling", "there are no federations"),
    ("--yaml", LATER),
];

const SPRIO: &[(&str, &str)] = &[
    ("--sibling", "there are no federations"),
    ("--sort", "pipe it through `sort`; `kantctl priority` is in the order of the line"),
];

const SREPORT: &[(&str, &str)] =
    &[("--all_clusters", "there is one"), ("--quiet", "there is nothing said besides the report")];

const SSHARE: &[(&str, &str)] =
    &[("--parent", "accounts are a flat list"), ("--partition", "shares are accounts'")];

const SRUN: &[(&str, &str)] = &[
    ("--bcast", "a shared file system holds programs"),
    ("--epilog", "put it into the script, after srun"),
    ("--multi-prog", "choose by SLURM_PROCID in a script"),
    (
        "--preserve-env",
        "set SLURM_NTASKS and others for the program itself: srun -n1 env NAME=VALUE ...",
    ),
    ("-E", "set SLURM_NTASKS and others for the program itself: srun -n1 env NAME=VALUE ..."),
    ("--prolog", "put it into the script, before srun"),
    ("--relative", "name nodes with --nodelist"),
    ("-r", "name nodes with --nodelist"),
    ("--signal", "of a job: sbatch has it"),
    ("--slurmd-debug", "what a node says is in kantd's log there"),
    ("--task-epilog", "put it into the program: sh -c 'program; after'"),
    ("--task-prolog", "put it into the program: sh -c 'before; program'"),
    ("--threads", "srun starts all tasks at once in any case"),
    ("-T", "srun starts all tasks at once in any case"),
    ("--x11", "displays are not forwarded: use `ssh -X`, or a remote desktop in the job"),
];

/// Those of this command.
#[must_use]
pub const fn of(name: Name) -> &'static [(&'static str, &'static str)] {
    match name {
        Name::Sacct => SACCT,
        Name::Sacctmgr | Name::Salloc | Name::Sbatch | Name::Sdiag => &[],
        Name::Sattach => SATTACH,
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
        let text = is_asking.then(|| parse_error::unsupported(option)).flatten()?;
        return Some(Failure::usage(anyhow::Error::msg(text)));
    };
    let text = format!("{option} is not supported in this release: {instead}");
    Some(Failure::usage(anyhow::Error::msg(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_what_to_do_instead_or_why_there_is_no_such_thing() {
        for name in Name::ALL {
            let silent: Vec<_> = of(name).iter().filter(|(_, why)| why.is_empty()).collect();
            assert!(silent.is_empty(), "{name:?}: {silent:?}");
        }
    }
}
