//! Jobs and their runs in columns that the user selects, as a table or as CSV. CSV has exact
//! values: times in UTC and spans in seconds.

mod render;

pub use render::{csv, quoted, table, table_fitting};

use super::jobs::where_or_why;
use super::user_names;
use crate::failure::Failure;
use common::hostlist::compress;
use common::job::attributes::{Attribute, ROWS, Row};
use common::resource::Share;
use common::time::{Span, Time};
use common::unit::{Bytes, GpuMilli};
use common::wire::api::{HistoryRun, JobView};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// A row: a job, or one of its runs.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub job: &'a JobView,
    /// The run, if the line is a run that has ended.
    pub run: Option<&'a HistoryRun>,
    /// The expected start, where requested.
    pub expected: Option<Time>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

/// The value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    None,
    Words(String),
    Number(u64),
    Milli(u64),
    Size(Bytes),
    At(Time),
    Long(Span),
}

/// A column that can be selected.
#[derive(Debug)]
pub struct Field {
    /// The name in --format, --sort and CSV.
    pub name: &'static str,
    title: Cow<'static, str>,
    is_number: bool,
    source: Source,
}

/// Where the value of a column comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Line(fn(&Line<'_>) -> Value),
    Attribute(Attribute),
}

impl Field {
    fn value(&self, line: &Line<'_>) -> Value {
        match self.source {
            Source::Line(value) => value(line),
            Source::Attribute(attribute) => text_or_none(line.job.ask.value(attribute)),
        }
    }
}

const fn text(name: &'static str, title: &'static str, value: fn(&Line<'_>) -> Value) -> Field {
    Field { name, title: Cow::Borrowed(title), is_number: false, source: Source::Line(value) }
}

const fn number(name: &'static str, title: &'static str, value: fn(&Line<'_>) -> Value) -> Field {
    Field { name, title: Cow::Borrowed(title), is_number: true, source: Source::Line(value) }
}

fn text_value(text: impl ToString) -> Value {
    Value::Words(text.to_string())
}

fn text_or_none(text: Option<impl ToString>) -> Value {
    text.map_or(Value::None, text_value)
}

static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let rows = ROWS.iter().filter(|row| row.is_column);
    let of_attribute = |row: &Row| Field {
        name: row.option,
        title: Cow::Owned(row.option.to_uppercase()),
        is_number: false,
        source: Source::Attribute(row.attribute),
    };
    line_fields().into_iter().chain(rows.map(of_attribute)).collect()
});

/// The columns that are not job attributes.
fn line_fields() -> Vec<Field> {
    vec![
        text("id", "ID", |l| text_value(l.job.name())),
        number("number", "NUMBER", |l| {
            Value::Number(l.job.number.unwrap_or(l.job.key.job).0.into())
        }),
        text("dependency", "DEPENDENCY", |l| text_or_none(l.job.dependency.as_ref())),
        number("run", "RUN", |l| Value::Number(l.run.map_or(l.job.attempt, |run| run.run).into())),
        text("name", "NAME", |l| text_value(&l.job.ask.name)),
        text("user", "USER", |l| text_value(user_names::owner(&l.job.owner))),
        text("uid", "UID", |l| text_value(l.job.owner.uid)),
        text("state", "STATE", |l| text_value(&l.job.state)),
        text("reason", "REASON", |l| {
            text_or_none(l.job.reason.as_ref().map(|reason| &reason.code))
        }),
        number("place", "PLACE", |l| {
            l.job.position.map_or(Value::None, |p| Value::Number(p.into()))
        }),
        text("submitted", "SUBMITTED", |l| Value::At(l.job.submitted_at)),
        text("allocated", "ALLOCATED", |l| time_or_none(l.run.and_then(|run| run.allocated_at))),
        text("started", "STARTED", |l| time_or_none(l.job.started_at)),
        text("expected", "EXPECTED", |l| time_or_none(l.expected)),
        text("ended", "ENDED", |l| time_or_none(l.job.ended_at)),
        number("time", "TIME", |l| ran(l).map_or(Value::None, Value::Long)),
        number("limit", "LIMIT", |l| l.job.ask.time_limit.map_or(Value::None, Value::Long)),
        number("waited", "WAITED", |l| {
            let until = l.job.started_at.or(l.job.ended_at).unwrap_or(l.as_of);
            Value::Long(until.since(l.job.submitted_at))
        }),
        number("nodes", "NODES", |l| Value::Number(node_count(l.job))),
        number("cpus", "CPUS", |l| Value::Number(l.job.cpus.0.into())),
        number("memory", "MEMORY", |l| Value::Size(l.job.memory)),
        number("gpus", "GPUS", |l| match &l.job.allocation {
            Some(given) => {
                let milli: GpuMilli = given.shares().iter().map(Share::gpus_milli).sum();
                Value::Milli(milli.0.into())
            }
            None => Value::Number(l.job.gpus.0.into()),
        }),
        number("gpu_hours", "GPU-HOURS", |l| {
            l.run.map_or(Value::None, |run| hours(run.gpu_milliseconds))
        }),
        number("cpu_hours", "CPU-HOURS", |l| {
            l.run.map_or(Value::None, |run| hours(run.cpu_milliseconds))
        }),
        number("used_cpu", "USED-CPU", |l| used(l, |usage| Value::Long(usage.cpu))),
        number("used_memory", "USED-MEM", |l| used(l, |usage| Value::Size(usage.memory_peak))),
        number("used_gpu", "USED-GPU%", |l| {
            used(l, |usage| {
                usage.gpu.and_then(|gpu| gpu.busy_percent()).map_or(Value::None, Value::Number)
            })
        }),
        number("energy_joules", "JOULES", |l| {
            used(l, |usage| usage.gpu.map_or(Value::None, |gpu| Value::Number(gpu.energy_joules)))
        }),
        text("exit", "EXIT", |l| text_or_none(l.job.exit)),
        text("requeued", "REQUEUED", |l| {
            l.run.map_or(Value::None, |run| text_value(if run.requeued { "yes" } else { "no" }))
        }),
        text("node_list", "NODELIST", |l| {
            let shares = l.job.allocation.iter().flat_map(|given| given.shares());
            text_value(compress(shares.map(|share| &share.node)))
        }),
        text("command", "COMMAND", |l| text_or_none(l.job.ask.command.as_ref())),
        text("note", "NOTE", |l| text_or_none(l.job.message.as_ref())),
        text("where", "WHERE/WHY", |l| text_value(where_or_why(l.job))),
    ]
}

/// Columns that may be cut on a narrow terminal, least important first, with their minimum widths.
const SHRINKABLE: &[(&str, usize)] = &[
    ("NOTE", 10),
    ("COMMENT", 10),
    ("COMMAND", 10),
    ("WHERE/WHY", 20),
    ("NODELIST", 10),
    ("NAME", 10),
    ("USER", 8),
    ("ACCOUNT", 8),
    ("QUEUE", 8),
];

/// The order in which columns are omitted from the default table if it does not fit.
const DROP_ORDER: &[&str] =
    &["limit", "nodes", "queue", "time", "user", "ended", "where", "gpu_hours", "gpus", "name"];

fn time_or_none(time: Option<Time>) -> Value {
    time.map_or(Value::None, Value::At)
}

/// Hours with three decimals.
fn hours(milliseconds: u64) -> Value {
    Value::Milli(milliseconds / 3600)
}

fn used(line: &Line<'_>, show: impl Fn(common::job::Usage) -> Value) -> Value {
    line.job.usage.map_or(Value::None, show)
}

fn ran(line: &Line<'_>) -> Option<Span> {
    let job = line.job;
    let until = job.ended_at.or(job.suspended_at).unwrap_or(line.as_of);
    job.started_at.map(|start| until.since(start + job.suspended))
}

fn node_count(job: &JobView) -> u64 {
    let asked = job.ask.request.nodes.map_or(1, |nodes| u64::from(nodes.0));
    job.allocation.as_ref().map_or(asked, |given| given.shares().len() as u64)
}

/// The columns of a comma-separated list of names.
///
/// # Errors
/// [`Failure`] naming the unknown column, and all columns.
pub fn select(names: &str) -> Result<Vec<&'static Field>, Failure> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let fields: Result<Vec<_>, Failure> = names.map(field_named).collect();
    match fields?.as_slice() {
        [] => {
            Err(Failure::usage(anyhow::anyhow!("--format is empty")).with_hint(column_names_hint()))
        }
        fields => Ok(fields.to_vec()),
    }
}

fn field_named(name: &str) -> Result<&'static Field, Failure> {
    let found = FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        Failure::usage(anyhow::anyhow!("unknown column `{name}`")).with_hint(column_names_hint())
    })
}

fn column_names_hint() -> String {
    let names: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
    format!("columns are {}", names.join(", "))
}

/// Parses `gpus,-submitted` into columns; true: reversed.
///
/// # Errors
/// [`Failure`] naming the unknown column.
pub fn sort_keys(names: &str) -> Result<Vec<(&'static Field, bool)>, Failure> {
    let one = |word: &str| match word.strip_prefix('-') {
        Some(name) => Ok((field_named(name)?, true)),
        None => Ok((field_named(word)?, false)),
    };
    names.split(',').map(str::trim).filter(|word| !word.is_empty()).map(one).collect()
}

/// Compares by the first column in which the lines differ. Lines without a value come last in
/// either direction.
#[must_use]
pub fn compare(keys: &[(&Field, bool)], one: &Line<'_>, other: &Line<'_>) -> Ordering {
    let by = |(field, reversed): &(&Field, bool)| {
        let ordering = match (field.name, field.value(one), field.value(other)) {
            ("id", ..) => one.job.key.cmp(&other.job.key),
            (_, Value::None, Value::None) => Ordering::Equal,
            (_, Value::None, _) => return Ordering::Greater,
            (_, _, Value::None) => return Ordering::Less,
            (_, one, other) => value_sort_key(&one).cmp(&value_sort_key(&other)),
        };
        if *reversed { ordering.reverse() } else { ordering }
    };
    keys.iter().map(by).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

fn value_sort_key(value: &Value) -> (u64, &str) {
    match value {
        Value::None => (0, ""),
        Value::Words(words) => (u64::MAX, words),
        Value::Number(number) => (number.saturating_mul(1000), ""),
        Value::Milli(number) => (*number, ""),
        Value::Size(Bytes(number)) | Value::At(Time(number)) | Value::Long(Span(number)) => {
            (*number, "")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_are_unique_and_an_unknown_one_is_reported() {
        let names: std::collections::BTreeSet<&str> = FIELDS.iter().map(|f| f.name).collect();
        assert_eq!(names.len(), FIELDS.len());
        let refused = select("id,colour").unwrap_err().to_string();
        assert!(refused.contains("`colour`") && refused.contains("gpu_hours"), "{refused}");
        assert_eq!(select(" ID, gpus").unwrap().len(), 2);
        assert!(select(",").is_err());
    }
}
