//! The command line as clap knows it: the verbs, and the options that all of them accept.
//! `lib.rs` runs the verb.

use crate::startup::Global;
use crate::verb::{
    admin, alloc, attach, audit, batch, cancel, checkpoint, completions, drain, explain, export,
    help, history, hold, install_slurm_names, launch, logs, man, metrics, nodes, priority, queue,
    queues, release, reload, report, requeue, reservations, resize, resume, run, service, share,
    show, status, suspend, token, top, update, wait, watch,
};
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  kantctl submit --wrap 'hostname; sleep 5'
  kantctl run --gpus 1 nvidia-smi
  kantctl queue
  kantctl nodes
  kantctl queue --json

Exit codes:
  0  success
  1  the request was refused, or failed
  2  the command line is invalid
  3  the controller cannot be reached
  `wait` and `submit --wait` exit with the job's exit code; `launch`, `run`, `attach` and
  `alloc` with the program's. 128+N means: ended by signal N.

Times are shown in your time zone (TZ); --json prints milliseconds since 1970.

Files:
  /etc/kant/kantctl.toml, ~/.config/kant/kantctl.toml";

/// Submit, monitor and control jobs on a kant cluster
#[derive(Parser, Debug)]
#[command(name = "kantctl", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Submit a script as a job
    Submit(Box<batch::Args>),
    /// List jobs
    #[command(visible_alias = "q")]
    Queue(queue::Args),
    /// Show the cluster and its jobs on a live screen
    Top(top::Args),
    /// Print events as they happen
    Watch(watch::Args),
    /// List finished jobs, including those the controller no longer keeps
    History(Box<history::Args>),
    /// Show everything about a job or a node
    Show(show::Args),
    /// Explain why a job is in its state, and what to do about it
    Explain(Box<explain::Args>),
    /// Print a job's output
    Logs(logs::Args),
    /// Run a program on nodes of the cluster, with input and output on this terminal
    Run(Box<run::Args>),
    /// Allocate nodes for a shell or a command on this host
    Alloc(Box<alloc::Args>),
    /// Attach to the output and input of a running step; Ctrl-C detaches
    Attach(attach::Args),
    /// Start a program on a node of a running job
    Launch(launch::Args),
    /// Start the tasks of a step on this node
    #[command(hide = true)]
    StepTasks,
    /// Wait for jobs to end, and exit with their exit code
    Wait(wait::Args),
    /// Cancel jobs, or send them a signal
    Cancel(cancel::Args),
    /// Hold waiting jobs, so that they do not start
    Hold(hold::Args),
    /// Release held jobs
    Release(release::Args),
    /// Change the request of waiting jobs
    Update(Box<update::Args>),
    /// Requeue jobs: they start again from the beginning
    Requeue(requeue::Args),
    /// Record that a job's work up to now is saved
    Checkpoint(checkpoint::Args),
    /// Shrink running jobs to fewer nodes
    Resize(resize::Args),
    /// Suspend running jobs
    Suspend(suspend::Args),
    /// List nodes
    Nodes(nodes::Args),
    /// Drain nodes: no new jobs start on them
    Drain(drain::Args),
    /// Resume suspended jobs, or drained nodes
    Resume(resume::Args),
    /// List queues, as a tree
    Queues(queues::Args),
    /// Show fair shares: entitlement, use and borrowing of each queue
    Share(share::Args),
    /// List, create, change and delete reservations of nodes
    Reservations(reservations::Args),
    /// Deploy, list, scale, update and stop services
    #[command(visible_alias = "services")]
    Service(service::Args),
    /// Show how the priorities of waiting jobs are calculated
    Priority(priority::Args),
    /// Show GPU utilization and job waiting times
    Metrics(metrics::Args),
    /// Report usage by user, account or queue, and the available capacity
    Report(report::Args),
    /// Export past jobs and the nodes as files that `kant-sim simulate` replays
    Export(export::Args),
    /// Make the controller read its configuration again
    Reload(reload::Args),
    /// Show the controller's status
    Status(status::Args),
    /// Create, list and revoke tokens, by which programs use the API over HTTP
    Token(token::Args),
    /// Show who changed what, and which requests were refused
    Audit(audit::Args),
    /// Administer the hosts of the cluster: controllers, nodes and backups
    Admin(admin::Args),
    /// Show a page on a topic: jobs, gpus, arrays, queues, services, environment, slurm
    Help(help::Args),
    /// Print completions for a shell
    Completions(completions::Args),
    /// Print the manual page, or write all manual pages to a directory
    Man(man::Args),
    /// Create links named sbatch, squeue and so on, which behave as Slurm's commands
    InstallSlurmNames(install_slurm_names::Args),
}
