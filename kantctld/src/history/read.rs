//! Runs by user, account, queue, state and time, a page at a time. Never more than a page in
//! memory, and never text of a question inside a statement: values are bound.

use super::row::{READ, Reader, signed, task};
use super::schema::HistoryError;
use common::id::JobKey;
use common::wire::api::{HistoryList, HistoryQuery};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// Runs on a page where nobody says.
const PAGE: u32 = 1000;
/// Runs on a page at most.
const PAGE_MAX: u32 = 10_000;

/// A condition being put together: text with marks, and their values.
#[derive(Default)]
pub(super) struct Where {
    parts: Vec<String>,
    values: Vec<Value>,
}

impl Where {
    /// A condition with one value.
    pub(super) fn and(&mut self, part: &str, value: impl Into<Value>) {
        self.parts.push(part.to_owned());
        self.values.push(value.into());
    }

    /// One of the words, which commas part; no words are no condition.
    pub(super) fn one_of(&mut self, column: &str, words: &str) {
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
        if words.is_empty() {
            return;
        }
        self.parts.push(format!("{column} IN ({})", marks(words.len())));
        self.values.extend(words.iter().map(|word| Value::from((*word).to_owned())));
    }

    /// One of the users, by name or number.
    pub(super) fn users(&mut self, words: &str) {
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
        if words.is_empty() {
            return;
        }
        let uids: Vec<u32> = words.iter().filter_map(|word| word.parse().ok()).collect();
        let by_name = format!("r.user IN ({})", marks(words.len()));
        self.values.extend(words.iter().map(|word| Value::from((*word).to_owned())));
        if uids.is_empty() {
            self.parts.push(by_name);
        } else {
            self.parts.push(format!("({by_name} OR r.uid IN ({}))", marks(uids.len())));
            self.values.extend(uids.into_iter().map(Value::from));
        }
    }

    /// All of it, for a statement.
    pub(super) fn text(&self) -> String {
        if self.parts.is_empty() { "TRUE".to_owned() } else { self.parts.join(" AND ") }
    }

    /// The values of its marks, in order.
    pub(super) fn values(self) -> Vec<Value> {
        self.values
    }
}

fn marks(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// A page of runs, latest end first.
///
/// # Errors
/// [`HistoryError`]; [`HistoryError::Question`] for a question that makes no sense.
pub fn runs(connection: &Connection, query: &HistoryQuery) -> Result<HistoryList, HistoryError> {
    let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let mut wanted = conditions(query)?;
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
    let failed = |source| HistoryError::at(connection.path().unwrap_or_default().as_ref(), source);
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query(params_from_iter(wanted.values())).map_err(failed)?;
    let (mut list, mut reader) = (HistoryList::default(), Reader::default());
    while let Some(row) = rows.next().map_err(failed)? {
        if list.runs.len() == limit as usize {
            list.next = list.runs.last().map(cursor);
            break;
        }
        list.runs.push(reader.read(row)?);
    }
    Ok(list)
}

fn conditions(query: &HistoryQuery) -> Result<Where, HistoryError> {
    let mut wanted = Where::default();
    jobs(&mut wanted, &query.jobs)?;
    wanted.users(&query.users);
    wanted.one_of("r.account", &query.accounts);
    wanted.one_of("r.queue", &query.queues);
    wanted.one_of("r.state", &query.states);
    if let Some(since) = query.since {
        wanted.and("r.ended_ms >= ?", signed(since.0));
    }
    if let Some(until) = query.until {
        wanted.and("r.ended_ms < ?", signed(until.0));
    }
    if let Some(until) = query.submitted_until {
        wanted.and("r.submitted_ms <= ?", signed(until.0));
    }
    if !query.every_run {
        wanted.parts.push("r.requeued = 0".to_owned());
    }
    Ok(wanted)
}

/// Jobs, with all their tasks, and single tasks.
fn jobs(wanted: &mut Where, words: &str) -> Result<(), HistoryError> {
    let mut parts = Vec::new();
    for word in words.split(',').filter(|word| !word.is_empty()) {
        let key: JobKey =
            word.parse().map_err(|error| HistoryError::Question(format!("jobs: {error}")))?;
        wanted.values.push(Value::from(key.job.0));
        if key.index.is_some() {
            parts.push("(r.job = ? AND r.task = ?)");
            wanted.values.push(Value::from(task(key.index)));
        } else {
            // A task of an array has a number of its own, which is no other job's.
            parts.push("r.job = ? OR r.number = ?");
            wanted.values.push(Value::from(key.job.0));
        }
    }
    if !parts.is_empty() {
        wanted.parts.push(format!("({})", parts.join(" OR ")));
    }
    Ok(())
}

fn cursor(run: &common::wire::api::HistoryRun) -> String {
    let ended = run.job.ended_at.map_or(0, |at| signed(at.0));
    format!("{ended}.{}.{}.{}", run.job.key.job, task(run.job.key.index), run.run)
}

fn read_cursor(text: &str) -> Result<[i64; 4], HistoryError> {
    let parts: Option<Vec<i64>> = text.split('.').map(|part| part.parse().ok()).collect();
    let wrong = || HistoryError::Question(format!("`{text}` is no place to go on from"));
    parts.and_then(|parts| parts.try_into().ok()).ok_or_else(wrong)
}
