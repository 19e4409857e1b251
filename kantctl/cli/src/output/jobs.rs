//! Jobs as a table and as a record.

mod job_record;

use super::table::{Cell, Column, Table, Tint};
use super::time::{elapsed, limit, localized};
use super::{sizes, user_names};
use common::gpu_parts::PartSize;
use common::hostlist::compress;
use common::id::ArrayIndex;
use common::job::array::index_ranges;
use common::job::{Outcome, Phase};
use common::resource::{GpuRequest, Share};
use common::time::Time;
use common::wire::api::JobView;
use jiff::tz::TimeZone;
pub use job_record::record;

const COLUMNS: [Column; 10] = [
    Column::new("ID").with_min_width(12),
    Column::new("NAME").with_min_width(10),
    Column::new("USER").with_min_width(8).with_drop_order(4),
    Column::new("QUEUE").with_min_width(8).with_drop_order(1),
    Column::new("STATE").with_short_title("ST"),
    Column::new("TIME").right_aligned().with_drop_order(3),
    Column::new("LIMIT").right_aligned().with_drop_order(0),
    Column::new("NODES").right_aligned().with_drop_order(2),
    Column::new("GPUS").right_aligned(),
    Column::new("WHERE/WHY").with_min_width(20),
];

/// Jobs, one per row; tasks of one array that wait for the same reason share a row.
#[must_use]
pub fn table(jobs: &[JobView], as_of: Time, zone: &TimeZone) -> Table {
    let mut table = empty();
    group_rows(jobs).for_each(|group| add_row(&mut table, group, as_of, zone));
    table
}

/// A table built from jobs one by one, in list order. Only the jobs of the current row are kept.
#[derive(Debug)]
pub struct Rows<'a> {
    table: Table,
    group: Vec<JobView>,
    as_of: Time,
    zone: &'a TimeZone,
}

impl<'a> Rows<'a> {
    #[must_use]
    pub fn new(as_of: Time, zone: &'a TimeZone) -> Self {
        Self { table: empty(), group: Vec::new(), as_of, zone }
    }

    pub fn add(&mut self, job: JobView) {
        if self.group.last().is_some_and(|last| !can_share_row(last, &job)) {
            add_row(&mut self.table, &self.group, self.as_of, self.zone);
            self.group.clear();
        }
        self.group.push(job);
    }

    #[must_use]
    pub fn table(mut self) -> Table {
        add_row(&mut self.table, &self.group, self.as_of, self.zone);
        self.table
    }
}

fn empty() -> Table {
    Table::new(&COLUMNS, &["WHERE/WHY", "NAME", "USER", "QUEUE", "ID"])
}

fn add_row(table: &mut Table, group: &[JobView], as_of: Time, zone: &TimeZone) {
    let Some(job) = group.first() else { return };
    table.add_row(vec![
        Cell::from(group_ids_text(group)),
        Cell::from(&job.ask.name),
        Cell::from(user_names::owner(&job.owner)),
        Cell::from(job.ask.queue.as_ref().map_or("-", |queue| queue.as_str())),
        Cell::from(&job.state).with_short(&job.state_code).with_tint(tint(job)),
        Cell::from(run_time(job, as_of)),
        Cell::from(limit(job.ask.time_limit)),
        Cell::from(nodes(job)),
        Cell::from(gpus(job)),
        Cell::from(localized(&where_or_why(job), zone)),
    ]);
}

/// Groups jobs into rows: tasks of one array that wait for the same reason share a row.
pub fn group_rows(jobs: &[JobView]) -> impl Iterator<Item = &[JobView]> {
    jobs.chunk_by(can_share_row)
}

/// Whether two jobs belong in one row.
fn can_share_row(one: &JobView, other: &JobView) -> bool {
    let waits = |job: &JobView| job.phase == Phase::Pending && job.key.index.is_some();
    waits(one)
        && waits(other)
        && one.key.job == other.key.job
        && reason_code(one) == reason_code(other)
}

fn reason_code(job: &JobView) -> Option<&str> {
    job.reason.as_ref().map(|reason| reason.code.as_str())
}

/// `42`, `42_7`, `42+1`, or `42_[0-3,7]` for several tasks.
fn group_ids_text(group: &[JobView]) -> String {
    let indices: Vec<ArrayIndex> = group.iter().filter_map(|job| job.key.index).collect();
    match group {
        [] => String::new(),
        [job] => job.name().to_string(),
        [job, ..] => format!("{}_[{}]", job.key.job, index_ranges(&indices)),
    }
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

/// The number of its GPUs; shares of GPUs as their sum, or as requested.
pub fn gpus(job: &JobView) -> String {
    match (&job.allocation, job.ask.request.gpus) {
        (Some(given), _) => {
            sizes::format_gpu_milli(given.shares().iter().map(Share::gpus_milli).sum())
        }
        (None, Some(GpuRequest::Parts(parts))) => match parts.each {
            PartSize::Milli(part) => sizes::format_gpu_milli(part.times(parts.devices.0)),
            PartSize::Memory(_) => parts.to_string(),
        },
        (None, _) => job.gpus.to_string(),
    }
}

/// The run time, without suspended time.
fn run_time(job: &JobView, as_of: Time) -> String {
    let until = job.ended_at.or(job.suspended_at);
    elapsed(job.started_at.map(|at| at + job.suspended), until, as_of)
}

/// The colour of a job's state.
#[must_use]
pub fn tint(job: &JobView) -> Tint {
    match (job.phase, job.outcome) {
        (Phase::Pending | Phase::Suspended, _) => Tint::Waiting,
        (Phase::Done, Some(Outcome::Completed)) => Tint::Plain,
        (Phase::Done, _) => Tint::Bad,
        _ => Tint::Good,
    }
}

/// The nodes of a running job, the reason of a waiting one, or how the job ended.
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

/// The reason for waiting, as a sentence.
#[must_use]
pub fn why(job: &JobView) -> Option<String> {
    job.reason.as_ref().map(|reason| reason.sentence.clone())
}

fn hosts(job: &JobView) -> String {
    job.allocation
        .as_ref()
        .map(|a| compress(a.shares().iter().map(|s| &s.node)))
        .unwrap_or_default()
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
