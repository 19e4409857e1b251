//! The command line as clap knows it: the verbs, and the options that all of them take.
//! Never does anything; `lib.rs` runs the verb.

use crate::verb::{
    admin, alloc, attach, batch, cancel, checkpoint, completions, drain, explain, export, help,
    history, hold, install_slurm_names, launch, logs, man, metrics, nodes, priority, queue, queues,
    release, reload, report, requeue, reservations, resize, resume, run, share, show, status,
    suspend, top, update, wait, watch,
};
use clap::{Args, Parser, Subcommand};
use common::time::Span;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  kantctl submit --wrap 'hostname; sleep 5'
  kantctl run --gpus 1 nvidia-smi
  kantctl queue
  kantctl nodes
  kantctl queue --json

Exit codes:
  0  done
  1  refused, or failed
  2  the command line does not make sense
  3  the controller cannot be reached
  `wait` and `submit --wait` exit with the job's code, `launch`, `run`, `attach` and
  `alloc` with the program's; 128+N is signal N.

Times are shown in your zone (TZ); --json has milliseconds since 1970.

Files:
  /etc/kant/kantctl.toml, ~/.config/kant/kantctl.toml";

/// Submit jobs to a kant cluster, watch and steer them.
#[derive(Parser, Debug)]
#[command(name = "kantctl", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    /// What every verb takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What every verb takes. `lib.rs` reads their environment variables: those that clap reads show up
/// in the usage of every error as if they had to be given.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print the controller's answer as JSON; what failed as {"error": ...}, beside the words on
    /// stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// The configuration file, instead of the usual ones [env: KANT_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Keep asking for so long (30s, 10m) while the controller cannot be reached
    /// [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s]
    /// [env: KANT_RETRY]
    #[arg(long, global = true, value_name = "TIME")]
    pub retry: Option<Span>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Submit a script as a job
    Submit(Box<batch::Args>),
    /// List jobs
    #[command(visible_alias = "q")]
    Queue(queue::Args),
    /// Watch the cluster and its jobs, live
    Top(top::Args),
    /// Tell what happens, as it happens
    Watch(watch::Args),
    /// List jobs that are over, also those the controller no longer keeps
    History(Box<history::Args>),
    /// Show everything about a job or a node
    Show(show::Args),
    /// Say why a job is where it is, and what to do
    Explain(Box<explain::Args>),
    /// Print a job's output
    Logs(logs::Args),
    /// Run a program on nodes of its own, now and here
    Run(Box<run::Args>),
    /// Hold nodes for a shell here
    Alloc(Box<alloc::Args>),
    /// See what a step that runs writes, and detach with Ctrl-C
    Attach(attach::Args),
    /// Start a program on a node of a job that runs
    Launch(launch::Args),
    /// Start the tasks of a step on this node
    #[command(hide = true)]
    StepTasks,
    /// Wait for jobs to end, and exit with their code
    Wait(wait::Args),
    /// End jobs
    Cancel(cancel::Args),
    /// Keep waiting jobs from starting
    Hold(hold::Args),
    /// Let held jobs go
    Release(release::Args),
    /// Change what waiting jobs ask for
    Update(Box<update::Args>),
    /// Start jobs again from the top
    Requeue(requeue::Args),
    /// Say that a job's work so far is saved
    Checkpoint(checkpoint::Args),
    /// Let running jobs give nodes up
    Resize(resize::Args),
    /// Let running jobs stand still
    Suspend(suspend::Args),
    /// List nodes
    Nodes(nodes::Args),
    /// Let nothing new start on nodes
    Drain(drain::Args),
    /// Let suspended jobs go on, or jobs start on nodes again
    Resume(resume::Args),
    /// List queues, as a tree
    Queues(queues::Args),
    /// Say who is owed how much, who has it, and who borrows from whom
    Share(share::Args),
    /// List, make and delete bookings of nodes
    Reservations(reservations::Args),
    /// Say where waiting jobs' priorities come from
    Priority(priority::Args),
    /// Say how well the GPUs are used, and how long jobs wait
    Metrics(metrics::Args),
    /// Add up who used how much, and how much there was
    Report(report::Args),
    /// Write what ran, and where, as files that `kantctld simulate` replays
    Export(export::Args),
    /// Have the controller read its configuration again
    Reload(reload::Args),
    /// Say how the controller is
    Status(status::Args),
    /// See and change the cluster's controllers, and back up all that they know
    Admin(admin::Args),
    /// A short page on a topic: jobs, gpus, arrays, queues, environment, slurm
    Help(help::Args),
    /// Print a shell's completions
    Completions(completions::Args),
    /// Print the manual page, or write all of them
    Man(man::Args),
    /// Make links that answer as sbatch, squeue and Slurm's other commands
    InstallSlurmNames(install_slurm_names::Args),
}
