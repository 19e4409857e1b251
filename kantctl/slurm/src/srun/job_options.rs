//! Options of srun for the job that it submits when it runs outside a job, and their meaning for a
//! step inside a job.

use clap::Arg;
use cli::failure::Failure;
use cli::submission::options::{AttributeWords, Selection};
use common::job::attributes::{Attribute, Row, SlurmReader, TimeLimit};
use common::time::Span;
use common::wire::node::StepGpus;

/// Options of a new job.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub struct JobOptions {
    /// Allocate whole nodes; in a job: use CPUs and GPUs that no other exclusive step uses
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "node")]
    pub exclusive: Option<String>,
    /// Submit nothing; report when and where the job would start
    #[arg(long)]
    pub test_only: bool,
    #[command(flatten)]
    pub attributes: AttributeWords<OfNewJob>,
}

const HEADING: &str = "Options of a new job; in a job, GPU options select from its GPUs";

/// The attributes of a new job that srun takes as sbatch does.
#[derive(Debug, Clone, Default)]
pub struct OfNewJob;

/// Those that srun reads itself.
const OWN: [Attribute; 3] = [Attribute::JobName, Attribute::Ntasks, Attribute::Exclusive];

/// Those that srun reads from no variable, in addition to all that it does.
const WITHOUT_VARIABLE: [Attribute; 10] = [
    Attribute::Comment,
    Attribute::CpusPerGpu,
    Attribute::Begin,
    Attribute::Deadline,
    Attribute::Constraint,
    Attribute::Exclude,
    Attribute::Dependency,
    Attribute::Container,
    Attribute::MailType,
    Attribute::MailUser,
];

impl Selection for OfNewJob {
    fn selects(row: &Row) -> bool {
        row.slurm.read_by.contains(&SlurmReader::Srun) && !OWN.contains(&row.attribute)
            || WITHOUT_VARIABLE.contains(&row.attribute)
    }

    fn with_details(row: &'static Row, arg: Arg) -> Arg {
        let help = match row.attribute {
            Attribute::Mem => "Memory per node; in a job, at most the job's memory",
            Attribute::Gres => "GPUs per node: gpu:2, gpu:h100:2; in a job, of the job's GPUs",
            Attribute::Time => "Time limit of the job, or of the step in a job",
            Attribute::Queue => "Partition (queue) of the job",
            _ => row.change_help(),
        };
        arg.value_name(row.value_name).help(help).help_heading(HEADING)
    }
}

impl JobOptions {
    /// The GPUs of a step in a job. The GPU kind is ignored: a step uses the job's GPUs.
    pub fn gpus_of_step(&self) -> Result<StepGpus, Failure> {
        let asked = [
            (Attribute::Gpus, StepGpus::Total as fn(u32) -> StepGpus),
            (Attribute::GpusPerNode, StepGpus::PerNode),
            (Attribute::Gres, StepGpus::PerNode),
            (Attribute::GpusPerTask, StepGpus::PerTask),
        ];
        for (attribute, kind) in asked {
            let Some(text) = self.attributes.get(attribute) else { continue };
            if text == "none" {
                return Ok(StepGpus::PerNode(0));
            }
            let count = text.rsplit(':').next().unwrap_or(text);
            let count = if count == "gpu" { Some(1) } else { count.parse().ok() };
            let wrong = || Failure::usage(anyhow::anyhow!("{attribute}={text}: write a number"));
            return count.map(kind).ok_or_else(wrong);
        }
        Ok(StepGpus::All)
    }

    /// The time limit of a step in a job.
    pub fn time_of_step(&self) -> Result<Option<Span>, Failure> {
        let Some(text) = self.attributes.get(Attribute::Time) else { return Ok(None) };
        let wrong = |error| Failure::usage(anyhow::anyhow!("--time={text}: {error}"));
        Ok(text.parse::<TimeLimit>().map_err(wrong)?.0.filter(|limit| limit.0 > 0))
    }

    /// A note for each given option that has no effect on a step in a job.
    pub fn ignored_in_a_job(&self) -> Vec<String> {
        let memory = "a step has all of its job's memory";
        let sized = "the job already has its allocation";
        let mail = "mail is sent about jobs only";
        let why = |attribute| match attribute {
            Attribute::Mem | Attribute::MemPerCpu | Attribute::MemPerGpu => Some(memory),
            Attribute::CpusPerGpu => Some("use --cpus-per-task"),
            Attribute::Reservation | Attribute::Switches => Some(sized),
            Attribute::Begin | Attribute::Dependency => Some("the step starts now"),
            Attribute::Deadline => Some("use --time"),
            Attribute::Container => Some("a step runs in the container of its job"),
            Attribute::MailType | Attribute::MailUser => Some(mail),
            _ => None,
        };
        let given = self.attributes.given();
        let given = given.filter_map(|(attribute, _)| Some((attribute, why(attribute)?)));
        given.map(|(attribute, why)| format!("{attribute} has no effect in a job: {why}")).collect()
    }

    /// The given options as arguments of sbatch.
    pub fn words(&self) -> Vec<String> {
        let given = self.attributes.given();
        let mut words: Vec<String> =
            given.map(|(attribute, word)| format!("{attribute}={word}")).collect();
        if self.exclusive.is_some() {
            words.push("--exclusive".to_owned());
        }
        if self.test_only {
            words.push("--test-only".to_owned());
        }
        words
    }
}
