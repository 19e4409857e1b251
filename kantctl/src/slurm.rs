//! Slurm's commands under their own names (`sbatch`, `squeue` and others), with Slurm's options,
//! output and messages, for scripts and tools written for Slurm. Each sends the controller the same
//! requests as the verbs of kantctl.

pub mod command;
pub mod compatibility;
pub mod fixed_columns;
pub mod format;
pub mod job_fields;
pub mod job_line;
pub mod job_records;
pub mod json;
pub mod json_account;
pub mod json_node;
pub mod line_part;
mod membership;
pub mod node_field;
mod option_values;
mod running_steps;
pub mod sacct;
pub mod sacct_field;
pub mod sacctmgr;
pub mod salloc;
pub mod sattach;
pub mod sbatch;
pub mod scancel;
pub mod scontrol;
pub mod sdiag;
pub mod sinfo;
pub mod size;
pub mod sprio;
pub mod squeue;
pub mod sreport;
pub mod srun;
pub mod sshare;
pub mod unsupported;

/// What to type instead of a Slurm command; `None`: `command` is not one.
#[must_use]
pub fn instead_of(command: &str) -> Option<&'static str> {
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
