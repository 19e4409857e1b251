//! `kantctl queue`: lists jobs.

mod idle;

use super::filter::Filter;
use super::starts::fetch_expected_starts;
use crate::failure::{Failure, OK};
use crate::output::columns::{self, Line};
use crate::output::{Screen, jobs};
use crate::server::Server;
use common::time::Span;
use common::wire::api::{JobList, Looked};
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  kantctl queue
  kantctl queue --me --all
  kantctl queue -t PENDING -p gpu --start
  kantctl queue --idle
  kantctl queue --idle=1h --json
  kantctl queue --format id,user,gpus,waited,reason --sort -gpus
  kantctl queue --csv > jobs.csv
  kantctl queue --json

Columns for --format and --sort (-gpus sorts in descending order):
  id number name user uid account queue qos reservation state reason place submitted started expected
  ended time limit waited nodes cpus memory gpus used_cpu used_memory used_gpu exit node_list
  command comment dependency note where

In CSV, times are in UTC, durations in seconds, and sizes in bytes.";

const CSV: &str = "id,name,user,account,queue,qos,state,reason,submitted,started,expected,ended,\
                   time,limit,nodes,cpus,memory,gpus,node_list";
const STARTS: &str = "id,name,user,queue,state,expected,nodes,gpus,where";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Also show finished jobs, as long as the controller keeps them
    #[arg(short, long)]
    pub all: bool,
    /// Show when waiting jobs are expected to start
    #[arg(long)]
    pub start: bool,
    /// Only running jobs with GPUs that have been idle for this long [default: 10m]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "10m",
          conflicts_with_all = ["all", "start", "format", "sort", "csv", "states"])]
    pub idle: Option<Span>,
    /// Columns to show
    #[arg(short = 'o', long, value_name = "COLUMNS")]
    pub format: Option<String>,
    /// Columns to sort by; a - before a column reverses it [default: running, then waiting in
    /// order, then finished]
    #[arg(long, value_name = "COLUMNS", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    #[command(flatten)]
    pub filter: Filter,
}

/// Lists jobs.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a column is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    if let Some(idle) = args.idle {
        return idle::run(idle, &args.filter, server, screen).await;
    }
    let usual = match (args.csv, args.start) {
        (true, _) => Some(CSV),
        (false, true) => Some(STARTS),
        (false, false) => None,
    };
    let named = args.format.as_deref().or(usual);
    let fields = named.map(columns::select).transpose()?;
    let order = columns::sort_keys(args.sort.as_deref().unwrap_or_default())?;
    let all = args.all || !args.filter.states.is_empty();
    if screen.json {
        screen.print_answer_json(&args.filter.fetch_raw(server, all).await?)?;
        return Ok(OK);
    }
    if fields.is_none() && order.is_empty() {
        let start = |Looked { as_of }| jobs::Rows::new(as_of, &screen.zone);
        let rows = args.filter.fetch_each(server, all, start, jobs::Rows::add).await?;
        screen.print_table(&rows.table())?;
        return Ok(OK);
    }
    let list: JobList = args.filter.fetch_typed(server, all).await?;
    let Some(fields) = fields else { return print_sorted(list, &order, screen) };
    let wants_starts = args.start || fields.iter().any(|field| field.name == "expected");
    let wants_starts = wants_starts || order.iter().any(|(field, _)| field.name == "expected");
    let expected = match wants_starts && !(args.csv && !args.start && args.format.is_none()) {
        true => fetch_expected_starts(&list.jobs, server).await?,
        false => BTreeMap::new(),
    };
    let line = |job| Line { job, run: None, expected: None, as_of: list.as_of };
    let mut lines: Vec<Line<'_>> = list.jobs.iter().map(line).collect();
    for line in &mut lines {
        line.expected = expected.get(&line.job.key).copied();
    }
    lines.sort_by(|one, other| columns::compare(&order, one, other));
    if args.csv {
        screen.print_csv(&columns::csv(&fields, &lines))?;
    } else {
        screen.print_table(&columns::table(&fields, &lines, &screen.zone))?;
    }
    Ok(OK)
}

/// The default table in another order.
fn print_sorted(
    mut list: JobList,
    order: &[(&'static columns::Field, bool)],
    screen: &Screen,
) -> Result<u8, Failure> {
    let as_of = list.as_of;
    list.jobs.sort_by(|one, other| {
        let line = |job| Line { job, run: None, expected: None, as_of };
        columns::compare(order, &line(one), &line(other))
    });
    screen.print_table(&jobs::table(&list.jobs, as_of, &screen.zone))?;
    Ok(OK)
}
