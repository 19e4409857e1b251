//! Usage reports: use within a time range, by group, and the capacity there was. Finished runs come
//! from the file, others from the state. Only the part of a run within the range counts.

use super::group::Grouping;
use super::read::Condition;
use super::row::to_sqlite_integer;
use super::schema::HistoryError;
use common::id::NodeName;
use common::time::Time;
use common::unit::{Cpus, Gpus};
use common::wire::api::{
    HistoryRun, NodeStretch, NodeUse, ReportQuery, ReportRow, ReportView, RunGroup,
};
use query::viewer::Viewer;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Makes a report of the use that the viewer sees. `running` are the runs not finished at `as_of`,
/// with their use up to now.
///
/// # Errors
/// [`HistoryError`]; [`HistoryError::Question`] for an invalid query.
pub fn report(
    connection: &Connection,
    query: &ReportQuery,
    viewer: &Viewer,
    running: impl Iterator<Item = HistoryRun>,
    as_of: Time,
    now: Time,
) -> Result<ReportView, HistoryError> {
    let until = query.until.unwrap_or(now).min(now);
    let since = query.since.min(until);
    let by = Grouping::parse(&query.by)?;
    let failed =
        |source| HistoryError::from_sql(connection.path().unwrap_or_default().as_ref(), source);
    let mut rows: BTreeMap<RunGroup, Sum> = BTreeMap::new();
    add_ended(connection, (query, viewer), &by, since, until, as_of, &mut rows).map_err(failed)?;
    for run in running.filter(|run| is_included(query, viewer, run)) {
        let allocated = run.allocated_at.unwrap_or(now).max(since);
        let whole = now.since(run.allocated_at.unwrap_or(now)).0;
        let part = until.since(allocated).0;
        if allocated >= until || whole == 0 {
            continue;
        }
        let of = |all: u64| {
            let within = u128::from(all) * u128::from(part) / u128::from(whole);
            u64::try_from(within).unwrap_or(u64::MAX)
        };
        let sum = rows.entry(by.of_run(&run)).or_default();
        sum.add(1, of(run.gpu_milliseconds), of(run.cpu_milliseconds));
    }
    let mut rows: Vec<ReportRow> = rows.into_iter().map(|(group, sum)| sum.row(group)).collect();
    rows.sort_by_key(|row| (Reverse(row.gpu_milliseconds), Reverse(row.cpu_milliseconds)));
    let nodes = query_node_use(connection, since, until).map_err(failed)?;
    Ok(ReportView { since, until, rows, nodes })
}

#[derive(Default)]
struct Sum {
    runs: u64,
    gpu_milliseconds: u64,
    cpu_milliseconds: u64,
}

impl Sum {
    fn add(&mut self, runs: u64, gpu_milliseconds: u64, cpu_milliseconds: u64) {
        self.runs = self.runs.saturating_add(runs);
        self.gpu_milliseconds = self.gpu_milliseconds.saturating_add(gpu_milliseconds);
        self.cpu_milliseconds = self.cpu_milliseconds.saturating_add(cpu_milliseconds);
    }

    const fn row(self, group: RunGroup) -> ReportRow {
        let Self { runs, gpu_milliseconds, cpu_milliseconds } = self;
        ReportRow { group, runs, gpu_milliseconds, cpu_milliseconds }
    }
}

/// Adds the finished runs.
fn add_ended(
    connection: &Connection,
    (query, viewer): (&ReportQuery, &Viewer),
    by: &Grouping,
    since: Time,
    until: Time,
    as_of: Time,
    rows: &mut BTreeMap<RunGroup, Sum>,
) -> rusqlite::Result<()> {
    let (since, until) = (to_sqlite_integer(since.0), to_sqlite_integer(until.0));
    let mut wanted = Condition::default();
    wanted.add("r.ended_ms > ?", since);
    wanted.add("r.allocated_ms < ?", until);
    wanted.add("r.ended_ms <= ?", to_sqlite_integer(as_of.0));
    wanted.add_visibility(viewer.usage_limits());
    wanted.add_users(&query.users);
    wanted.add_one_of("r.account", &query.accounts);
    wanted.add_one_of("r.queue", &query.queues);
    // The fraction of a run within the range; its use is spread evenly over its time.
    let part = format!(
        "(min(r.ended_ms, {until}) - max(r.allocated_ms, {since})) * 1.0 \
         / max(1, r.ended_ms - r.allocated_ms)"
    );
    let group = by.columns();
    let sql = format!(
        "SELECT count(*), CAST(sum(r.gpu_milliseconds * {part}) AS INTEGER), \
         CAST(sum(r.cpu_milliseconds * {part}) AS INTEGER), {group} FROM runs r \
         WHERE {} GROUP BY {group}",
        wanted.text()
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(wanted.values()))?;
    while let Some(row) = found.next()? {
        let number = |column| row.get::<_, Option<i64>>(column).map(|n| n.unwrap_or(0).max(0));
        let (runs, gpu, cpu) = (number(0)?, number(1)?, number(2)?);
        if runs > 0 {
            let sum = rows.entry(by.read(row, 3)?).or_default();
            sum.add(runs.cast_unsigned(), gpu.cast_unsigned(), cpu.cast_unsigned());
        }
    }
    Ok(())
}

fn is_included(query: &ReportQuery, viewer: &Viewer, run: &HistoryRun) -> bool {
    let one_of = |words: &str, own: &[&str]| {
        let mut words = words.split(',').map(str::trim).filter(|w| !w.is_empty()).peekable();
        words.peek().is_none() || words.any(|word| own.contains(&word))
    };
    let (owner, ask) = (&run.job.owner, &run.job.ask);
    let uid = owner.uid.to_string();
    let seen = viewer
        .usage_limits()
        .is_none_or(|limits| limits.covers(owner.uid, ask.account.as_ref(), ask.queue.as_ref()));
    seen && one_of(&query.users, &[&owner.name, &uid])
        && one_of(&query.accounts, &[ask.account.as_ref().map_or("", |a| a.as_str())])
        && one_of(&query.queues, &[ask.queue.as_ref().map_or("", |q| q.as_str())])
}

/// How the nodes' time in the range was spent.
fn query_node_use(
    connection: &Connection,
    since: Time,
    until: Time,
) -> rusqlite::Result<Vec<NodeUse>> {
    let mut statement = connection.prepare(
        "SELECT node, at_ms, cpus, gpus, standing, \
         lead(at_ms) OVER (PARTITION BY node ORDER BY at_ms) FROM node_changes \
         WHERE at_ms < ?1 ORDER BY node, at_ms",
    )?;
    let mut rows = statement.query([Value::from(to_sqlite_integer(until.0))])?;
    let mut nodes: BTreeMap<String, NodeUse> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        let time = |at: i64| Time(at.max(0).cast_unsigned());
        let from = time(row.get(1)?).max(since);
        let to = row.get::<_, Option<i64>>(5)?.map_or(until, time).min(until);
        let (cpus, gpus): (u32, u32) = (row.get(2)?, row.get(3)?);
        let standing: String = row.get(4)?;
        let Ok(known) = NodeName::new(name.clone()) else { continue };
        let (up, drained, down) = Default::default();
        let node = nodes.entry(name).or_insert(NodeUse {
            name: known,
            gpus: Gpus(0),
            cpus: Cpus(0),
            up,
            drained,
            down,
        });
        (node.gpus, node.cpus) = (Gpus(gpus), Cpus(cpus));
        let stretch: &mut NodeStretch = match standing.as_str() {
            "up" => &mut node.up,
            "drained" => &mut node.drained,
            _ => &mut node.down,
        };
        let span = to.since(from).0;
        stretch.gpu_milliseconds += span.saturating_mul(gpus.into());
        stretch.cpu_milliseconds += span.saturating_mul(cpus.into());
    }
    Ok(nodes.into_values().collect())
}
