//! `sacct`: jobs and their steps, for as long as accounting keeps them. Unknown fields are empty.
//! Source: man sacct.

mod job_records;

use super::cluster_name::cluster_name;
use super::format::{self, Cell, Piece};
use super::json;
use super::line_value::group_lines;
use super::sacct_field::{self, SacctField};
use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::keys::{self, Keys};
use cli::output::{Screen, screen};
use cli::server::Server;
use cli::verb::filter::{Filter, check_states, outcome_word};
use common::id::{AccountName, QosName, QueueName};
use common::job::Phase;
use common::job::attributes::Hosts;
use common::wire::api::JobView;
use job_records::{JobRecords, Window};
use slurm_json::account_job;
use slurm_json::job_line::{Line, LinePart, Page};
use slurm_json::size::Unit;

const DEFAULT_FORMAT: &str = "jobid,jobname,partition,account,alloccpus,state,exitcode";
/// States of Slurm that no job of kant has.
const UNUSED_STATES: [&str; 4] = ["RESIZING", "RS", "REVOKED", "RV"];
const BRIEF: &str = "jobid,state,exitcode";
const LONG: &str = "jobid,jobidraw,jobname,partition,maxvmsize,avevmsize,maxrss,averss,ntasks,\
                    alloccpus,elapsed,state,exitcode,reqmem,alloctres";

/// Show jobs and their steps from accounting, as Slurm's sacct does
#[derive(clap::Parser, Debug)]
#[command(name = "sacct", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Only jobs of these accounts
    #[arg(
        short = 'A',
        long = "accounts",
        visible_alias = "account",
        value_delimiter = ',',
        value_name = "ACCOUNT"
    )]
    pub accounts: Vec<AccountName>,
    /// Show jobs of all users
    #[arg(short = 'a', long = "allusers")]
    pub all_users: bool,
    /// Show job id, state and exit code only
    #[arg(short = 'b', long)]
    pub brief: bool,
    /// Delimiter of fields with -p and -P [default: |]
    #[arg(long, value_name = "TEXT")]
    pub delimiter: Option<String>,
    /// Include earlier runs of requeued jobs
    #[arg(short = 'D', long)]
    pub duplicates: bool,
    /// End of the time range [default: now; with --state: the start time]
    #[arg(short = 'E', long = "endtime", value_name = "TIME")]
    pub end: Option<String>,
    /// List the available fields
    #[arg(short = 'e', long = "helpformat")]
    pub help_format: bool,
    /// Fields to show: jobid,state%20
    #[arg(short = 'o', long, value_name = "NAMES")]
    pub format: Option<String>,
    /// Only jobs of these groups, by group id
    #[arg(
        short = 'g',
        long = "group",
        visible_alias = "gid",
        value_delimiter = ',',
        value_name = "GROUP"
    )]
    pub groups: Vec<u32>,
    /// Only these jobs
    #[arg(short = 'j', long = "jobs", visible_alias = "job", value_name = "JOB",
          value_parser = without_step)]
    pub jobs: Vec<Keys>,
    /// Show all clusters (ignored: there is one cluster)
    #[arg(short = 'L', long = "allclusters")]
    pub all_clusters: bool,
    /// Show more columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Only jobs with these names
    #[arg(long = "name", value_delimiter = ',', value_name = "NAME")]
    pub names: Vec<String>,
    /// Omit the header
    #[arg(short = 'n', long = "noheader")]
    pub no_header: bool,
    /// Do not convert sizes to larger units
    #[arg(long = "noconvert")]
    pub no_convert: bool,
    /// Only jobs that ran on these nodes
    #[arg(short = 'N', long = "nodelist", value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// Separate fields with |, also after the last
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Separate fields with |
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Only jobs with these QoS
    #[arg(short = 'q', long, value_delimiter = ',', value_name = "QOS")]
    pub qos: Vec<QosName>,
    /// Only jobs of these partitions
    #[arg(short = 'r', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Start of the time range [default: midnight; with --jobs: any time; with --state: now]
    #[arg(short = 'S', long = "starttime", value_name = "TIME")]
    pub start: Option<String>,
    /// Only jobs that were in these states within the time range
    #[arg(short = 's', long = "state", value_delimiter = ',', value_name = "STATE")]
    pub states: Vec<String>,
    /// Show starts and ends outside the time range as its start and end
    #[arg(short = 'T', long)]
    pub truncate: bool,
    /// Show sizes in this unit: K, M, G, T
    #[arg(long, value_name = "UNIT", value_parser = ["K", "M", "G", "T"])]
    pub units: Option<String>,
    /// Only jobs of these users
    #[arg(
        short = 'u',
        long = "user",
        visible_alias = "uid",
        value_delimiter = ',',
        value_name = "USER"
    )]
    pub users: Vec<String>,
    /// Show jobs without their steps
    #[arg(short = 'X', long)]
    pub allocations: bool,
    /// Print JSON in the format of Slurm 22.05
    #[arg(long)]
    pub json: bool,
}

/// `42.batch` and `42.0` stand for job 42.
fn without_step(text: &str) -> Result<Keys, keys::KeysError> {
    let bare = |word: &str| match word.split_once('.') {
        Some((job, _)) => job.to_owned(),
        None => word.to_owned(),
    };
    if text.contains('[') {
        return text.parse();
    }
    text.split(',').map(bare).collect::<Vec<_>>().join(",").parse()
}

impl Args {
    /// The environment variables that set options of sacct.
    #[must_use]
    pub const fn variables() -> &'static [(&'static str, &'static str)] {
        &[("SACCT_FORMAT", "--format")]
    }

    fn cells(&self) -> Result<Vec<Cell<SacctField>>, Failure> {
        let default = match (self.brief, self.long) {
            (true, _) => BRIEF,
            (_, true) => LONG,
            _ => DEFAULT_FORMAT,
        };
        let read =
            format::parse_percents(self.format.as_deref().unwrap_or(default), sacct_field::field);
        read.map_err(|error| {
            Failure::usage(anyhow::anyhow!("{error}: `sacct -e` lists the fields"))
        })
    }

    /// By default, root sees the jobs of all users, and other users see their own.
    #[must_use]
    pub fn filter(&self) -> Filter {
        let all = self.all_users || !self.jobs.is_empty() || nix::unistd::getuid().is_root();
        let users: Vec<String> =
            self.users.iter().filter(|user| !user.is_empty()).cloned().collect();
        Filter {
            me: users.is_empty() && !all,
            user: users,
            queue: self.partitions.clone(),
            nodes: self.nodes.clone(),
            states: Vec::new(),
            names: self.names.clone(),
        }
    }

    /// Whether the job matches the options that the controller's query does not cover.
    #[must_use]
    pub fn matches_job(&self, job: &JobView, window: &Window) -> bool {
        let ask = &job.ask;
        window.contains(job)
            && (self.accounts.is_empty()
                || ask.account.as_ref().is_some_and(|one| self.accounts.contains(one)))
            && (self.qos.is_empty() || ask.qos.as_ref().is_some_and(|q| self.qos.contains(q)))
            && (self.groups.is_empty() || self.groups.contains(&job.owner.gid.0))
    }
}

/// Shows jobs from accounting.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a field or time is not known.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if args.help_format {
        screen.print(&sacct_field::list())?;
        return Ok(OK);
    }
    // Accepted, although no job is ever in them.
    let known =
        |state: &&String| outcome_word(state).is_none() && !UNUSED_STATES.contains(&state.as_str());
    check_states(&args.states.iter().filter(known).cloned().collect::<Vec<_>>())?;
    let cells = args.cells()?;
    let (found, window) = job_records::fetch(args, server, screen).await?;
    let unit = match (&args.units, args.no_convert) {
        (Some(unit), _) => unit.chars().next().map_or(Unit::Fitting, Unit::In),
        (None, no_convert) => Unit::from_no_convert(no_convert),
    };
    let page = Page {
        cluster: cluster_name(server).await?,
        as_of: found.as_of,
        account: true,
        unit,
        ..Page::default()
    };
    let lines = lines(args, &found, &window, &page);
    let is_one_moment = args.start.is_some() && args.end.is_none() && !args.states.is_empty();
    if is_one_moment && lines.is_empty() {
        screen::note("with --state and without --endtime, only the state at --starttime counts");
    }
    if args.json {
        let jobs = lines.iter().filter(|line| line.is_whole());
        let each = jobs.flat_map(|line| {
            line.jobs.iter().map(|job| Line { jobs: std::slice::from_ref(job), job, ..*line })
        });
        let shown =
            each.map(|line| account_job::job(&line, found.steps_of(line.job), json::VERSION));
        return json::print(screen, "jobs", shown.collect());
    }
    for line in formatted_lines(args, &cells, &lines, screen) {
        screen.print_line(&line)?;
    }
    Ok(OK)
}

fn lines<'a>(args: &Args, found: &'a JobRecords, window: &Window, page: &'a Page) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for jobs in group_lines(&found.jobs, false) {
        let Some(job) = jobs.first() else { continue };
        let line = Line { jobs, job, part: LinePart::Whole, page };
        let states = &args.states;
        if !states.is_empty() && !window.was_in(states, job, line.is_in_state(states)) {
            continue;
        }
        lines.push(line);
        if !args.allocations && job.phase != Phase::Pending && job.started_at.is_some() {
            lines.push(Line { part: LinePart::Batch, ..line });
            let steps = found.steps_of(job).iter();
            lines.extend(steps.map(|step| Line { part: LinePart::Step(step), ..line }));
        }
    }
    lines
}

fn formatted_lines(
    args: &Args,
    cells: &[Cell<SacctField>],
    lines: &[Line<'_>],
    screen: &Screen,
) -> Vec<String> {
    let parsable = args.parsable || args.parsable2;
    let gap = if parsable { args.delimiter.as_deref().unwrap_or("|") } else { " " };
    let mut pieces: Vec<Piece<SacctField>> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let width = if parsable { None } else { cell.width };
        pieces.push(Piece::Cell(Cell { width, ..cell.clone() }));
        if !args.parsable2 || place + 1 < cells.len() {
            pieces.push(Piece::Text(gap.to_owned()));
        }
    }
    let title = |field: &SacctField| field.title().to_owned();
    let titled = (!args.no_header).then_some(&title as &dyn Fn(&SacctField) -> String);
    let value = |field: &SacctField, line: &Line<'_>| field.show(line, &screen.zone);
    let mut shown = format::format_lines(&pieces, titled, lines, value);
    if !args.no_header && !parsable {
        let dashes = cells.iter().map(|cell| "-".repeat(cell.width.unwrap_or(1)) + " ");
        shown.insert(1.min(shown.len()), dashes.collect());
    }
    shown
}
