//! What is asked of a step, whoever asked: `srun` in its words, `kantctl run` in its own.
//! Never what is asked of the job that it runs in.

use super::binding::{CpuBind, GpuBind};
use crate::submission::export::Export;
use common::text::shown;
use common::time::Span;
use common::wire::node::StepGpus;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// The program, and what it is given.
    pub program: Vec<String>,
    /// Its name; `None`: the program's.
    pub name: Option<String>,
    pub tasks: Option<u32>,
    /// How many nodes, `2` or `1-2`.
    pub nodes: Option<String>,
    /// CPUs for each task.
    pub cpus_per_task: Option<u32>,
    /// Tasks on each node.
    pub ntasks_per_node: Option<u32>,
    /// More tasks than CPUs are welcome.
    pub overcommit: bool,
    pub nodelist: Option<String>,
    /// Where output goes; `None`: here.
    pub output: Option<String>,
    /// Where errors go; `None`: with the output.
    pub error: Option<String>,
    pub input: Option<String>,
    /// Output files keep what they have.
    pub append: bool,
    /// The task's number before each line.
    pub label: bool,
    /// End all when one fails.
    pub kill_on_bad_exit: bool,
    /// End the others so many seconds after the first ended; 0: never.
    pub wait_seconds: Option<u64>,
    /// End all after so long.
    pub time: Option<Span>,
    /// Say nothing of tasks that fail.
    pub quiet: bool,
    /// One task reads and writes this terminal.
    pub pty: bool,
    pub chdir: Option<PathBuf>,
    /// What of the environment they get.
    pub export: Option<Export>,
    /// GPUs of the job's for this step.
    pub gpus: StepGpus,
    /// Its CPUs and GPUs are its own, among steps that say the same.
    pub exclusive: bool,
    /// How tasks are held to CPUs.
    pub cpu_bind: CpuBind,
    /// Which GPUs each task sees.
    pub gpu_bind: GpuBind,
}

impl Wish {
    #[must_use]
    pub fn name(&self) -> String {
        let program = self.program.first().map(PathBuf::from).unwrap_or_default();
        let program = program.file_name().unwrap_or_default().to_string_lossy();
        self.name.clone().unwrap_or_else(|| shown(&program).into_owned())
    }
}
