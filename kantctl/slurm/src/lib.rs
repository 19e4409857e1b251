//! Slurm's commands under their own names (`sbatch`, `squeue` and others), with Slurm's options,
//! output and messages, for scripts and tools written for Slurm. Each sends the controller the same
//! requests as the verbs of kantctl.

pub mod cluster_name;
pub mod command;
pub mod fixed_columns;
pub mod format;
mod membership;
pub mod repeat;
mod running_steps;
pub mod shared_options;
pub mod unsupported;

pub mod line_value;
pub mod node_field;

pub mod job_fields;
pub mod json;

pub mod sacct_field;

pub mod sacct;
pub mod sacctmgr;
pub mod salloc;
pub mod sattach;
pub mod sbatch;
pub mod scancel;
pub mod scontrol;
pub mod sdiag;
pub mod sinfo;
pub mod sprio;
pub mod squeue;
pub mod sreport;
pub mod srun;
pub mod sshare;

pub mod dispatch;

pub mod compatibility;

use command::SlurmCommand;

/// What kantctl's command line says about these commands.
pub const COMMANDS: cli::SlurmCommands =
    cli::SlurmCommands { names: &NAMES, page: compatibility::page, instead_of };

const NAMES: [&str; SlurmCommand::ALL.len()] = {
    let mut names = [""; SlurmCommand::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = SlurmCommand::ALL[index].name();
        index += 1;
    }
    names
};

/// What to type instead of a Slurm command; `None`: `command` is not one.
fn instead_of(command: &str) -> Option<&'static str> {
    Some(match command {
        "sbatch" => "`sbatch` is `kantctl submit` here",
        "squeue" => "`squeue` is `kantctl queue` here",
        "scancel" => "`scancel` is `kantctl cancel` here",
        "sinfo" => "`sinfo` is `kantctl nodes` here, and `kantctl queues` for partitions",
        "srun" => "`srun` is `kantctl run` here",
        "salloc" => "`salloc` is `kantctl alloc` here",
        "scontrol" => {
            "`scontrol show` is `kantctl show` here, `reconfigure` is `reload`; `hold`, `release`, \
             `requeue`, `suspend`, `drain` and `resume` are verbs of their own"
        }
        "sacct" => {
            "`sacct` is `kantctl history` here; `kantctl show job` shows a job's timeline while \
             the controller keeps it"
        }
        "sattach" => "`sattach` is `kantctl attach` here",
        "sprio" => "`sprio` is `kantctl priority` here",
        "sreport" => "`sreport` is `kantctl report` here",
        "sdiag" => "`kantctl metrics` shows GPU usage and waiting times",
        _ => return None,
    })
}
