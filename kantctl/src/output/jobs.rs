//! Jobs as a table and as a record. Never asks for them.

mod facts;

use super::table::{Cell, Column, Table, Tint};
use super::time::{elapsed, limit, localized};
use super::{people, sizes};
use common::gpu_parts::PartSize;
use common::hostlist::fold;
use common::id::ArrayIndex;
use common::job::{Outcome, Phase};
use common::resource::{GpuRequest, Share};
use common::time::Time;
use common::wire::api::JobView;
pub use facts::record;
use jiff::tz::TimeZone;

const COLUMNS: [Column; 10] = [
    Column::new("ID").least(12),
    Column::new("NAME").least(10),
    Column::new("USER").least(8).drops(4),
    Column::new("QUEUE").least(8).drops(1),
    Column::new("STATE").short("ST"),
    Column::new("TIME").right().drops(3),
    Column::new("LIMIT").right().drops(0),
    Column::new("NODES").right().drops(2),
    Column::new("GPUS").right(),
    Column::new("WHERE/WHY").least(20),
];

/// Jobs, one a row; waiting tasks of one array that wait for the same reason share one.
#[must_use]
pub fn table(jobs: &[JobView], as_of: Time, zone: &TimeZone) -> Table {
    let mut table = empty();
    gather(jobs).for_each(|alike| add_row(&mut table, alike, as_of, zone));
    table
}

/// The same of jobs that come one by one, in the order of lists: only those of one row are kept.
#[derive(Debug)]
pub struct Rows<'a> {
    table: Table,
    alike: Vec<JobView>,
    as_of: Time,
    zone: &'a TimeZone,
}

impl<'a> Rows<'a> {
    /// None yet; at this time.
    #[must_use]
    pub fn new(as_of: Time, zone: &'a TimeZone) -> Self {
        Self { table: empty(), alike: Vec::new(), as_of, zone }
    }

    pub fn add(&mut self, job: JobView) {
        if self.alike.last().is_some_and(|last| !wait_alike(last, &job)) {
            add_row(&mut self.table, &self.alike, self.as_of, self.zone);
            self.alike.clear();
        }
        self.alike.push(job);
    }

    #[must_use]
    pub fn table(mut self) -> Table {
        add_row(&mut self.table, &self.alike, self.as_of, self.zone);
        self.table
    }
}

fn empty() -> Table {
    Table::new(&COLUMNS, &["WHERE/WHY", "NAME", "USER", "QUEUE", "ID"])
}

fn add_row(table: &mut Table, alike: &[JobView], as_of: Time, zone: &TimeZone) {
    let Some(job) = alike.first() else { return };
    table.row(vec![
        Cell::from(keys(alike)),
        Cell::from(&job.ask.name),
        Cell::from(people::owner(&job.owner)),
        Cell::from(job.ask.queue.as_ref().map_or("-", |queue| queue.as_str())),
        Cell::from(&job.state).short(&job.state_code).tint(tint(job)),
        Cell::from(ran(job, as_of)),
        Cell::from(limit(job.ask.time_limit)),
        Cell::from(nodes(job)),
        Cell::from(gpus(job)),
        Cell::from(localized(&where_or_why(job), zone)),
    ]);
}

/// Jobs as rows: tasks of one array that wait for the same reason share one.
pub fn gather(jobs: &[JobView]) -> impl Iterator<Item = &[JobView]> {
    jobs.chunk_by(wait_alike)
}

/// Do these two belong in one row?
fn wait_alike(one: &JobView, other: &JobView) -> bool {
    let waits = |job: &JobView| job.phase == Phase::Pending && job.key.index.is_some();
    waits(one) && waits(other) && one.key.job == other.key.job && code(one) == code(other)
}

fn code(job: &JobView) -> Option<&str> {
    job.reason.as_ref().map(|reason| reason.code.as_str())
}

/// `42`, `42_7`, `42+1`, or for several tasks `42_[0-3,7]`.
fn keys(alike: &[JobView]) -> String {
    let indices: Vec<ArrayIndex> = alike.iter().filter_map(|job| job.key.index).collect();
    match alike {
        [] => String::new(),
        [job] => job.name().to_string(),
        [job, ..] => format!("{}_[{}]", job.key.job, ranges(&indices)),
    }
}

/// `0-3,7`.
#[must_use]
pub fn ranges(indices: &[ArrayIndex]) -> String {
    let follows = |a: &ArrayIndex, b: &ArrayIndex| a.0.checked_add(1) == Some(b.0);
    let show = |run: &[ArrayIndex]| match run {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
    };
    indices.chunk_by(follows).map(show).collect::<Vec<_>>().join(",")
}

fn nodes(job: &JobView) -> String {
    let request = &job.ask.request;
    match (&job.allocation, request.nodes) {
        (Some(allocation), _) => allocation.shares().len().to_string(),
        (None, Some(nodes)) => nodes.to_string(),
        (None, None) if request.tasks.0 > 1 => "1+".to_owned(),
        (None, None) => "1".to_owned(),
    }
}

/// GPUs; parts of them as what they come to, or as they were asked for.
fn gpus(job: &JobView) -> String {
    match (&job.allocation, job.ask.request.gpus) {
        (Some(given), _) => sizes::milli(given.shares().iter().map(Share::gpus_milli).sum()),
        (None, Some(GpuRequest::Parts(parts))) => match parts.each {
            PartSize::Milli(part) => sizes::milli(part.times(parts.devices.0)),
            PartSize::Memory(_) => parts.to_string(),
        },
        (None, _) => job.gpus.to_string(),
    }
}

/// How long it ran, without the time that it stood still.
fn ran(job: &JobView, as_of: Time) -> String {
    let until = job.ended_at.or(job.suspended_at);
    elapsed(job.started_at.map(|at| at + job.suspended), until, as_of)
}

/// How a job's state is coloured.
#[must_use]
pub fn tint(job: &JobView) -> Tint {
    match (job.phase, job.outcome) {
        (Phase::Pending | Phase::Suspended, _) => Tint::Waiting,
        (Phase::Done, Some(Outcome::Completed)) => Tint::Plain,
        (Phase::Done, _) => Tint::Bad,
        _ => Tint::Good,
    }
}

/// Where it runs; why it waits; how it ended.
#[must_use]
pub fn where_or_why(job: &JobView) -> String {
    match job.phase {
        Phase::Pending => why(job).unwrap_or_default(),
        Phase::Done => match (job.outcome, &job.message) {
            (Some(Outcome::Completed), _) | (Some(Outcome::Cancelled), None) => hosts(job),
            _ => ending(job),
        },
        _ => hosts(job),
    }
}

/// Why it waits, in a sentence.
#[must_use]
pub fn why(job: &JobView) -> Option<String> {
    job.reason.as_ref().map(|reason| reason.sentence.clone())
}

fn hosts(job: &JobView) -> String {
    job.allocation.as_ref().map(|a| fold(a.shares().iter().map(|s| &s.node))).unwrap_or_default()
}

/// How a job ended, in words; empty where its state is all there is to tell.
#[must_use]
pub fn ending(job: &JobView) -> String {
    let exit = match job.exit {
        Some(exit) => match exit.signal {
            Some(signal) => format!("signal {signal}"),
            None => format!("exit code {}", exit.code),
        },
        None => String::new(),
    };
    match (job.outcome, &job.message) {
        (Some(Outcome::Completed), _) | (Some(Outcome::Cancelled), None) => String::new(),
        (_, Some(message)) => message.clone(),
        (Some(Outcome::TimedOut), None) => "reached its time limit".to_owned(),
        (Some(Outcome::OutOfMemory), None) => "exceeded its memory".to_owned(),
        (Some(Outcome::NodeLost), None) => "a node was lost".to_owned(),
        _ => exit,
    }
}

#[cfg(test)]
mod tests;
