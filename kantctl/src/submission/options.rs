//! The options of a submission. Command line, `#KANT` and `#SBATCH` directives and the environment
//! are all parsed with this one definition, so that they cannot differ.

use super::begin::{read_begin, read_deadline};
use super::depends::Depends;
use super::export::Export;
use super::gpus::{GpuCount, GpusValue, Gres};
use super::ignored_options::IgnoredOptions;
use super::mail::read_address_or_variable;
use super::near::{Switches, read_near};
use super::value::{Hosts, NodeCount, TaskCount, TimeLimit, read_count, read_launch, read_queue};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, FromArgMatches};
use common::id::{AccountName, QosName, QueueName, ReservationName};
use common::job::{ArraySpec, Constraint, Launch, MailEvents, OpenMode, ResizeSignal, Warning};
use common::time::Time;
use common::topology::Nearness;
use common::unit::Bytes;
use std::path::PathBuf;

const WHAT: &str = "Identity";
const SIZE: &str = "Resources";
pub(super) const WHERE: &str = "Placement and time";
const FILES: &str = "Files";
const HOW: &str = "Execution";

/// Options that can be given on the command line, in directives and in the environment.
#[derive(Args, Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Job name [default: the script's file name]
    #[arg(short = 'J', long, value_name = "NAME", help_heading = WHAT)]
    pub job_name: Option<String>,
    /// Account to charge, of which you must be a member [default: your first account]
    #[arg(short = 'A', long, value_name = "NAME", help_heading = WHAT)]
    pub account: Option<AccountName>,
    /// Quality of service, which sets a priority and limits; configured by the operators
    #[arg(short = 'q', long, value_name = "NAME", help_heading = WHAT)]
    pub qos: Option<QosName>,
    /// The job is a service: a queue with a zone for services spreads its jobs there
    #[arg(long, help_heading = WHAT)]
    pub service: bool,
    /// Comment, shown by `kantctl show job`
    #[arg(long, value_name = "TEXT", help_heading = WHAT)]
    pub comment: Option<String>,

    /// Number of nodes, or a range that the job accepts (1-4), with one task per node [default: the
    /// fewest nodes on which the tasks fit]
    #[arg(short = 'N', long, value_name = "COUNT[-COUNT]",
          allow_negative_numbers = true, help_heading = SIZE)]
    pub nodes: Option<NodeCount>,
    /// Number of tasks, or a range that the job accepts (2-8) [default: --nodes times
    /// --ntasks-per-node, or 1]
    #[arg(short = 'n', long, value_name = "COUNT[-COUNT]",
          allow_negative_numbers = true, help_heading = SIZE)]
    pub ntasks: Option<TaskCount>,
    /// Maximum number of tasks per node
    #[arg(long, alias = "tasks-per-node", value_name = "COUNT", value_parser = read_count,
          allow_negative_numbers = true, help_heading = SIZE)]
    pub ntasks_per_node: Option<u32>,
    /// CPUs per task [default: 1]
    #[arg(short = 'c', long, value_name = "COUNT", value_parser = read_count,
          allow_negative_numbers = true, help_heading = SIZE)]
    pub cpus_per_task: Option<u32>,
    /// Tasks per requested GPU
    #[arg(long, value_name = "COUNT", value_parser = read_count, conflicts_with = "ntasks",
          allow_negative_numbers = true, help_heading = SIZE)]
    pub ntasks_per_gpu: Option<u32>,
    /// CPUs per requested GPU
    #[arg(long, value_name = "COUNT", value_parser = read_count,
          conflicts_with = "cpus_per_task", allow_negative_numbers = true, help_heading = SIZE)]
    pub cpus_per_gpu: Option<u32>,
    /// Memory per node, in MiB or with K, M, G, T; 0 for all of it
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["mem_per_cpu", "mem_per_gpu"],
          allow_negative_numbers = true, help_heading = SIZE)]
    pub mem: Option<Bytes>,
    /// Memory per CPU
    #[arg(long, value_name = "SIZE", conflicts_with = "mem_per_gpu",
          allow_negative_numbers = true, help_heading = SIZE)]
    pub mem_per_cpu: Option<Bytes>,
    /// Memory per GPU
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, help_heading = SIZE)]
    pub mem_per_gpu: Option<Bytes>,
    /// GPUs in the whole job: of any kind (8), of one kind (h100:8), of one of several kinds
    /// ('h100|a100:8'); or a share of a GPU (0.5), of its memory (20G), or of several GPUs (2x0.5)
    #[arg(short = 'G', long, value_name = "[KIND:]COUNT", allow_negative_numbers = true,
          conflicts_with_all = ["gpus_per_node", "gpus_per_task", "gres"], help_heading = SIZE)]
    pub gpus: Option<GpusValue>,
    /// GPUs per node
    #[arg(long, value_name = "[KIND:]COUNT", allow_negative_numbers = true,
          conflicts_with_all = ["gpus_per_task", "gres"], help_heading = SIZE)]
    pub gpus_per_node: Option<GpuCount>,
    /// GPUs per task
    #[arg(long, value_name = "[KIND:]COUNT", allow_negative_numbers = true,
          conflicts_with = "gres", help_heading = SIZE)]
    pub gpus_per_task: Option<GpuCount>,
    /// GPUs per node, in Slurm's syntax (gpu:2, gpu:h100:2)
    #[arg(long, value_name = "gpu[:KIND]:COUNT", help_heading = SIZE)]
    pub gres: Option<Gres>,
    /// Use whole nodes, which no other job shares
    #[arg(long, help_heading = SIZE)]
    pub exclusive: bool,
    /// Let a running job with a range of nodes or tasks grow onto idle nodes, up to the upper bound
    #[arg(long, help_heading = SIZE)]
    pub grow: bool,

    /// Queue [default: the cluster's default queue]
    #[arg(short = 'p', long, visible_alias = "partition", value_name = "NAME",
          value_parser = read_queue, help_heading = WHERE)]
    pub queue: Option<QueueName>,
    /// Run time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue's]
    #[arg(short = 't', long, value_name = "TIME", allow_negative_numbers = true,
          help_heading = WHERE)]
    pub time: Option<TimeLimit>,
    /// Earliest start: now+1hour, 16:30, tomorrow, 2030-01-31T08:00
    #[arg(long, value_name = "WHEN", value_parser = read_begin, help_heading = WHERE)]
    pub begin: Option<Time>,
    /// Deadline: the job must end by then according to its time limit, or never starts
    #[arg(long, value_name = "WHEN", value_parser = read_deadline, help_heading = WHERE)]
    pub deadline: Option<Time>,
    /// Run in this reservation, see `kantctl reservations`
    #[arg(long, value_name = "NAME", help_heading = WHERE)]
    pub reservation: Option<ReservationName>,
    /// Topology group for all nodes: nvlink-domain, leaf, spine or superspine. A group with enough
    /// free nodes is preferred, or required (leaf:required)
    #[arg(long, value_name = "LEVEL[:required]", value_parser = read_near,
          conflicts_with = "switches", help_heading = WHERE)]
    pub near: Option<Nearness>,
    /// Slurm's option for --near=leaf: --switches=1
    #[arg(long, value_name = "1", help_heading = WHERE)]
    pub switches: Option<Switches>,
    /// Split the nodes into blocks of this size, each within one group [without --near:
    /// nvlink-domain:required]
    #[arg(long, value_name = "NODES", value_parser = read_count,
          allow_negative_numbers = true, help_heading = WHERE)]
    pub segment: Option<u32>,
    /// Run at most COUNT of your jobs with this name per node
    #[arg(long, value_name = "COUNT", value_parser = read_count,
          allow_negative_numbers = true, help_heading = WHERE)]
    pub max_per_node: Option<u32>,
    /// Hold the job until `kantctl release`
    #[arg(short = 'H', long, help_heading = WHERE)]
    pub hold: bool,
    /// Lower the priority by N [without a number: 100]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "100", allow_negative_numbers = true, help_heading = WHERE)]
    pub nice: Option<i32>,
    /// Required features of nodes, see `kantctl show node`: 'ib', 'a100&(ib|roce)'
    #[arg(short = 'C', long, value_name = "FEATURES", help_heading = WHERE)]
    pub constraint: Option<Constraint>,
    /// Use only these nodes, e.g. g[001-004],login
    #[arg(short = 'w', long, value_name = "NODES", help_heading = WHERE)]
    pub nodelist: Option<Hosts>,
    /// Do not use these nodes
    #[arg(short = 'x', long, value_name = "NODES", help_heading = WHERE)]
    pub exclude: Option<Hosts>,

    /// Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]
    #[arg(short = 'o', long, value_name = "FILE", help_heading = FILES)]
    pub output: Option<String>,
    /// Error file [default: the output file]
    #[arg(short = 'e', long, value_name = "FILE", help_heading = FILES)]
    pub error: Option<String>,
    /// Input file [default: /dev/null]
    #[arg(short = 'i', long, value_name = "FILE", help_heading = FILES)]
    pub input: Option<String>,
    /// What to do with existing output files [default: truncate]
    #[arg(long, value_name = "MODE", help_heading = FILES, value_parser =
          PossibleValuesParser::new(["append", "truncate"]).map(|word| open_mode(&word)))]
    pub open_mode: Option<OpenMode>,
    /// Working directory [default: the current directory]
    #[arg(short = 'D', long, value_name = "DIRECTORY", help_heading = FILES)]
    pub chdir: Option<PathBuf>,

    /// Submit an array of tasks: 0-99; 1,3,5-9:2; 0-999%50 for at most 50 at once
    #[arg(short = 'a', long, value_name = "INDICES", allow_negative_numbers = true,
          help_heading = HOW)]
    pub array: Option<ArraySpec>,
    /// Run the script once, once on every node, or once for every task [default: once]
    #[arg(long, value_name = "once|per-node|per-task", value_parser = read_launch,
          help_heading = HOW)]
    pub launch: Option<Launch>,
    /// Run in a container: a directory on the nodes with an OCI bundle or a root file system
    #[arg(long, value_name = "DIRECTORY", help_heading = HOW)]
    pub container: Option<PathBuf>,
    /// Send a signal before the time limit to all processes, or (B:) only to the script
    /// [without @SECONDS: 60 before]
    #[arg(long, value_name = "[B:]SIGNAL[@SECONDS]", help_heading = HOW)]
    pub signal: Option<Warning>,
    /// Events that send an e-mail: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND,
    /// TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS
    #[arg(long, value_name = "EVENTS", help_heading = HOW)]
    pub mail_type: Option<MailEvents>,
    /// Recipient of e-mails [default: you]
    #[arg(long, value_name = "ADDRESS", value_parser = read_address_or_variable,
          help_heading = HOW)]
    pub mail_user: Option<String>,
    /// Send a signal when the running job is resized (`kantctl resize`) to all processes, or (B:)
    /// only to the script
    #[arg(long, value_name = "[B:]SIGNAL", help_heading = HOW)]
    pub resize_signal: Option<ResizeSignal>,
    /// Environment variables to pass to the job: ALL, NONE, or NAME,NAME=VALUE [default: ALL]
    #[arg(long, value_name = "NAMES", help_heading = HOW)]
    pub export: Option<Export>,
    /// Start the job again when a node is lost (the default)
    #[arg(long, overrides_with = "no_requeue", help_heading = HOW)]
    pub requeue: bool,
    /// Never start the job again
    #[arg(long, overrides_with = "requeue", help_heading = HOW)]
    pub no_requeue: bool,
    /// Allow preemption of the job [default: as configured for its QoS or queue]
    #[arg(long, overrides_with = "no_preemptible", help_heading = HOW)]
    pub preemptible: bool,
    /// Do not allow preemption of the job
    #[arg(long, overrides_with = "preemptible", help_heading = HOW)]
    pub no_preemptible: bool,
    /// Print only the job's id
    #[arg(long, help_heading = HOW)]
    pub parsable: bool,
    /// Do not submit: show when and where the job would start
    #[arg(long, conflicts_with = "wait", help_heading = HOW)]
    pub test_only: bool,
    /// Wait until the job ends, and exit with its exit code
    #[arg(short = 'W', long, help_heading = HOW)]
    pub wait: bool,
    /// Print only errors
    #[arg(short = 'Q', long, help_heading = HOW)]
    pub quiet: bool,
    #[command(flatten)]
    pub depends: Depends,
    #[command(flatten)]
    pub ignored_options: IgnoredOptions,
}

fn open_mode(word: &str) -> OpenMode {
    if word == "append" { OpenMode::Append } else { OpenMode::Truncate }
}

/// The definition without a script, for directives and the environment.
#[must_use]
pub fn definition() -> Command {
    Options::augment_args(Command::new("submit"))
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
}

/// Parses words such as `--time=10 -n 4`.
///
/// # Errors
/// clap's error for an unknown option, an invalid value, or two options that exclude each other.
pub fn read_words<W: AsRef<str>>(words: &[W]) -> Result<Options, clap::Error> {
    let matches = definition().try_get_matches_from(words.iter().map(AsRef::as_ref))?;
    Options::from_arg_matches(&matches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Options {
        read_words(&words.split(' ').collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn the_definition_is_valid() {
        definition().debug_assert();
    }

    #[test]
    fn alternative_options_exclude_each_other_within_a_layer() {
        for words in
            ["--mem 1G --mem-per-cpu 2G", "--gpus 4 --gres gpu:2", "--near leaf --switches 1"]
        {
            let error = read_words(&words.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict, "{words}");
        }
    }

    #[test]
    fn a_signal_is_read_in_the_syntax_of_sbatch() {
        let shown = |words: &str| read(words).signal.map(|warning| warning.to_string());
        assert_eq!(shown("--signal=B:USR1@120").as_deref(), Some("B:USR1@120"));
        assert_eq!(shown("--signal TERM").as_deref(), Some("TERM@60"));
        let error = read_words(&["--signal=R:USR1"]).unwrap_err().to_string();
        assert!(error.contains("not supported"), "{error}");
    }

    #[test]
    fn the_last_value_of_a_repeated_option_wins() {
        assert_eq!(read("-n 1 -n 2"), read("-n 2"));
        assert_eq!(read("--requeue --no-requeue"), read("--no-requeue"));
        assert_eq!(read("--no-preemptible --preemptible"), read("--preemptible"));
    }

    #[test]
    fn invalid_counts_are_refused_with_the_option_named() {
        for words in [
            ["-n", "-3"],
            ["-N", "0"],
            ["--gpus", "-1"],
            ["--mem", "-5"],
            ["-t", "-5"],
            ["--segment", "0"],
            ["--max-per-node", "-1"],
        ] {
            let error = read_words(&words).unwrap_err().to_string();
            assert!(error.contains("invalid value") && error.contains(words[1]), "{error}");
        }
    }
}
