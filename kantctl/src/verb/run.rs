//! `kantctl run`: a program on nodes of its own, now, with its input and output here. In a job, or
//! with --in, it runs on that job's nodes. Never leaves its job behind.

use crate::failure::Failure;
use crate::server::Server;
use crate::signals::Signals;
use crate::step::allocate::{self, Held, Voice, Wanted};
use crate::step::booking;
use crate::step::conduct::{self, Step};
use crate::step::ground::Ground;
use crate::step::keeper::Keeper;
use crate::step::place::Place;
use crate::step::size;
use crate::step::wish::Wish;
use crate::submission::options::Options;
use crate::submission::{components, environment};
use crate::verb::trial;
use anyhow::Context;
use common::id::JobKey;
use common::job::Phase;
use common::time::Span;
use common::wire::api::JobList;
use common::wire::node::StepGpus;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  kantctl run hostname
  kantctl run -N 2 --ntasks-per-node 1 --label hostname
  kantctl run --gpus 1 --time 30 nvidia-smi
  kantctl run --pty bash
  kantctl run --in 42 --pty bash
  echo hello | kantctl run -n 2 cat

It asks for nodes as `kantctl submit` does, says why it waits, runs the program once for each task
(--ntasks), and gives the nodes back. What tasks write comes here, what is typed here goes to all of
them. Its exit code is the largest of its tasks', 128+N for signal N.

Ctrl-C tells what runs; twice within a second it ends the tasks. Other signals are passed on. The
job ends with kantctl: at once when its terminal is lost, within a minute when it was killed.";

/// Arguments of `run`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// The task's number before each line
    #[arg(short = 'l', long, help_heading = HERE)]
    pub label: bool,
    /// On a terminal of its own: what is typed here goes there
    #[arg(long, help_heading = HERE)]
    pub pty: bool,
    /// End all tasks when one fails
    #[arg(short = 'K', long, help_heading = HERE)]
    pub kill_on_bad_exit: bool,
    /// Give up if it has not started within so long [without TIME: 1s]
    #[arg(short = 'I', long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "1s", help_heading = HERE)]
    pub immediate: Option<Span>,
    /// On the nodes of this job of yours, which runs
    #[arg(long = "in", value_name = "JOB", help_heading = HERE)]
    pub in_job: Option<JobKey>,
    /// The program, and what it is given
    #[arg(value_name = "PROGRAM", required = true, num_args = 1.., trailing_var_arg = true)]
    pub program: Vec<String>,
}

const HERE: &str = "Here";

impl Args {
    fn wish(&self, options: &Options) -> Wish {
        Wish {
            program: self.program.clone(),
            name: options.job_name.clone(),
            // Of a range it has what its job got.
            tasks: options.ntasks.filter(|tasks| tasks.least.is_none()).map(|tasks| tasks.most.0),
            nodes: options.nodes.map(|nodes| nodes.to_string()),
            cpus_per_task: options.cpus_per_task,
            ntasks_per_node: options.ntasks_per_node,
            nodelist: options.nodelist.as_ref().map(|hosts| common::hostlist::fold(&hosts.0)),
            output: options.output.clone(),
            error: options.error.clone(),
            input: options.input.clone(),
            append: options.open_mode == Some(common::job::OpenMode::Append),
            label: self.label,
            kill_on_bad_exit: self.kill_on_bad_exit,
            time: options.time.and_then(|limit| limit.0).filter(|limit| limit.0 > 0),
            quiet: options.quiet,
            pty: self.pty,
            chdir: options.chdir.clone(),
            export: options.export.clone(),
            ..Wish::default()
        }
    }
}

/// Runs a program, and waits for it.
///
/// # Errors
/// [`Failure`] when there are no nodes for it, or it cannot be started.
pub async fn run(args: &Args, server: &Server) -> Result<u8, Failure> {
    components::refuse(&args.program, "run")?;
    let around = surroundings();
    let ground = match args.in_job {
        Some(key) => Some(ground_of(key, server).await?),
        None => Ground::around(&around)?,
    };
    match ground {
        Some(_) if args.options.test_only => Err(trial::of_a_step()),
        Some(ground) => in_job(&args.wish(&args.options), &ground, around, server).await,
        None => {
            let options = args.options.clone().over(environment::read_own_options(&around)?);
            let wish = args.wish(&options);
            let immediate = args.immediate.map(|span| Duration::from_millis(span.0));
            let program = &args.program;
            let (voice, stays, options) = (Voice::Kant, false, &options);
            let wanted = Wanted { options, program, voice, immediate, stays };
            in_new_job(&wish, &wanted, around, server).await
        }
    }
}

/// The environment, as far as it is text.
#[must_use]
pub fn surroundings() -> BTreeMap<String, String> {
    let all = std::env::vars_os();
    let all =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    size::now(all.collect())
}

/// The nodes of a job that runs.
///
/// # Errors
/// [`Failure`] when it is not known, or does not run.
pub async fn ground_of(key: JobKey, server: &Server) -> Result<Ground, Failure> {
    let list: JobList = server.get(&format!("/v1/jobs/{key}")).await?;
    // A task of an array has a number, too.
    let mut jobs = list.jobs.into_iter();
    let job = jobs.next().filter(|_| jobs.next().is_none());
    let job = job.filter(|job| matches!(job.phase, Phase::Starting | Phase::Running));
    let ground = job.as_ref().and_then(Ground::of);
    ground.ok_or_else(|| {
        Failure::message(format!("job {key} does not run"))
            .hint(format!("`kantctl explain {key}` says where it is"))
    })
}

/// A step in a job that runs.
///
/// # Errors
/// As of [`run`].
pub async fn in_job(
    wish: &Wish,
    ground: &Ground,
    environment: BTreeMap<String, String>,
    server: &Server,
) -> Result<u8, Failure> {
    // Without a book of steps, a number that no other step there has.
    let place = Place::choose(wish, ground, std::process::id())?;
    let mut signals = Signals::take()?;
    let keeper = Keeper::start(server, None);
    let cpus_each = wish.cpus_per_task.or(ground.cpus_per_task).unwrap_or(1);
    step(wish, place, cpus_each, environment, server, &keeper, &mut signals).await
}

/// A step in a job of its own.
///
/// # Errors
/// As of [`run`].
pub async fn in_new_job(
    wish: &Wish,
    wanted: &Wanted<'_>,
    environment: BTreeMap<String, String>,
    server: &Server,
) -> Result<u8, Failure> {
    if wanted.options.test_only {
        return allocate::try_out(wanted, server).await;
    }
    // Before the job is there: a signal that comes while it starts is for it.
    let mut signals = Signals::take()?;
    let held = allocate::allocate(wanted, server, &mut signals).await?;
    let Held { job, ground, keeper } = &held;
    // The job is no larger than the step: the step has all of it.
    let gpus = StepGpus::All;
    let (exclusive, nodelist, nodes, time) = (false, None, None, None);
    let whole = Wish { gpus, exclusive, nodelist, nodes, time, ..wish.clone() };
    let ended = match Place::choose(&whole, ground, 0) {
        Ok(place) => {
            let cpus_each = ground.cpus_per_task.unwrap_or(1);
            step(&whole, place, cpus_each, environment, server, keeper, &mut signals).await
        }
        Err(failure) => Err(failure),
    };
    let code = ended.as_ref().map_or_else(|failure| failure.kind.code(), |code| *code);
    allocate::finish(server, job.key, code).await;
    ended
}

async fn step(
    wish: &Wish,
    mut place: Place,
    cpus_each: u32,
    environment: BTreeMap<String, String>,
    server: &Server,
    keeper: &Keeper,
    signals: &mut Signals,
) -> Result<u8, Failure> {
    let directory = std::env::current_dir().context("failed to find the current directory")?;
    let is_watched = std::io::stdin().is_terminal() && !wish.pty;
    let view = tokio::select! {
        opened = booking::open(wish, &place, cpus_each, server) => opened?,
        signal = allocate::refusal(signals) => {
            return Err(Failure::message(format!("gave up the step at {signal}")));
        }
    };
    let number = view.as_ref().map(|view| view.number);
    place.step = number.unwrap_or(place.step);
    if let Some(view) = &view {
        place.settle(&view.shares);
    }
    let (key, place) = (place.key, &place);
    let lines = Arc::new(server.again());
    let step = Step {
        wish,
        place,
        environment,
        directory,
        server: lines,
        keeper,
        view,
        cpus_each,
        is_watched,
    };
    let ended = conduct::run(step, signals).await;
    if let Some(number) = number {
        let code = ended.as_ref().map_or_else(|failure| failure.kind.code(), |code| *code);
        booking::close(server, key, number, allocate::as_exit(code)).await;
    }
    ended
}
