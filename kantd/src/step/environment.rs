//! The environment of a job's processes: the submitted variables, Slurm's (man sbatch, "OUTPUT
//! ENVIRONMENT VARIABLES"), kant's names for the important ones, the GPUs, and the variables that
//! launchers of training jobs read. The daemon's own environment is not passed on.
//!
//! `SLURM_JOB_ID` is a plain number, for an array task its own; `KANT_JOB_ID` is the job's key,
//! `42_7`, and `SLURM_ARRAY_JOB_ID` the number of the array.

mod components;
mod gpus;
mod mpi;
mod replica;
mod size;

use super::account::Account;
use super::spec::{StepSpec, TaskPlace};
use common::job::{Launch, rendezvous};
use common::task_prolog;
use common::time::Time;
use common::wire::node::LaunchOrder;
use common::{counts, hostlist};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

pub use mpi::{host_files as mpi_host_files, variables as mpi_variables};
pub use size::{SIZE_FILE, size_script};

/// The variable that marks every process of a step; its value is the attempt.
pub(crate) use crate::cgroup::MARK;

/// PATH if the submitted environment has none.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Prefixes of variables that describe the job from which this one was submitted.
const OF_ANOTHER_JOB: [&str; 11] = [
    "SLURM_",
    "SLURMD_",
    "KANT_JOB_",
    "KANT_ARRAY_",
    "KANT_NODE",
    "KANT_TASK",
    "KANT_RESIZED",
    "KANT_SET_",
    "KANT_PORT_",
    "KANT_REPLICA",
    "KANT_SERVICE",
];

/// The environment of one process, started at `start`.
#[must_use]
pub fn build(
    spec: &StepSpec,
    account: &Account,
    task: TaskPlace,
    start: Time,
) -> BTreeMap<String, String> {
    let mut variables = Variables(submitted(spec));
    variables.set_user(spec, account);
    variables.set_job(spec, account, start);
    variables.set_array(spec);
    variables.set_components(spec);
    variables.set_nodes(spec);
    variables.set_task(spec, task);
    variables.set_gpus(spec);
    variables.set_replica(spec);
    if spec.launch.launch != Launch::Once {
        variables.set_launcher(spec, task);
    }
    variables.0
}

/// The environment of a program started in a running step; `asked` is the step's spec as if it had
/// been submitted with the program's. The program is none of the job's tasks: its launcher sets its
/// rank.
#[must_use]
pub fn build_for_program(
    step: &StepSpec,
    asked: &StepSpec,
    account: &Account,
    start: Time,
) -> BTreeMap<String, String> {
    let mut variables = Variables(submitted(asked));
    variables.set_user(asked, account);
    variables.set("SLURM_SUBMIT_DIR", submit_dir(step));
    variables.set_job(asked, account, start);
    variables.set_array(asked);
    variables.set_components(asked);
    variables.set_nodes(asked);
    variables.set_first_node(asked);
    variables.set_gpus(asked);
    variables.0
}

fn submit_dir(spec: &StepSpec) -> &str {
    let submitted = spec.launch.environment.get("PWD").filter(|dir| dir.starts_with('/'));
    submitted.unwrap_or(&spec.launch.work_dir)
}

/// The submitted environment, without the variables of the job from which it was submitted.
fn submitted(spec: &StepSpec) -> BTreeMap<String, String> {
    let is_sound = |name: &str, value: &str| {
        !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
    };
    let is_kept = |name: &str| !OF_ANOTHER_JOB.iter().any(|prefix| name.starts_with(prefix));
    let all = spec.launch.environment.iter();
    all.filter(|(name, value)| is_sound(name, value) && is_kept(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn join<T: Display>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

/// The job's plain number; its key if it is an array task without one.
#[must_use]
pub fn job_number(launch: &LaunchOrder) -> String {
    let number = launch.array.as_ref().and_then(|array| array.number);
    number.map_or_else(|| launch.id.key.to_string(), |number| number.to_string())
}

/// Variables; a later value replaces an earlier one.
struct Variables(BTreeMap<String, String>);

impl Variables {
    fn set(&mut self, name: &str, value: impl Display) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    fn set_all(&mut self, names: &[&str], value: impl Display) {
        names.iter().for_each(|name| self.set(name, &value));
    }

    fn set_if_missing(&mut self, name: &str, value: impl Display) {
        if !self.0.contains_key(name) {
            self.set(name, value);
        }
    }

    /// The user's identity is the node's; HOME and SHELL may be the submitter's.
    fn set_user(&mut self, spec: &StepSpec, account: &Account) {
        self.set_all(&["USER", "LOGNAME"], &account.name);
        self.set_if_missing("HOME", account.home.as_deref().unwrap_or("/"));
        self.set_if_missing("SHELL", account.shell.as_deref().unwrap_or("/bin/sh"));
        self.set_if_missing("PATH", PATH_DEFAULT);
        self.set("SLURM_SUBMIT_DIR", submit_dir(spec));
        self.set("PWD", &spec.launch.work_dir);
        self.0.remove("OLDPWD");
        // The submitter's directory in /tmp does not exist in the job's private one.
        let temporary = self.0.get("TMPDIR").map(PathBuf::from).unwrap_or_default();
        let mut private = spec.rules.private_dirs.iter();
        if let Some(dir) = private.find(|dir| temporary.starts_with(dir)) {
            self.set("TMPDIR", dir.display());
        }
    }

    fn set_job(&mut self, spec: &StepSpec, account: &Account, start: Time) {
        let launch = &spec.launch;
        let key = launch.id.key;
        self.set(MARK, launch.id);
        self.set("KANT_JOB_ID", key);
        self.set_all(&["SLURM_JOB_ID", "SLURM_JOBID"], job_number(launch));
        self.set_all(&["SLURM_JOB_NAME", "KANT_JOB_NAME"], &launch.job_name);
        self.set_all(&["SLURM_JOB_PARTITION", "KANT_JOB_QUEUE"], &launch.queue);
        if let Some(account) = &launch.account {
            self.set_all(&["SLURM_JOB_ACCOUNT", "KANT_JOB_ACCOUNT"], account);
        }
        self.set("SLURM_JOB_USER", &account.name);
        self.set("SLURM_JOB_UID", account.uid);
        self.set("SLURM_JOB_GID", account.gid);
        self.set("SLURM_SUBMIT_HOST", &launch.submit_host);
        self.set_all(&["SLURM_CLUSTER_NAME", "KANT_JOB_CLUSTER"], &launch.cluster);
        self.set("KANT_JOB_ATTEMPT", launch.id.attempt);
        // For launchers that start tasks in the job.
        if let Some(prolog) = spec.rules.task_prolog.as_ref().and_then(|path| path.to_str()) {
            self.set(task_prolog::VARIABLE, prolog);
        }
        // Slurm counts restarts and leaves the variable out in the first run.
        if launch.id.attempt.0 > 1 {
            self.set("SLURM_RESTART_COUNT", launch.id.attempt.0 - 1);
        }
        self.set("SLURM_JOB_START_TIME", start.0 / 1000);
        if let Some(limit) = launch.time_limit {
            self.set_all(&["SLURM_JOB_END_TIME", "KANT_JOB_END_TIME"], (start + limit).0 / 1000);
        }
    }

    fn set_array(&mut self, spec: &StepSpec) {
        let key = spec.launch.id.key;
        let (Some(index), Some(array)) = (key.index, &spec.launch.array) else { return };
        self.set_all(&["SLURM_ARRAY_JOB_ID", "KANT_ARRAY_JOB_ID"], key.job);
        self.set_all(&["SLURM_ARRAY_TASK_ID", "KANT_ARRAY_INDEX"], index);
        self.set("SLURM_ARRAY_TASK_COUNT", array.count);
        self.set("SLURM_ARRAY_TASK_MIN", array.min);
        self.set("SLURM_ARRAY_TASK_MAX", array.max);
        self.set("SLURM_ARRAY_TASK_STEP", array.step);
    }

    fn set_nodes(&mut self, spec: &StepSpec) {
        let shares = spec.launch.allocation.shares();
        let list = hostlist::compress(shares.iter().map(|share| &share.node));
        self.set_all(&["SLURM_JOB_NODELIST", "SLURM_NODELIST", "KANT_NODES"], list);
        let nodes = shares.len();
        self.set_all(&["SLURM_JOB_NUM_NODES", "SLURM_NNODES", "KANT_NODE_COUNT"], nodes);
        self.set_all(&["SLURMD_NODENAME", "KANT_NODE"], &spec.node);
        self.set_all(&["SLURM_NODEID", "KANT_NODE_RANK"], spec.rank);
        let each = spec.tasks_per_node();
        let tasks: u32 = each.iter().sum();
        self.set_all(&["SLURM_NTASKS", "SLURM_NPROCS", "KANT_TASKS"], tasks);
        self.set("SLURM_TASKS_PER_NODE", counts::encode_runs(&each));
        if each.windows(2).all(|pair| pair[0] == pair[1]) {
            self.set("SLURM_NTASKS_PER_NODE", each.first().copied().unwrap_or(0));
        }
        let cpus: Vec<u32> = shares.iter().map(|share| share.cpus.len()).collect();
        self.set("SLURM_JOB_CPUS_PER_NODE", counts::encode_runs(&cpus));
        self.set_all(&["SLURM_CPUS_ON_NODE", "KANT_NODE_CPUS"], spec.share.cpus.len());
        let per_task = spec.launch.cpus_per_task;
        self.set_all(&["SLURM_CPUS_PER_TASK", "KANT_TASK_CPUS"], per_task);
        if spec.share.memory.0 > 0 {
            self.set("SLURM_MEM_PER_NODE", spec.share.memory.0 >> 20);
            self.set("KANT_NODE_MEMORY_BYTES", spec.share.memory.0);
        }
    }

    fn set_task(&mut self, spec: &StepSpec, task: TaskPlace) {
        self.set_all(&["SLURM_PROCID", "KANT_TASK_RANK"], task.rank);
        self.set_all(&["SLURM_LOCALID", "KANT_TASK_LOCAL_RANK"], task.local);
        self.set_first_node(spec);
    }

    fn set_first_node(&mut self, spec: &StepSpec) {
        let first = spec.launch.addresses.first();
        if let Some(address) = first {
            self.set("KANT_NODE_FIRST_ADDRESS", address);
        }
    }

    /// Values of the job that are also the step's.
    fn set_step(&mut self) {
        for (step, job) in [
            ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
            ("SLURM_STEP_NUM_NODES", "SLURM_NNODES"),
            ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
            ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"),
            ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS"),
            ("WORLD_SIZE", "SLURM_NTASKS"),
            ("SLURM_LAUNCH_NODE_IPADDR", "KANT_NODE_FIRST_ADDRESS"),
            ("MASTER_ADDR", "KANT_NODE_FIRST_ADDRESS"),
        ] {
            if let Some(value) = self.0.get(job).cloned() {
                self.set(step, value);
            }
        }
    }

    /// The variables of srun's steps and of torch's env:// rendezvous. The port is
    /// [`rendezvous::port`], unless one was submitted.
    fn set_launcher(&mut self, spec: &StepSpec, task: TaskPlace) {
        self.set_step();
        self.set_all(&["SLURM_STEP_ID", "SLURM_STEPID"], 0);
        self.set("RANK", task.rank);
        self.set("LOCAL_RANK", task.local);
        let here = spec.tasks_per_node().get(spec.rank as usize).copied().unwrap_or(1);
        self.set("LOCAL_WORLD_SIZE", here);
        self.set_if_missing("MASTER_PORT", rendezvous::port(spec.launch.id.key));
    }
}

#[cfg(test)]
mod tests;
