//! What srun asks for when it runs outside of a job, of the job that it makes: as sbatch would be
//! asked. Never of a job that is there: a step has what that has.

use crate::failure::Failure;
use common::wire::node::StepGpus;

/// Options of a job of its own.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Of a job of its own; in a job GPUs are some of the job's")]
#[allow(missing_docs)] // each field's comment is its help
pub struct OfJob {
    /// Whole nodes; in a job: CPUs and GPUs of its own, among steps that say the same
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "node")]
    pub exclusive: Option<String>,
    /// Memory on each node, in MiB or with K, M, G, T
    #[arg(long, value_name = "SIZE")]
    pub mem: Option<String>,
    /// Memory for each CPU
    #[arg(long, value_name = "SIZE")]
    pub mem_per_cpu: Option<String>,
    /// Memory for each GPU
    #[arg(long, value_name = "SIZE")]
    pub mem_per_gpu: Option<String>,
    /// GPUs on each node: gpu:2, gpu:h100:2; in a job, of those it has
    #[arg(long, value_name = "GPUS")]
    pub gres: Option<String>,
    /// GPUs in all: 8, h100:8
    #[arg(short = 'G', long, value_name = "GPUS")]
    pub gpus: Option<String>,
    /// GPUs on each node
    #[arg(long, value_name = "GPUS")]
    pub gpus_per_node: Option<String>,
    /// GPUs for each task
    #[arg(long, value_name = "GPUS")]
    pub gpus_per_task: Option<String>,
    /// Time limit
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// The partition: a queue
    #[arg(short = 'p', long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Whom to charge
    #[arg(short = 'A', long, value_name = "NAME")]
    pub account: Option<String>,
    /// CPUs for each GPU
    #[arg(long, value_name = "COUNT")]
    pub cpus_per_gpu: Option<String>,
    /// A word of yours
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// The quality of service
    #[arg(short = 'q', long, value_name = "NAME")]
    pub qos: Option<String>,
    /// Run in this booking
    #[arg(long, value_name = "NAME")]
    pub reservation: Option<String>,
    /// Not these nodes
    #[arg(short = 'x', long, value_name = "NODES")]
    pub exclude: Option<String>,
    /// Not before
    #[arg(long, value_name = "WHEN")]
    pub begin: Option<String>,
    /// Nodes with these features
    #[arg(short = 'C', long, value_name = "FEATURES")]
    pub constraint: Option<String>,
    /// After other jobs: afterok:42, singleton
    #[arg(short = 'd', long, value_name = "TERMS")]
    pub dependency: Option<String>,
    /// Over by then
    #[arg(long, value_name = "WHEN")]
    pub deadline: Option<String>,
    /// Near each other: the number of leaf switches
    #[arg(long, value_name = "COUNT")]
    pub switches: Option<String>,
}

impl OfJob {
    /// GPUs of the job that it runs in: how many, of whatever kind the job has.
    pub fn gpus_of_step(&self) -> Result<StepGpus, Failure> {
        let asked = [
            ("gpus", &self.gpus, StepGpus::Total as fn(u32) -> StepGpus),
            ("gpus-per-node", &self.gpus_per_node, StepGpus::PerNode),
            ("gres", &self.gres, StepGpus::PerNode),
            ("gpus-per-task", &self.gpus_per_task, StepGpus::PerTask),
        ];
        for (name, text, kind) in asked {
            let Some(text) = text else { continue };
            if text == "none" {
                return Ok(StepGpus::PerNode(0));
            }
            let count = text.rsplit(':').next().unwrap_or(text);
            let count = if count == "gpu" { Some(1) } else { count.parse().ok() };
            let wrong = || Failure::usage(anyhow::anyhow!("--{name}={text}: write a number"));
            return count.map(kind).ok_or_else(wrong);
        }
        Ok(StepGpus::All)
    }

    /// As sbatch would be asked.
    pub fn words(&self) -> Vec<String> {
        let asked = [
            ("mem", &self.mem),
            ("mem-per-cpu", &self.mem_per_cpu),
            ("mem-per-gpu", &self.mem_per_gpu),
            ("gres", &self.gres),
            ("gpus", &self.gpus),
            ("gpus-per-node", &self.gpus_per_node),
            ("gpus-per-task", &self.gpus_per_task),
            ("cpus-per-gpu", &self.cpus_per_gpu),
            ("time", &self.time),
            ("partition", &self.partition),
            ("account", &self.account),
            ("qos", &self.qos),
            ("reservation", &self.reservation),
            ("comment", &self.comment),
            ("exclude", &self.exclude),
            ("begin", &self.begin),
            ("constraint", &self.constraint),
            ("dependency", &self.dependency),
            ("deadline", &self.deadline),
            ("switches", &self.switches),
        ];
        let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let mut words: Vec<String> =
            asked.map(|(name, value)| format!("--{name}={value}")).collect();
        if self.exclusive.is_some() {
            words.push("--exclusive".to_owned());
        }
        words
    }
}
