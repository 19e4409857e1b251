//! Options of a step, as given to `srun` or `kantctl run`.

use super::binding::{CpuBind, GpuBind};
use crate::submission::export::Export;
use common::text::escape_hidden;
use common::time::Span;
use common::wire::node::StepGpus;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOptions {
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Name of the step [default: the program's name].
    pub name: Option<String>,
    pub tasks: Option<u32>,
    /// A number or a range of nodes: `2`, `1-2`.
    pub nodes: Option<String>,
    pub cpus_per_task: Option<u32>,
    pub ntasks_per_node: Option<u32>,
    /// More tasks than CPUs are allowed.
    pub overcommit: bool,
    pub nodelist: Option<String>,
    /// Output file [default: this process's stdout].
    pub output: Option<String>,
    /// Error file [default: the output file].
    pub error: Option<String>,
    pub input: Option<String>,
    /// Append to output files.
    pub append: bool,
    /// Prefix each line with the task's number.
    pub label: bool,
    /// End all tasks when one fails.
    pub kill_on_bad_exit: bool,
    /// End the other tasks N seconds after the first one has ended; 0 means never.
    pub wait_seconds: Option<u64>,
    /// Time limit of the step.
    pub time: Option<Span>,
    /// Do not report tasks that fail.
    pub quiet: bool,
    /// One task uses this terminal.
    pub pty: bool,
    pub chdir: Option<PathBuf>,
    /// Environment variables for the tasks.
    pub export: Option<Export>,
    /// GPUs of the job to use.
    pub gpus: StepGpus,
    /// Reserve its CPUs and GPUs against other exclusive steps.
    pub exclusive: bool,
    pub cpu_bind: CpuBind,
    pub gpu_bind: GpuBind,
}

impl StepOptions {
    #[must_use]
    pub fn name(&self) -> String {
        let program = self.program.first().map(PathBuf::from).unwrap_or_default();
        let program = program.file_name().unwrap_or_default().to_string_lossy();
        self.name.clone().unwrap_or_else(|| escape_hidden(&program).into_owned())
    }
}
