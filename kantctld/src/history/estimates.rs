//! Time limits compared with run times, by group: which users ask for how much too much. Only runs
//! that ended by themselves or by their time limit count, as for expected run times.

use super::group::Grouping;
use super::read::Condition;
use super::row::to_sqlite_integer;
use super::schema::HistoryError;
use common::time::Time;
use common::wire::api::{EstimatesRow, EstimatesView, ReportQuery, RunGroup};
use query::viewer::Viewer;
use rusqlite::{Connection, params_from_iter};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The states of the runs that count.
const STATES: &str = "COMPLETED,FAILED,OUT_OF_MEMORY,TIMEOUT";

/// Longer time limits count as 100 years.
const LIMIT_MILLISECONDS_MAX: u64 = 100 * 365 * 24 * 3_600_000;

/// Compares the time limits of the runs that the viewer sees with their run times.
///
/// # Errors
/// [`HistoryError`]; [`HistoryError::Question`] for an invalid query.
pub fn estimates(
    connection: &Connection,
    query: &ReportQuery,
    viewer: &Viewer,
    now: Time,
) -> Result<EstimatesView, HistoryError> {
    let until = query.until.unwrap_or(now).min(now);
    let since = query.since.min(until);
    let by = Grouping::parse(&query.by)?;
    let mut wanted = Condition::default();
    wanted.add("r.ended_ms > ?", to_sqlite_integer(since.0));
    wanted.add("r.ended_ms <= ?", to_sqlite_integer(until.0));
    wanted.add_one_of("r.state", STATES);
    wanted.add_visibility(viewer.usage_limits());
    wanted.add_users(&query.users);
    wanted.add_one_of("r.account", &query.accounts);
    wanted.add_one_of("r.queue", &query.queues);
    let groups = read_groups(connection, &by, wanted).map_err(|source| {
        HistoryError::from_sql(connection.path().unwrap_or_default().as_ref(), source)
    })?;
    let mut rows: Vec<EstimatesRow> =
        groups.into_iter().map(|(group, tally)| tally.row(group)).collect();
    let unused = |row: &EstimatesRow| (row.gpu_milliseconds_unused, row.cpu_milliseconds_unused);
    rows.sort_by_key(|row| Reverse(unused(row)));
    Ok(EstimatesView { since, until, rows })
}

/// The file sums the runs of a group that used the same part of their time limits, in percent.
fn read_groups(
    connection: &Connection,
    by: &Grouping,
    wanted: Condition,
) -> rusqlite::Result<BTreeMap<RunGroup, Tally>> {
    // Rounded up, so that a run never used more than it is counted with. A run ends somewhat after
    // its time limit.
    let limit = format!("min(r.time_limit_ms, {LIMIT_MILLISECONDS_MAX})");
    let run = format!("max(0, min({limit}, r.ended_ms - r.started_ms - r.suspended_ms))");
    let percent = format!("({run} * 100 + {limit} - 1) / {limit}");
    // What it held, with fractions of GPUs, and the mean of an elastic job.
    let unused = |used: &str| {
        let held = format!("r.{used} * 1.0 / max(1, r.ended_ms - r.allocated_ms)");
        format!("CAST(total({held} * ({limit} - {run})) AS INTEGER)")
    };
    let (gpus, cpus) = (unused("gpu_milliseconds"), unused("cpu_milliseconds"));
    let sql = format!(
        "SELECT {percent} AS percent, count(*), sum(r.state = 'TIMEOUT'), \
         CAST(total({limit}) AS INTEGER), CAST(total({run}) AS INTEGER), {gpus}, {cpus}, {group} \
         FROM runs r WHERE r.time_limit_ms > 0 AND r.started_ms IS NOT NULL AND r.requeued = 0 AND {} \
         GROUP BY percent, {group} ORDER BY percent",
        wanted.text(),
        group = by.columns(),
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(wanted.values()))?;
    let mut groups: BTreeMap<RunGroup, Tally> = BTreeMap::new();
    while let Some(row) = found.next()? {
        let number = |column| row.get::<_, i64>(column).map(|n| n.max(0).cast_unsigned());
        let tally = groups.entry(by.read(row, 7)?).or_default();
        tally.percents.push((row.get(0)?, number(1)?));
        let sums = &mut tally.sums;
        for (sum, column) in [
            (&mut sums.runs, 1),
            (&mut sums.timeouts, 2),
            (&mut sums.limit_milliseconds, 3),
            (&mut sums.run_milliseconds, 4),
            (&mut sums.gpu_milliseconds_unused, 5),
            (&mut sums.cpu_milliseconds_unused, 6),
        ] {
            *sum = sum.saturating_add(number(column)?);
        }
    }
    Ok(groups)
}

/// The runs of a group.
#[derive(Default)]
struct Tally {
    sums: EstimatesRow,
    /// Parts of the time limit, ascending, each with the number of runs that used it.
    percents: Vec<(u32, u64)>,
}

impl Tally {
    fn row(self, group: RunGroup) -> EstimatesRow {
        let (used_percent_p50, used_percent_p95) = (self.quantile(50), self.quantile(95));
        EstimatesRow { group, used_percent_p50, used_percent_p95, ..self.sums }
    }

    /// The least part of the time limit that at least `percent` of the runs did not exceed.
    fn quantile(&self, percent: u64) -> u32 {
        let wanted = (self.sums.runs * percent).div_ceil(100);
        let mut before = 0;
        let found = self.percents.iter().find(|(_, runs)| {
            before += runs;
            before >= wanted
        });
        found.map_or(0, |(part, _)| *part)
    }
}
