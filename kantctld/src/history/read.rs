//! Queries for runs by user, account, queue, state and time, one page at a time. Values of a query
//! are bound to the statement, not part of its text.

use super::row::{self, READ, Reader, task_column, to_sqlite_integer};
use super::schema::HistoryError;
use super::steps;
use common::id::JobKey;
use common::time::Time;
use common::wire::api::{HistoryList, HistoryQuery};
use query::history::NodeChange;
use query::viewer::{Limits, Viewer};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

/// The default number of runs on a page.
const PAGE: u32 = 1000;
/// The most runs on a page.
const PAGE_MAX: u32 = 10_000;
/// The size of a page in bytes above which no further run is added.
const PAGE_BYTES: usize = 8 << 20;
/// The most jobs and tasks in one query: two values each, of 32,766 that SQLite allows.
const JOBS_MAX: usize = 10_000;

/// A condition with placeholders, and their values.
#[derive(Default)]
pub(super) struct Condition {
    parts: Vec<String>,
    values: Vec<Value>,
}

impl Condition {
    /// Adds a condition with one value.
    pub(super) fn add(&mut self, part: &str, value: impl Into<Value>) {
        self.parts.push(part.to_owned());
        self.values.push(value.into());
    }

    /// Adds: the column is one of these comma-separated words; no words add nothing.
    pub(super) fn add_one_of(&mut self, column: &str, words: &str) {
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
        if words.is_empty() {
            return;
        }
        self.parts.push(format!("{column} IN ({})", sql_placeholders(words.len())));
        self.values.extend(words.iter().map(|word| Value::from((*word).to_owned())));
    }

    /// Adds: not hidden by these limits.
    pub(super) fn add_visibility(&mut self, limits: Option<&Limits>) {
        let Some(Limits { uid, queues, accounts, .. }) = limits else { return };
        let mut parts = vec!["r.uid = ?".to_owned()];
        self.values.push(Value::from(uid.0));
        let queues = ("r.queue", queues.iter().map(|name| name.as_str()).collect::<Vec<_>>());
        let accounts = ("r.account", accounts.iter().map(|name| name.as_str()).collect());
        for (column, names) in [queues, accounts] {
            if !names.is_empty() {
                parts.push(format!("{column} IN ({})", sql_placeholders(names.len())));
                self.values.extend(names.iter().map(|name| Value::from((*name).to_owned())));
            }
        }
        self.parts.push(format!("({})", parts.join(" OR ")));
    }

    /// Adds: one of these users, by name or uid. A single user becomes one condition, for which an
    /// index gives the runs in order of time.
    pub(super) fn add_users(&mut self, words: &str) {
        let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
        let (uids, names): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.parse::<u32>().is_ok());
        let mut parts = Vec::new();
        for (column, words) in [("r.user", &names), ("r.uid", &uids)] {
            match words.len() {
                0 => {}
                1 => parts.push(format!("{column} = ?")),
                count => parts.push(format!("{column} IN ({})", sql_placeholders(count))),
            }
        }
        let uids = uids.iter().filter_map(|word| word.parse::<u32>().ok()).map(Value::from);
        let values = names.iter().map(|name| Value::from((*name).to_owned())).chain(uids);
        self.values.extend(values);
        match parts.len() {
            0 => {}
            1 => self.parts.append(&mut parts),
            _ => self.parts.push(format!("({})", parts.join(" OR "))),
        }
    }

    /// The text for a statement.
    pub(super) fn text(&self) -> String {
        if self.parts.is_empty() { "TRUE".to_owned() } else { self.parts.join(" AND ") }
    }

    /// The values of the placeholders, in order.
    pub(super) fn values(self) -> Vec<Value> {
        self.values
    }
}

fn sql_placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// The statement for a page, and the most runs on it.
fn page_statement(
    query: &HistoryQuery,
    viewer: &Viewer,
) -> Result<(String, Vec<Value>, u32), HistoryError> {
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let mut wanted = conditions(query)?;
    wanted.add_visibility(viewer.jobs_limits());
    if let Some(cursor) = &query.after {
        let [ended, job, task, run] = read_cursor(cursor)?;
        wanted.parts.push("(r.ended_ms, r.job, r.task, r.run) < (?, ?, ?, ?)".to_owned());
        wanted.values.extend([ended, job, task, run].map(Value::from));
    }
    let sql = format!(
        "SELECT {READ} FROM runs r JOIN asks a ON a.job = r.job WHERE {} \
         ORDER BY r.ended_ms DESC, r.job DESC, r.task DESC, r.run DESC LIMIT {}",
        wanted.text(),
        u64::from(limit) + 1
    );
    Ok((sql, wanted.values(), limit))
}

/// A page of the runs that the viewer sees, latest end first. Has fewer runs than asked for if they
/// are large.
///
/// # Errors
/// [`HistoryError`]; [`HistoryError::Question`] for an invalid query.
pub fn query_runs(
    connection: &Connection,
    query: &HistoryQuery,
    viewer: &Viewer,
) -> Result<HistoryList, HistoryError> {
    let (sql, values, limit) = page_statement(query, viewer)?;
    let failed =
        |source| HistoryError::from_sql(connection.path().unwrap_or_default().as_ref(), source);
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
    let (mut list, mut reader) = (HistoryList::default(), Reader::default());
    let (mut seen, mut bytes, mut last) = (0, 0, None);
    while let Some(row) = rows.next().map_err(failed)? {
        if seen == limit || bytes >= PAGE_BYTES {
            list.next = last;
            break;
        }
        (seen, last) = (seen + 1, Some(cursor(row).map_err(failed)?));
        bytes += row::row_bytes(row).map_err(failed)?;
        match reader.read(row) {
            Ok(run) => list.runs.push(run),
            // For example written by a later release. The other runs are still shown.
            Err(error) => tracing::warn!("{error}; it is left out"),
        }
    }
    if query.steps {
        steps::add_to_runs(connection, &mut list.runs)?;
    }
    Ok(list)
}

/// The standing of each node at this time, and every later change, in order.
///
/// # Errors
/// [`HistoryError`].
pub fn node_changes(connection: &Connection, since: Time) -> Result<Vec<NodeChange>, HistoryError> {
    let sql = "SELECT node, at_ms, cpus, gpus, standing FROM node_changes AS own \
               WHERE at_ms >= ?1 OR at_ms = (SELECT max(at_ms) FROM node_changes AS old \
               WHERE old.node = own.node AND old.at_ms < ?1) ORDER BY at_ms, node";
    let read = || -> rusqlite::Result<Vec<NodeChange>> {
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([to_sqlite_integer(since.0)], row::node_change)?;
        let changes: rusqlite::Result<Vec<Option<NodeChange>>> = rows.collect();
        Ok(changes?.into_iter().flatten().collect())
    };
    read().map_err(|source| {
        HistoryError::from_sql(connection.path().unwrap_or_default().as_ref(), source)
    })
}

fn conditions(query: &HistoryQuery) -> Result<Condition, HistoryError> {
    let mut wanted = Condition::default();
    add_jobs(&mut wanted, &query.jobs)?;
    wanted.add_users(&query.users);
    wanted.add_one_of("r.account", &query.accounts);
    wanted.add_one_of("r.queue", &query.queues);
    wanted.add_one_of("r.state", &query.states);
    if let Some(since) = query.since {
        wanted.add("r.ended_ms >= ?", to_sqlite_integer(since.0));
    }
    if let Some(until) = query.until {
        wanted.add("r.ended_ms < ?", to_sqlite_integer(until.0));
    }
    if let Some(until) = query.submitted_until {
        wanted.add("r.submitted_ms <= ?", to_sqlite_integer(until.0));
    }
    if !query.every_run {
        wanted.parts.push("r.requeued = 0".to_owned());
    }
    Ok(wanted)
}

/// Adds: one of these jobs, with all their tasks, or one of these single tasks.
fn add_jobs(wanted: &mut Condition, words: &str) -> Result<(), HistoryError> {
    let keys = words.split(',').filter(|word| !word.is_empty()).map(str::parse::<JobKey>);
    let keys: Vec<JobKey> = keys
        .collect::<Result<_, _>>()
        .map_err(|error| HistoryError::Question(format!("jobs: {error}")))?;
    if keys.len() > JOBS_MAX {
        let count = keys.len();
        let message = format!("the query names {count} jobs: ask for at most {JOBS_MAX} at once");
        return Err(HistoryError::Question(message));
    }
    // Two lists, not one condition per job, of which SQLite limits the number.
    let (tasks, whole): (Vec<JobKey>, Vec<JobKey>) =
        keys.iter().partition(|key| key.index.is_some());
    let mut parts = Vec::new();
    if !whole.is_empty() {
        let placeholders = sql_placeholders(whole.len());
        // An array task also has a number of its own, which no other job has.
        parts.push(format!("r.job IN ({placeholders}) OR r.number IN ({placeholders})"));
        let numbers = whole.iter().chain(&whole).map(|key| Value::from(key.job.0));
        wanted.values.extend(numbers);
    }
    if !tasks.is_empty() {
        let pairs = vec!["(?, ?)"; tasks.len()].join(", ");
        parts.push(format!("(r.job, r.task) IN (VALUES {pairs})"));
        let pairs = tasks.iter().flat_map(|key| [i64::from(key.job.0), task_column(key.index)]);
        wanted.values.extend(pairs.map(Value::from));
    }
    if !parts.is_empty() {
        wanted.parts.push(format!("({})", parts.join(" OR ")));
    }
    Ok(())
}

/// The position after a row of [`READ`].
fn cursor(row: &Row<'_>) -> rusqlite::Result<String> {
    let number = |column| row.get::<_, i64>(column);
    Ok(format!("{}.{}.{}.{}", number(8)?, number(0)?, number(1)?, number(2)?))
}

fn read_cursor(text: &str) -> Result<[i64; 4], HistoryError> {
    let parts: Option<Vec<i64>> = text.split('.').map(|part| part.parse().ok()).collect();
    let wrong = || HistoryError::Question(format!("`{text}` is not a valid page cursor"));
    parts.and_then(|parts| parts.try_into().ok()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
