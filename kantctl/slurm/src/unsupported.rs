//! Options of Slurm's commands that are not supported, each with the alternative that the refusal
//! names. The options of sbatch are in `submission`.
//! Source: the manual pages of each command, release 22.05.

use super::command::SlurmCommand;
use cli::failure::Failure;
use cli::submission::parse_error;

const USE_JSON: &str = "--json is";

const SACCT: &[(&str, &str)] = &[
    ("--associations", "accounts are set in the configuration"),
    ("--batch-script", "`kantctl show job` names the files"),
    ("--completion", "accounting is the only record of jobs"),
    ("--constraints", "use `-o jobid,constraints` and filter the output"),
    ("--env-vars", "a job's environment is not kept after it ends"),
    ("--file", "the controllers keep the records: `kantctl export` writes them to a file"),
    ("--federation-origin", "there are no federations"),
    ("--flags", "the scheduler sets no flags on jobs"),
    ("--ncpus", "use `-o jobid,ncpus` and filter the output"),
    ("--nnodes", "use `-o jobid,nnodes` and filter the output"),
    ("--reason", "use `-o jobid,reason` and filter the output"),
    ("--timelimit-max", "use `-o jobid,timelimitraw` and filter the output"),
    ("--timelimit-min", "use `-o jobid,timelimitraw` and filter the output"),
    ("--use-local-uid", "user names are those of the controllers"),
    ("--wckeys", "use --accounts"),
    ("--whole-hetjob", "name the first component: all components are shown"),
    ("--yaml", USE_JSON),
];

const SATTACH: &[(&str, &str)] = &[(
    "--pty",
    "input is sent line by line, also to a step with a terminal; for a shell in the job, use `srun \
     --jobid JOB --pty bash`",
)];

const SCANCEL: &[(&str, &str)] = &[
    ("--hurry", "there are no burst buffers"),
    ("--interactive", "list the jobs with `squeue` first"),
    ("--sibling", "there are no federations"),
    ("--wckey", "use --account"),
];

const SCONTROL: &[(&str, &str)] = &[
    ("--future", "a node exists once it has registered"),
    ("--hide", "queues are never hidden"),
    ("--sibling", "there are no federations"),
    ("--uid", "commands run as the calling user: use sudo -u"),
    ("--yaml", USE_JSON),
];

const SINFO: &[(&str, &str)] = &[
    ("--cluster-nodes", "there is one cluster: omit the option"),
    ("--future", "a node exists once it has registered"),
    ("--hide", "queues are never hidden"),
    ("--reservation", "use `scontrol show reservation`"),
    ("--yaml", USE_JSON),
];

const SQUEUE: &[(&str, &str)] = &[
    ("--hide", "queues are never hidden"),
    ("--licenses", "licences are not counted"),
    ("-L", "licences are not counted"),
    ("--only-job-state", "use -o '%i %T'"),
    ("--sibling", "there are no federations"),
    ("--yaml", USE_JSON),
];

const SPRIO: &[(&str, &str)] = &[
    ("--sibling", "there are no federations"),
    ("--sort", "pipe the output through `sort`; `kantctl priority` lists jobs in queue order"),
];

const SREPORT: &[(&str, &str)] =
    &[("--all_clusters", "there is one cluster"), ("--quiet", "only the report is printed")];

const SSHARE: &[(&str, &str)] =
    &[("--parent", "accounts are a flat list"), ("--partition", "shares are set per account")];

const SRUN: &[(&str, &str)] = &[
    ("--bcast", "put the program on a shared file system"),
    ("--epilog", "run it in the script, after srun"),
    ("--multi-prog", "choose the program by SLURM_PROCID in a script"),
    (
        "--preserve-env",
        "set SLURM_NTASKS and others for the program itself: srun -n1 env NAME=VALUE ...",
    ),
    ("-E", "set SLURM_NTASKS and others for the program itself: srun -n1 env NAME=VALUE ..."),
    ("--prolog", "run it in the script, before srun"),
    ("--relative", "name the nodes with --nodelist"),
    ("-r", "name the nodes with --nodelist"),
    ("--signal", "only a job has a warning signal: use sbatch --signal"),
    ("--slurmd-debug", "read kantd's log on the node"),
    ("--task-epilog", "run it in the task: sh -c 'program; after'"),
    ("--task-prolog", "run it in the task: sh -c 'before; program'"),
    ("--threads", "srun always starts all tasks at once"),
    ("-T", "srun always starts all tasks at once"),
    ("--x11", "displays are not forwarded: use `ssh -X` or a remote desktop in the job"),
];

/// The unsupported options of a command, each with its alternative.
#[must_use]
pub const fn options(command: SlurmCommand) -> &'static [(&'static str, &'static str)] {
    match command {
        SlurmCommand::Sacct => SACCT,
        SlurmCommand::Sacctmgr
        | SlurmCommand::Salloc
        | SlurmCommand::Sbatch
        | SlurmCommand::Sdiag => &[],
        SlurmCommand::Sattach => SATTACH,
        SlurmCommand::Scancel => SCANCEL,
        SlurmCommand::Scontrol => SCONTROL,
        SlurmCommand::Sinfo => SINFO,
        SlurmCommand::Sprio => SPRIO,
        SlurmCommand::Squeue => SQUEUE,
        SlurmCommand::Sreport => SREPORT,
        SlurmCommand::Srun => SRUN,
        SlurmCommand::Sshare => SSHARE,
    }
}

/// The error for an unsupported option of Slurm's; `None`: Slurm has no such option.
#[must_use]
pub fn refusal(command: SlurmCommand, option: &str) -> Option<Failure> {
    let known = options(command).iter().find(|(known, _)| *known == option);
    let Some((_, instead)) = known else {
        // salloc and srun refuse the same job options as sbatch, with the same text.
        let submits_jobs = matches!(command, SlurmCommand::Salloc | SlurmCommand::Srun);
        let text = submits_jobs.then(|| parse_error::unsupported(option)).flatten()?;
        return Some(Failure::usage(anyhow::Error::msg(text)));
    };
    let text = format!("{option} is not supported in this release: {instead}");
    Some(Failure::usage(anyhow::Error::msg(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unsupported_option_has_an_explanation() {
        for command in SlurmCommand::ALL {
            let silent: Vec<_> =
                options(command).iter().filter(|(_, why)| why.is_empty()).collect();
            assert!(silent.is_empty(), "{command:?}: {silent:?}");
        }
    }
}
