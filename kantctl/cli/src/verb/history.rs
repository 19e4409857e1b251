//! `kantctl history`: runs of finished jobs, as long as accounting keeps them.

use super::export::{read_since, read_until};
use super::filter::check_states;
use super::usage_filter::UsageFilter;
use super::usage_query::{self, Runs};
use crate::clock::now;
use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::columns::{self, Field, Line};
use crate::output::{Screen, screen, steps};
use crate::server::{Server, encoded};
use common::id::JobKey;
use common::time::{Span, Time};
use common::wire::api::HistoryRun;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  kantctl history
  kantctl history --me --state FAILED --since 30d
  kantctl history 42 --runs
  kantctl history 42 --steps
  kantctl history --account vision --since 2026-01-01 --until 2026-02-01 --csv > january.csv
  kantctl history --format id,user,gpus,gpu_hours,ended,note

Columns for --format and --sort (-gpu_hours sorts in descending order):
  id number run name user uid account queue qos reservation state submitted allocated started ended
  time limit waited nodes cpus memory gpus gpu_hours cpu_hours used_cpu used_memory used_gpu
  energy_joules exit requeued node_list command comment note where

In CSV, times are in UTC, durations in seconds, and sizes in bytes.";

const USUAL: &str = "id,name,user,queue,state,ended,time,gpus,gpu_hours,where";
const RUNS: &str = "id,run,name,user,queue,state,ended,time,gpus,gpu_hours,where";
/// Runs in a table, without `--limit`.
const LIMIT: usize = 10_000;
/// The default period.
const BACK: Span = Span::from_minutes(7 * 24 * 60);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only these jobs: 42, 42_7, 42_[0-3]
    #[arg(value_name = "JOB")]
    pub keys: Vec<Keys>,
    /// Only your own jobs
    #[arg(long, conflicts_with = "user")]
    pub me: bool,
    #[command(flatten)]
    pub filter: UsageFilter,
    /// Only jobs that ended in these states, as words (FAILED, TIMEOUT)
    #[arg(short = 't', long = "state", value_name = "STATE", value_delimiter = ',')]
    pub states: Vec<String>,
    /// Only jobs that ended since then: an age (7d, 12h) or a date [default: 7d; if jobs are named:
    /// all]
    #[arg(short = 'S', long, value_name = "TIME", value_parser = read_since)]
    pub since: Option<Time>,
    /// Only jobs that ended before then: a date or an age
    #[arg(short = 'E', long, value_name = "TIME", value_parser = read_until)]
    pub until: Option<Time>,
    /// Also show earlier runs of requeued jobs
    #[arg(long)]
    pub runs: bool,
    /// Show steps instead of jobs, one per line
    #[arg(long, conflicts_with_all = ["format", "sort", "csv"])]
    pub steps: bool,
    /// At most COUNT runs, the latest [default: 10000; with --csv: all]
    #[arg(long, value_name = "COUNT")]
    pub limit: Option<usize>,
    /// Columns to show
    #[arg(short = 'o', long, value_name = "COLUMNS")]
    pub format: Option<String>,
    /// Columns to sort by; a - before a column reverses it [default: the latest first]
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl Args {
    fn query(&self) -> String {
        let me = self.me.then(|| nix::unistd::getuid().to_string());
        let states: Vec<String> = self.states.iter().map(|s| s.to_ascii_uppercase()).collect();
        let back = || self.keys.is_empty().then(|| now() - BACK);
        let time = |name: &str, at: Option<Time>| at.map(|at| format!("{name}={}", at.0));
        let list = |name: &str, words: &[String]| {
            (!words.is_empty()).then(|| format!("{name}={}", encoded(&words.join(","))))
        };
        let parts = [
            list("users", &me.map_or_else(|| self.filter.user.clone(), |me| vec![me])),
            list("accounts", &self.filter.account),
            list("queues", &self.filter.queue),
            list("states", &states),
            time("since", self.since.or_else(back)),
            time("until", self.until),
            self.runs.then(|| "every_run=true".to_owned()),
            self.steps.then(|| "steps=true".to_owned()),
        ];
        parts.into_iter().flatten().map(|part| format!("&{part}")).collect()
    }
}

/// Lists runs.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a column or state is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let known: Vec<String> =
        args.states.iter().filter(|s| !s.eq_ignore_ascii_case("requeued")).cloned().collect();
    check_states(&known)?;
    let usual = if args.runs { RUNS } else { USUAL };
    let fields = columns::select(args.format.as_deref().unwrap_or(usual))?;
    let order = columns::sort_keys(args.sort.as_deref().unwrap_or_default())?;
    let keys = keys::flatten(&args.keys);
    if args.csv && args.sort.is_none() && print_rows(&fields, &keys, args, server, screen).await? {
        return Ok(OK);
    }
    let list =
        usage_query::fetch_all(server, &keys, &args.query(), args.limit.unwrap_or(LIMIT)).await?;
    if list.more && args.limit.is_none() {
        screen::note(&format!(
            "only the latest {LIMIT} are shown: use --limit to show more, --since and --until to \
             choose others, or --csv for all"
        ));
    }
    if screen.json {
        let shown = json!({ "runs": list.raw, "as_of": list.as_of, "more": list.more });
        screen.print_answer_json(&shown)?;
        return Ok(OK);
    }
    if args.steps {
        screen.print_table(&steps::table(&list.runs, list.as_of, &screen.zone))?;
        return Ok(OK);
    }
    show(&list, &fields, &order, args, screen)?;
    Ok(OK)
}

/// Prints rows as they arrive, because there may be millions. Returns false, and prints nothing, if
/// they would not arrive in order.
async fn print_rows(
    fields: &[&'static Field],
    keys: &[JobKey],
    args: &Args,
    server: &Server,
    screen: &Screen,
) -> Result<bool, Failure> {
    let mut is_first = true;
    let print = |runs: Vec<HistoryRun>, as_of| {
        let lines: Vec<Line<'_>> = runs.iter().map(|run| line(run, as_of)).collect();
        let text = columns::csv(fields, &lines);
        let rows = if is_first { &text[..] } else { text.split_once('\n').map_or("", |(_, r)| r) };
        is_first = false;
        screen.print(rows)
    };
    let limit = args.limit.unwrap_or(usize::MAX);
    usage_query::for_each_page(server, keys, &args.query(), limit, print).await
}

fn line(run: &HistoryRun, as_of: Time) -> Line<'_> {
    Line { job: &run.job, run: Some(run), expected: None, as_of }
}

fn show(
    list: &Runs,
    fields: &[&'static Field],
    order: &[(&'static Field, bool)],
    args: &Args,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut lines: Vec<Line<'_>> = list.runs.iter().map(|run| line(run, list.as_of)).collect();
    lines.sort_by(|one, other| columns::compare(order, one, other));
    if args.csv {
        return screen.print_csv(&columns::csv(fields, &lines));
    }
    if lines.is_empty() {
        screen::note("no finished job matches: use --since to look further back");
    }
    let draw = if args.format.is_some() { columns::table } else { columns::table_fitting };
    screen.print_table(&draw(fields, &lines, &screen.zone))
}
