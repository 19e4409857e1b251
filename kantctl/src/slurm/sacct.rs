//! `sacct`: what became of jobs, as long as accounting keeps them. Never guesses what it does
//! not know: such fields are empty.
//! Source: man sacct.

use super::accounting::{self, Account};
use super::format::{self, Cell, Piece};
use super::job_field::{Line, Page, Part, Unit, gather};
use super::name::{self, Common};
use super::past::{Found, Window};
use super::{json, json_account, past};
use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::{Screen, screen};
use crate::server::Server;
use crate::submission::value::Hosts;
use crate::verb::filter::{Filter, check_states, end_word};
use common::id::{AccountName, QosName, QueueName};
use common::job::Phase;
use common::wire::api::JobView;

const USUAL: &str = "jobid,jobname,partition,account,alloccpus,state,exitcode";
/// States of Slurm's that no job has here.
const NEVER: [&str; 4] = ["RESIZING", "RS", "REVOKED", "RV"];
const BRIEF: &str = "jobid,state,exitcode";
const LONG: &str = "jobid,jobidraw,jobname,partition,maxvmsize,avevmsize,maxrss,averss,ntasks,\
                    alloccpus,elapsed,state,exitcode,reqmem,alloctres";

/// Show what became of jobs, as Slurm's sacct does
#[derive(clap::Parser, Debug)]
#[command(name = "sacct", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Only of these accounts
    #[arg(
        short = 'A',
        long = "accounts",
        visible_alias = "account",
        value_delimiter = ',',
        value_name = "ACCOUNT"
    )]
    pub accounts: Vec<AccountName>,
    /// Of all users
    #[arg(short = 'a', long = "allusers")]
    pub all_users: bool,
    /// Id, state and exit code
    #[arg(short = 'b', long)]
    pub brief: bool,
    /// Between fields, with -p and -P [default: |]
    #[arg(long, value_name = "TEXT")]
    pub delimiter: Option<String>,
    /// Earlier runs of requeued jobs too
    #[arg(short = 'D', long)]
    pub duplicates: bool,
    /// Until then [default: now; with states: the start]
    #[arg(short = 'E', long = "endtime", value_name = "TIME")]
    pub end: Option<String>,
    /// List the fields there are
    #[arg(short = 'e', long = "helpformat")]
    pub help_format: bool,
    /// What is shown: jobid,state%20
    #[arg(short = 'o', long, value_name = "NAMES")]
    pub format: Option<String>,
    /// Only of these groups, by number
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
    /// Of all clusters: there is one
    #[arg(short = 'L', long = "allclusters")]
    pub all_clusters: bool,
    /// More columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Only with these names
    #[arg(long = "name", value_delimiter = ',', value_name = "NAME")]
    pub names: Vec<String>,
    /// No titles
    #[arg(short = 'n', long = "noheader")]
    pub no_header: bool,
    /// Sizes as they are
    #[arg(long = "noconvert")]
    pub no_convert: bool,
    /// Only on these nodes
    #[arg(short = 'N', long = "nodelist", value_name = "NODES")]
    pub nodes: Option<Hosts>,
    /// Fields with | between them and at the end
    #[arg(short = 'p', long, overrides_with = "parsable2")]
    pub parsable: bool,
    /// Fields with | between them
    #[arg(short = 'P', long, overrides_with = "parsable")]
    pub parsable2: bool,
    /// Only of these qualities of service
    #[arg(short = 'q', long, value_delimiter = ',', value_name = "QOS")]
    pub qos: Vec<QosName>,
    /// Only of these partitions
    #[arg(short = 'r', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// From then on [default: midnight; with jobs: all; with states: now]
    #[arg(short = 'S', long = "starttime", value_name = "TIME")]
    pub start: Option<String>,
    /// Only in these states within that time
    #[arg(short = 's', long = "state", value_delimiter = ',', value_name = "STATE")]
    pub states: Vec<String>,
    /// Starts and ends as if within that time
    #[arg(short = 'T', long)]
    pub truncate: bool,
    /// Sizes in this unit: K, M, G, T
    #[arg(long, value_name = "UNIT", value_parser = ["K", "M", "G", "T"])]
    pub units: Option<String>,
    /// Only of these users
    #[arg(
        short = 'u',
        long = "user",
        visible_alias = "uid",
        value_delimiter = ',',
        value_name = "USER"
    )]
    pub users: Vec<String>,
    /// Jobs alone, without their steps
    #[arg(short = 'X', long)]
    pub allocations: bool,
    /// As JSON, in the shape of Slurm 22.05
    #[arg(long)]
    pub json: bool,
}

/// `42.batch` and `42.0` name a job too.
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
    /// The variables that set options of sacct.
    #[must_use]
    pub const fn variables() -> &'static [(&'static str, &'static str)] {
        &[("SACCT_FORMAT", "--format")]
    }

    fn cells(&self) -> Result<Vec<Cell<Account>>, Failure> {
        let usual = match (self.brief, self.long) {
            (true, _) => BRIEF,
            (_, true) => LONG,
            _ => USUAL,
        };
        let read = format::percents(self.format.as_deref().unwrap_or(usual), accounting::field);
        read.map_err(|error| Failure::usage(anyhow::anyhow!("{error}: `sacct -e` lists them")))
    }

    /// Everybody's jobs are root's to see; others see theirs, unless they say whose.
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

    /// Is this job asked for?
    #[must_use]
    pub fn takes(&self, job: &JobView, window: &Window) -> bool {
        let ask = &job.ask;
        window.holds(job)
            && (self.accounts.is_empty()
                || ask.account.as_ref().is_some_and(|one| self.accounts.contains(one)))
            && (self.qos.is_empty() || ask.qos.as_ref().is_some_and(|q| self.qos.contains(q)))
            && (self.groups.is_empty() || self.groups.contains(&job.owner.gid.0))
    }
}

/// Shows what became of jobs.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a field or time is not known.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if args.help_format {
        screen.print(&accounting::list())?;
        return Ok(OK);
    }
    // Of these two kant has none.
    let known = |state: &&String| end_word(state).is_none() && !NEVER.contains(&state.as_str());
    check_states(&args.states.iter().filter(known).cloned().collect::<Vec<_>>())?;
    let cells = args.cells()?;
    let (found, window) = past::found(args, server, screen).await?;
    let unit = match (&args.units, args.no_convert) {
        (Some(unit), _) => unit.chars().next().map_or(Unit::Fitting, Unit::In),
        (None, no_convert) => Unit::of(no_convert),
    };
    let page = Page {
        cluster: name::cluster(server).await?,
        as_of: found.as_of,
        account: true,
        unit,
        ..Page::default()
    };
    let lines = lines(args, (&found, &window), &page);
    let at_once = args.start.is_some() && args.end.is_none() && !args.states.is_empty();
    if at_once && lines.is_empty() {
        screen::note("with --state and without --endtime it is one moment that is looked at");
    }
    if args.json {
        let jobs = lines.iter().filter(|line| line.is_whole());
        let each = jobs.flat_map(|line| {
            line.alike.iter().map(|job| Line { alike: std::slice::from_ref(job), job, ..*line })
        });
        let shown = each.map(|line| json_account::job(&line, found.steps_of(line.job)));
        return json::print(screen, "jobs", shown.collect());
    }
    for line in laid_out(args, &cells, &lines, screen) {
        screen.line(&line)?;
    }
    Ok(OK)
}

fn lines<'a>(args: &Args, (found, window): (&'a Found, &Window), page: &'a Page) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for alike in gather(&found.jobs, false) {
        let Some(job) = alike.first() else { continue };
        let line = Line { alike, job, part: Part::Whole, page };
        let states = &args.states;
        if !states.is_empty() && !window.was_in(states, job, line.is_in(states)) {
            continue;
        }
        lines.push(line);
        if !args.allocations && job.phase != Phase::Pending && job.started_at.is_some() {
            lines.push(Line { part: Part::Batch, ..line });
            let steps = found.steps_of(job).iter();
            lines.extend(steps.map(|step| Line { part: Part::Step(step), ..line }));
        }
    }
    lines
}

fn laid_out(
    args: &Args,
    cells: &[Cell<Account>],
    lines: &[Line<'_>],
    screen: &Screen,
) -> Vec<String> {
    let parsable = args.parsable || args.parsable2;
    let gap = if parsable { args.delimiter.as_deref().unwrap_or("|") } else { " " };
    let mut pieces: Vec<Piece<Account>> = Vec::new();
    for (place, cell) in cells.iter().enumerate() {
        let letters = if parsable { None } else { cell.letters };
        pieces.push(Piece::Cell(Cell { letters, ..cell.clone() }));
        if !args.parsable2 || place + 1 < cells.len() {
            pieces.push(Piece::Text(gap.to_owned()));
        }
    }
    let title = |field: &Account| field.title().to_owned();
    let titled = (!args.no_header).then_some(&title as &dyn Fn(&Account) -> String);
    let value = |field: &Account, line: &Line<'_>| field.show(line, &screen.zone);
    let mut shown = format::lines(&pieces, titled, lines, value);
    if !args.no_header && !parsable {
        let dashes = cells.iter().map(|cell| "-".repeat(cell.letters.unwrap_or(1)) + " ");
        shown.insert(1.min(shown.len()), dashes.collect());
    }
    shown
}
