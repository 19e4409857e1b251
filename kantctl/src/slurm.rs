//! Slurm's commands under their own names: `sbatch`, `squeue` and the others, with Slurm's options,
//! output and messages, for scripts and tools made for it. Never a second way to do anything: each
//! asks the controller what the verbs of kantctl ask.

pub mod accounting;
pub mod calendar;
pub mod compatibility;
pub mod format;
mod glued;
pub mod job_field;
pub mod job_fields;
pub mod job_part;
pub mod json;
pub mod json_account;
pub mod json_node;
mod living;
mod membership;
pub mod name;
pub mod node_field;
pub mod past;
pub mod refused;
pub mod sacct;
pub mod sacctmgr;
pub mod salloc;
pub mod sattach;
pub mod sbatch;
pub mod scancel;
pub mod scontrol;
pub mod sdiag;
pub mod sheet;
pub mod sinfo;
pub mod size;
pub mod sprio;
pub mod squeue;
pub mod sreport;
pub mod srun;
pub mod sshare;

/// What to type instead of a command of Slurm's; `None`: the word is none of them.
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
            "`sacct` is `kantctl history` here; `kantctl show job` tells a job's story, as long as \
             the controller keeps it"
        }
        "sattach" => "`sattach` is `kantctl attach` here",
        "sprio" => "`sprio` is `kantctl priority` here",
        "sreport" => "`sreport` is `kantctl report` here",
        "sdiag" => "`kantctl metrics` says how well GPUs are used and how long jobs wait",
        _ => return None,
    })
}
