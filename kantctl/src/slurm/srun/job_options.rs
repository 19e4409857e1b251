//! Options of srun for the job that it submits when it runs outside a job, and their meaning for a
//! step inside a job.

use crate::failure::Failure;
use crate::submission::value::TimeLimit;
use common::time::Span;
use common::wire::node::StepGpus;

/// Options of a new job.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Options of a new job; in a job, GPU options select from its GPUs")]
pub struct JobOptions {
    /// Allocate whole nodes; in a job: use CPUs and GPUs that no other exclusive step uses
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "node")]
    pub exclusive: Option<String>,
    /// Memory per node, in MiB or with K, M, G, T; in a job, at most the job's memory
    #[arg(long, value_name = "SIZE")]
    pub mem: Option<String>,
    /// Memory per CPU
    #[arg(long, value_name = "SIZE")]
    pub mem_per_cpu: Option<String>,
    /// Memory per GPU
    #[arg(long, value_name = "SIZE")]
    pub mem_per_gpu: Option<String>,
    /// GPUs per node: gpu:2, gpu:h100:2; in a job, of the job's GPUs
    #[arg(long, value_name = "GPUS")]
    pub gres: Option<String>,
    /// GPUs in total: 8, h100:8
    #[arg(short = 'G', long, value_name = "GPUS")]
    pub gpus: Option<String>,
    /// GPUs per node
    #[arg(long, value_name = "GPUS")]
    pub gpus_per_node: Option<String>,
    /// GPUs per task
    #[arg(long, value_name = "GPUS")]
    pub gpus_per_task: Option<String>,
    /// Time limit of the job, or of the step in a job
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// Partition (queue) of the job
    #[arg(short = 'p', long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Account to charge
    #[arg(short = 'A', long, value_name = "NAME")]
    pub account: Option<String>,
    /// CPUs per GPU
    #[arg(long, value_name = "COUNT")]
    pub cpus_per_gpu: Option<String>,
    /// Comment
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// QoS of the job
    #[arg(short = 'q', long, value_name = "NAME")]
    pub qos: Option<String>,
    /// Run in this reservation
    #[arg(long, value_name = "NAME")]
    pub reservation: Option<String>,
    /// Do not use these nodes
    #[arg(short = 'x', long, value_name = "NODES")]
    pub exclude: Option<String>,
    /// Earliest start time
    #[arg(long, value_name = "WHEN")]
    pub begin: Option<String>,
    /// Use only nodes with these features
    #[arg(short = 'C', long, value_name = "FEATURES")]
    pub constraint: Option<String>,
    /// Start after other jobs: afterok:42, singleton
    #[arg(short = 'd', long, value_name = "TERMS")]
    pub dependency: Option<String>,
    /// Time by which the job must have ended
    #[arg(long, value_name = "WHEN")]
    pub deadline: Option<String>,
    /// Run in a container: a directory that is an OCI bundle or a root file system
    #[arg(long, value_name = "DIRECTORY")]
    pub container: Option<String>,
    /// Maximum number of leaf switches
    #[arg(long, value_name = "COUNT")]
    pub switches: Option<String>,
    /// Send mail on these events: BEGIN,END,FAIL, ALL, NONE
    #[arg(long, value_name = "EVENTS")]
    pub mail_type: Option<String>,
    /// Recipient of mail [default: you]
    #[arg(long, value_name = "ADDRESS")]
    pub mail_user: Option<String>,
    /// Submit nothing; report when and where the job would start
    #[arg(long)]
    pub test_only: bool,
}

impl JobOptions {
    /// The GPUs of a step in a job. The GPU kind is ignored: a step uses the job's GPUs.
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

    /// The time limit of a step in a job.
    pub fn time_of_step(&self) -> Result<Option<Span>, Failure> {
        let Some(text) = &self.time else { return Ok(None) };
        let wrong = |error| Failure::usage(anyhow::anyhow!("--time={text}: {error}"));
        Ok(text.parse::<TimeLimit>().map_err(wrong)?.0.filter(|limit| limit.0 > 0))
    }

    /// A note for each given option that has no effect on a step in a job.
    pub fn ignored_in_a_job(&self) -> Vec<String> {
        let memory = "a step has all of its job's memory";
        let sized = "the job already has its allocation";
        let asked = [
            ("mem", &self.mem, memory),
            ("mem-per-cpu", &self.mem_per_cpu, memory),
            ("mem-per-gpu", &self.mem_per_gpu, memory),
            ("cpus-per-gpu", &self.cpus_per_gpu, "use --cpus-per-task"),
            ("reservation", &self.reservation, sized),
            ("begin", &self.begin, "the step starts now"),
            ("dependency", &self.dependency, "the step starts now"),
            ("deadline", &self.deadline, "use --time"),
            ("switches", &self.switches, sized),
            ("container", &self.container, "a step runs in the container of its job"),
            ("mail-type", &self.mail_type, "mail is sent about jobs only"),
            ("mail-user", &self.mail_user, "mail is sent about jobs only"),
        ];
        let asked = asked.into_iter().filter(|(_, value, _)| value.is_some());
        asked.map(|(name, _, why)| format!("--{name} has no effect in a job: {why}")).collect()
    }

    /// The given options as arguments of sbatch.
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
