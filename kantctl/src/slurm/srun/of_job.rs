//! What srun asks for when it runs outside of a job, of the job that it makes: as sbatch would be
//! asked. Never of a job that is there: a step has what that has.

use crate::failure::Failure;
use crate::submission::value::TimeLimit;
use common::time::Span;
use common::wire::node::StepGpus;

/// Options of a job of its own.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Of a job of its own; in a job GPUs are some of the job's")]
pub struct OfJob {
    /// Whole nodes; in a job: CPUs and GPUs of its own, among steps that say the same
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "node")]
    pub exclusive: Option<String>,
    /// Memory on each node, in MiB or with K, M, G, T; a step may use all of its job's, and asks
    /// for no more
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
    /// Time limit, of a step in a job too
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
    /// Not these nodes; in a job, of those it has
    #[arg(short = 'x', long, value_name = "NODES")]
    pub exclude: Option<String>,
    /// Not before
    #[arg(long, value_name = "WHEN")]
    pub begin: Option<String>,
    /// Nodes with these features; in a job, those of its nodes that have them
    #[arg(short = 'C', long, value_name = "FEATURES")]
    pub constraint: Option<String>,
    /// After other jobs: afterok:42, singleton
    #[arg(short = 'd', long, value_name = "TERMS")]
    pub dependency: Option<String>,
    /// Over by then
    #[arg(long, value_name = "WHEN")]
    pub deadline: Option<String>,
    /// Run in a container: a directory that is an OCI bundle or a root file system
    #[arg(long, value_name = "DIRECTORY")]
    pub container: Option<String>,
    /// Near each other: the number of leaf switches
    #[arg(long, value_name = "COUNT")]
    pub switches: Option<String>,
    /// Letters when it begins, ends, fails, ...: BEGIN,END,FAIL, ALL, NONE
    #[arg(long, value_name = "EVENTS")]
    pub mail_type: Option<String>,
    /// To whom [default: you]
    #[arg(long, value_name = "ADDRESS")]
    pub mail_user: Option<String>,
    /// Run nothing: say when and where it would start
    #[arg(long)]
    pub test_only: bool,
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

    /// How long it may run in a job.
    pub fn time_of_step(&self) -> Result<Option<Span>, Failure> {
        let Some(text) = &self.time else { return Ok(None) };
        let wrong = |error| Failure::usage(anyhow::anyhow!("--time={text}: {error}"));
        Ok(text.parse::<TimeLimit>().map_err(wrong)?.0.filter(|limit| limit.0 > 0))
    }

    /// What is asked for that no step of a job gets, and what it gets instead.
    pub fn idle_in_a_job(&self) -> Vec<String> {
        let memory = "a step has all of its job's memory";
        let sized = "the job has its nodes and CPUs already";
        let asked = [
            ("mem", &self.mem, memory),
            ("mem-per-cpu", &self.mem_per_cpu, memory),
            ("mem-per-gpu", &self.mem_per_gpu, memory),
            ("cpus-per-gpu", &self.cpus_per_gpu, "say --cpus-per-task"),
            ("reservation", &self.reservation, sized),
            ("begin", &self.begin, "it begins now"),
            ("dependency", &self.dependency, "it begins now"),
            ("deadline", &self.deadline, "say --time"),
            ("switches", &self.switches, sized),
            ("container", &self.container, "a step runs in the container of its job"),
            ("mail-type", &self.mail_type, "letters are about jobs"),
            ("mail-user", &self.mail_user, "letters are about jobs"),
        ];
        let asked = asked.into_iter().filter(|(_, value, _)| value.is_some());
        asked.map(|(name, _, why)| format!("--{name} changes nothing in a job: {why}")).collect()
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
            ("container", &self.container),
            ("mail-type", &self.mail_type),
            ("mail-user", &self.mail_user),
        ];
        let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let mut words: Vec<String> =
            asked.map(|(name, value)| format!("--{name}={value}")).collect();
        if self.exclusive.is_some() {
            words.push("--exclusive".to_owned());
        }
        if self.test_only {
            words.push("--test-only".to_owned());
        }
        words
    }
}
