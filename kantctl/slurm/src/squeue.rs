//! `squeue`: lists jobs and their steps.
//! Source: man squeue.

mod list_row;
mod sort;

use super::cluster_name::cluster_name;
use super::format::{self, Cell, Piece};
use super::job_fields::{self, JobField};
use super::line_value::group_lines;
use super::repeat::Repeat;
use super::shared_options::Common;
use super::{json, running_steps};
use cli::failure::{Failure, OK};
use cli::keys::{self, Keys};
use cli::output::Screen;
use cli::server::Server;
use cli::verb::filter::{Filter, check_states};
use cli::verb::starts::fetch_expected_starts;
use common::id::{AccountName, JobKey, QosName, QueueName, ReservationName};
use common::job::attributes::Hosts;
use common::job::{Launch, Phase, StepRecord};
use common::wire::api::{JobList, JobView, PriorityList};
use slurm_json::job_line::{Line, LinePart, Page};
use slurm_json::size::Unit;
use std::collections::BTreeMap;

const DEFAULT_FORMAT: &str = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
const LONG_FORMAT: &str = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
const STEP_FORMAT: &str = "%.15i %.8j %.9P %.8u %.9M %N";
const START_FORMAT: &str = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";

/// List jobs, as Slurm's squeue does
#[derive(clap::Parser, Debug)]
#[command(name = "squeue", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub repeat: Repeat,
    /// Only jobs of these accounts
    #[arg(short = 'A', long = "account", value_delimiter = ',', value_name = "ACCOUNT")]
    pub accounts: Vec<AccountName>,
    /// Include partitions that you may not use (always)
    #[arg(short = 'a', long)]
    pub all: bool,
    /// Show one line for each array task
    #[arg(short = 'r', long)]
    pub array: bool,
    /// Omit the header
    #[arg(short = 'h', long = "noheader")]
    pub no_header: bool,
    /// Only these jobs
    #[arg(short = 'j', long = "jobs", visible_alias = "job", value_name = "JOB")]
    pub jobs: Vec<Keys>,
    /// Show more columns
    #[arg(short = 'l', long, conflicts_with_all = ["format", "long_format"])]
    pub long: bool,
    /// Only your own jobs
    #[arg(long)]
    pub me: bool,
    /// Only jobs with these names
    #[arg(short = 'n', long = "name", value_delimiter = ',', value_name = "NAME")]
    pub names: Vec<String>,
    /// Show all sizes in MiB
    #[arg(long = "noconvert")]
    pub no_convert: bool,
    /// Fields to show: %[[.]size]letter
    #[arg(short = 'o', long, value_name = "FORMAT", conflicts_with = "long_format")]
    pub format: Option<String>,
    /// Fields to show, by name: JobID:12,State
    #[arg(short = 'O', long = "Format", value_name = "NAMES")]
    pub long_format: Option<String>,
    /// Only jobs of these partitions
    #[arg(short = 'p', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Only jobs with these QoS
    #[arg(short = 'q', long, value_delimiter = ',', value_name = "QOS")]
    pub qos: Vec<QosName>,
    /// Only jobs in this reservation
    #[arg(short = 'R', long, value_name = "NAME")]
    pub reservation: Option<ReservationName>,
    /// Fields to sort by, as letters; a leading - reverses the order [default: P,t,-p]
    #[arg(short = 'S', long, value_name = "FIELDS", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Show when waiting jobs are expected to start
    #[arg(long, conflicts_with = "steps")]
    pub start: bool,
    /// Show the steps of running jobs instead of jobs; with an argument only these: 42, 42.0
    #[arg(short = 's', long, value_name = "JOB[.STEP]", num_args = 0..=1, value_delimiter = ',',
          conflicts_with = "json")]
    pub steps: Option<Vec<String>>,
    /// Only jobs in these states, or `all` [default: jobs that have not ended]
    #[arg(
        short = 't',
        long = "states",
        visible_alias = "state",
        value_delimiter = ',',
        value_name = "STATE"
    )]
    pub states: Vec<String>,
    /// Only jobs of these users
    #[arg(
        short = 'u',
        long = "user",
        visible_alias = "users",
        value_delimiter = ',',
        value_name = "USER"
    )]
    pub users: Vec<String>,
    /// Only jobs on these nodes
    #[arg(short = 'w', long = "nodelist", value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// List a job once for each of its partitions (ignored: a job has one partition)
    #[arg(short = 'P', long)]
    pub priority: bool,
    /// Print JSON in the format of Slurm 22.05
    #[arg(long)]
    pub json: bool,
}

/// Environment variables that set options (man squeue, ENVIRONMENT).
const VARIABLES: &[(&str, &str)] = &[
    ("SQUEUE_ACCOUNT", "--account"),
    ("SQUEUE_FORMAT", "--format"),
    ("SQUEUE_FORMAT2", "--Format"),
    ("SQUEUE_NAMES", "--name"),
    ("SQUEUE_PARTITION", "--partition"),
    ("SQUEUE_QOS", "--qos"),
    ("SQUEUE_SORT", "--sort"),
    ("SQUEUE_STATES", "--states"),
    ("SQUEUE_USERS", "--user"),
];

impl Args {
    #[must_use]
    pub const fn variables() -> &'static [(&'static str, &'static str)] {
        VARIABLES
    }

    fn pieces(&self) -> Result<Vec<Piece<&'static JobField>>, Failure> {
        let default = match (self.start, self.steps.is_some(), self.long) {
            (true, ..) => START_FORMAT,
            (_, true, _) => STEP_FORMAT,
            (.., true) => LONG_FORMAT,
            (.., false) => DEFAULT_FORMAT,
        };
        let (names, letters) = (self.long_format.as_deref(), self.format.as_deref());
        let (by_name, by_letter) = (job_fields::by_squeue_name, job_fields::by_letter);
        format::choose(names, letters, default, job_fields::fields(), by_name, by_letter)
            .map_err(Failure::usage)
    }

    fn all_states(&self) -> bool {
        self.states.iter().any(|state| state.eq_ignore_ascii_case("all"))
    }

    fn filter(&self) -> Filter {
        let users = self.users.iter().filter(|user| !user.is_empty());
        Filter {
            me: self.me,
            user: if self.me { Vec::new() } else { users.cloned().collect() },
            queue: self.partitions.clone(),
            nodes: self.nodes.clone(),
            states: Vec::new(),
            names: self.names.clone(),
        }
    }

    /// The job's own line, or with --steps a line for each running step.
    fn lines<'a>(
        &self,
        line: Line<'a>,
        steps: &'a BTreeMap<JobKey, Vec<StepRecord>>,
    ) -> Vec<Line<'a>> {
        let Some(named) = &self.steps else { return vec![line] };
        let steps = steps.get(&line.job.key).into_iter().flatten();
        let steps = steps.filter(|step| step.ended_at.is_none());
        let runs = line.job.started_at.is_some() && line.job.phase != Phase::Done;
        let has_script = runs && line.job.ask.launch != Launch::Held;
        let parts =
            has_script.then_some(LinePart::Batch).into_iter().chain(steps.map(LinePart::Step));
        let lines = parts.map(|part| Line { part, ..line });
        let own = [line.id(), line.job_id()];
        let is_named = |line: &Line<'_>| {
            let names = [line.id(), line.job_id()];
            named.is_empty() || named.iter().any(|name| own.contains(name) || names.contains(name))
        };
        lines.filter(is_named).collect()
    }

    fn matches_job(&self, job: &JobView, keys: &[JobKey]) -> bool {
        let ask = &job.ask;
        (keys.is_empty() || keys::contains_job(keys, job))
            && (!self.states.is_empty() || job.phase != Phase::Done)
            && (!self.start || job.phase == Phase::Pending)
            && (self.accounts.is_empty()
                || ask.account.as_ref().is_some_and(|one| self.accounts.contains(one)))
            && (self.qos.is_empty() || ask.qos.as_ref().is_some_and(|q| self.qos.contains(q)))
            && (self.reservation.is_none() || ask.reservation == self.reservation)
    }
}

/// # Errors
/// [`Failure`] when the controller does not answer, a job is unknown or the format is invalid.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if !args.all_states() {
        check_states(&args.states)?;
    }
    let pieces = args.pieces()?;
    args.repeat.run(screen, async || list(args, &pieces, server, screen).await).await
}

async fn list(
    args: &Args,
    pieces: &[Piece<&'static JobField>],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let all = !args.states.is_empty() || !args.jobs.is_empty();
    let mut found: JobList = match list_row::is_sufficient(args, pieces) {
        true => args.filter().fetch_brief(server, all).await?,
        false => args.filter().fetch_typed(server, all).await?,
    };
    let keys = keys::flatten(&args.jobs);
    let known = |key: &JobKey| found.jobs.iter().any(|job| keys::contains_job(&[*key], job));
    // Unknown jobs among several are omitted; a single unknown job is an error (man squeue), unless
    // it exists and was only filtered out.
    if let [key] = keys.as_slice()
        && !known(key)
        && let Err(failure) = server.get::<JobList>(&format!("/v1/jobs/{key}")).await
    {
        let is_unknown = failure.error_code() == Some("unknown_job");
        let invalid = || Failure::from_message(format!("Invalid job id specified: {key}"));
        return Err(if is_unknown { invalid() } else { failure });
    }
    found.jobs.retain(|job| args.matches_job(job, &keys));
    let sort = args.sort.as_deref().unwrap_or("P,t,-p");
    let mut page = page(args, pieces, &found, server).await?;
    let any_state = args.states.is_empty() || args.all_states();
    if args.json {
        page.cluster = cluster_name(server).await?;
        let jobs = found.jobs.iter().filter(|job| {
            let (jobs, page) = (std::slice::from_ref(*job), &page);
            let line = Line { jobs, job, part: LinePart::Whole, page };
            any_state || line.is_in_state(&args.states)
        });
        let jobs = jobs.map(|one| slurm_json::job::job(one, &page, json::VERSION));
        return json::print(screen, "jobs", jobs.collect());
    }
    let steps = match args.steps {
        Some(_) => running_steps::fetch(&found.jobs, server).await,
        None => BTreeMap::new(),
    };
    let mut lines: Vec<Line<'_>> = group_lines(&found.jobs, args.array)
        .into_iter()
        .filter_map(|jobs| Some((jobs, jobs.first()?)))
        .map(|(jobs, job)| Line { jobs, job, part: LinePart::Whole, page: &page })
        .filter(|line| any_state || line.is_in_state(&args.states))
        .flat_map(|line| args.lines(line, &steps))
        .collect();
    let keys = sort::parse(sort)?;
    lines.sort_by(|one, other| sort::compare(&keys, one, other));
    if args.long && !args.no_header {
        screen.print_line(&cli::slurm_time::current_time(&screen.zone))?;
    }
    let title = |field: &&JobField| match (field.letter, &args.steps) {
        ('i', Some(_)) => "STEPID".to_owned(),
        _ => field.title.to_owned(),
    };
    let titled = (!args.no_header).then_some(&title as &dyn Fn(&&'static JobField) -> String);
    let show =
        |field: &&'static JobField, line: &Line<'_>| field.value(line).squeue_text(&screen.zone);
    screen.print(&format::format_text(pieces, titled, &lines, show))?;
    Ok(OK)
}

/// What all lines share. Priorities and expected starts are fetched only if they are shown.
async fn page(
    args: &Args,
    pieces: &[Piece<&'static JobField>],
    found: &JobList,
    server: &Server,
) -> Result<Page, Failure> {
    let (as_of, unit) = (found.as_of, Unit::from_no_convert(args.no_convert));
    let mut page = Page { as_of, unit, ..Page::default() };
    let shows = |letters: [char; 2]| {
        let is = |cell: &Cell<&JobField>| letters.contains(&cell.field.letter);
        pieces.iter().any(|piece| matches!(piece, Piece::Cell(cell) if is(cell)))
    };
    let waits = found.jobs.iter().any(|job| job.phase == Phase::Pending);
    if waits && (args.json || shows(['p', 'Q'])) {
        let list: PriorityList = server.get("/v1/priority").await?;
        page.priorities = list.jobs.into_iter().map(|view| (view.key, view.total)).collect();
    }
    if args.start {
        page.starts = fetch_expected_starts(&found.jobs, server).await?;
    }
    Ok(page)
}
