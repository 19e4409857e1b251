//! Conversion of a run to a row and back. The columns serve people and reports; `detail` has the
//! rest, so that a run can be read back complete.

use super::schema::HistoryError;
use common::hostlist::compress;
use common::id::{AccountName, ArrayIndex, JobId, JobKey, NodeName, QosName, QueueName, Uid};
use common::job::{Ask, ExitStatus, Outcome, Owner, Phase, SetPlace, Usage};
use common::resource::Allocation;
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::{HistoryRun, JobView};
use query::history::{NodeChange, Standing};
use rusqlite::{Row, Statement, params};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Inserts a run, or replaces it.
pub(super) const INSERT: &str = "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, \
    ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, \
    ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34)";

/// The columns for [`Reader::read`], in its order.
pub(super) const READ: &str = "r.job, r.task, r.run, r.state, r.requeued, r.submitted_ms, \
    r.allocated_ms, r.started_ms, r.ended_ms, r.suspended_ms, r.gpu_milliseconds, \
    r.cpu_milliseconds, r.message, r.detail, a.ask";

/// The fields without a column.
#[derive(Serialize, Deserialize)]
struct Detail {
    number: Option<JobId>,
    set: Option<SetPlace>,
    cancelled_by: Option<Uid>,
    array_limit: Option<u32>,
    owner: Owner,
    outcome: Option<Outcome>,
    state_code: String,
    attempt: u32,
    allocation: Option<Allocation>,
    cpus: Cpus,
    memory: Bytes,
    gpus: Gpus,
    exit: Option<ExitStatus>,
    usage: Option<Usage>,
    /// What an update may change between the runs of a job.
    changing: Changing,
}

/// The request at the end of this run. The rest of a request is stored once for each job.
#[derive(Serialize, Deserialize)]
struct Changing {
    queue: Option<QueueName>,
    qos: Option<QosName>,
    account: Option<AccountName>,
    time_limit: Option<Span>,
}

/// The task column; -1 for a job that is no array, because a key column must not be null.
pub(super) fn task_column(index: Option<ArrayIndex>) -> i64 {
    index.map_or(-1, |index| i64::from(index.0))
}

/// SQLite's integers are signed; milliseconds and bytes fit.
pub(super) fn to_sqlite_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn time_column(time: Option<Time>) -> Option<i64> {
    time.map(|time| to_sqlite_integer(time.0))
}

/// Inserts a run with [`INSERT`].
pub(super) fn write(insert: &mut Statement<'_>, run: &HistoryRun) -> rusqlite::Result<()> {
    let job = &run.job;
    let detail = Detail {
        number: job.number,
        set: job.set,
        cancelled_by: job.cancelled_by,
        array_limit: job.array_limit,
        owner: job.owner.clone(),
        outcome: job.outcome,
        state_code: job.state_code.clone(),
        attempt: job.attempt,
        allocation: job.allocation.clone(),
        cpus: job.cpus,
        memory: job.memory,
        gpus: job.gpus,
        exit: job.exit,
        usage: job.usage,
        changing: Changing {
            queue: job.ask.queue.clone(),
            qos: job.ask.qos.clone(),
            account: job.ask.account.clone(),
            time_limit: job.ask.time_limit,
        },
    };
    let name = |name: Option<&str>| name.unwrap_or_default().to_owned();
    let shares = job.allocation.iter().flat_map(|given| given.shares());
    let gpu = job.usage.and_then(|usage| usage.gpu);
    insert.execute(params![
        job.key.job.0,
        task_column(job.key.index),
        run.run,
        job.number.unwrap_or(job.key.job).0,
        job.ask.name,
        job.owner.name,
        job.owner.uid.0,
        job.owner.gid.0,
        name(job.ask.account.as_ref().map(|account| account.as_str())),
        name(job.ask.queue.as_ref().map(|queue| queue.as_str())),
        name(job.ask.qos.as_ref().map(|qos| qos.as_str())),
        job.state,
        run.requeued,
        to_sqlite_integer(job.submitted_at.0),
        time_column(run.allocated_at),
        time_column(job.started_at),
        time_column(job.ended_at).unwrap_or(0),
        to_sqlite_integer(job.suspended.0),
        job.exit.map(|exit| exit.code),
        job.exit.and_then(|exit| exit.signal),
        shares.clone().count(),
        compress(shares.map(|share| &share.node)),
        job.cpus.0,
        to_sqlite_integer(job.memory.0),
        job.gpus.0,
        to_sqlite_integer(run.gpu_milliseconds),
        to_sqlite_integer(run.cpu_milliseconds),
        job.usage.map(|usage| to_sqlite_integer(usage.cpu.0)),
        job.usage.map(|usage| to_sqlite_integer(usage.memory_peak.0)),
        gpu.and_then(|gpu| gpu.busy_percent()).map(to_sqlite_integer),
        gpu.map(|gpu| to_sqlite_integer(gpu.energy_joules)),
        job.message,
        encode(&detail),
        job.ask.time_limit.map(|limit| to_sqlite_integer(limit.0)),
    ])?;
    Ok(())
}

/// The standing of a node as stored.
pub(super) const fn standing_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Up => "up",
        Standing::Drained => "drained",
        Standing::Down => "down",
    }
}

/// Encodes a value with field names, so that later releases can read it.
pub(super) fn encode(value: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec_named(value)
        .expect("what is kept is plain data, and writing to memory does not fail")
}

/// The approximate size of a row of [`READ`].
pub(super) fn row_bytes(row: &Row<'_>) -> rusqlite::Result<usize> {
    Ok(row.get_ref(13)?.as_blob()?.len() + row.get_ref(14)?.as_blob()?.len())
}

/// Reads runs one by one. The tasks of an array share one request.
#[derive(Default)]
pub(super) struct Reader {
    last: Option<(i64, Rc<Ask>)>,
}

impl Reader {
    /// Reads the run in a row of [`READ`].
    pub(super) fn read(&mut self, row: &Row<'_>) -> Result<HistoryRun, HistoryError> {
        let job: i64 = row.get(0).map_err(|error| unreadable(0, &error))?;
        let read = self.decode_run(row, job);
        read.map_err(|why| HistoryError::Row { job, why })
    }

    fn decode_run(&mut self, row: &Row<'_>, job: i64) -> Result<HistoryRun, String> {
        let detail: Detail = decode(&bytes(row, 13)?)?;
        let mut ask = self.ask(row, job)?.as_ref().clone();
        let Changing { queue, qos, account, time_limit } = detail.changing;
        (ask.queue, ask.qos, ask.account, ask.time_limit) = (queue, qos, account, time_limit);
        let task: i64 = get(row, 1)?;
        let index = u32::try_from(task).ok().map(ArrayIndex);
        let id = u32::try_from(job).map_err(|error| error.to_string())?;
        let time =
            |column| -> Result<Time, String> { Ok(Time(get::<i64>(row, column)?.cast_unsigned())) };
        let maybe = |column| -> Result<Option<Time>, String> {
            Ok(get::<Option<i64>>(row, column)?.map(|at| Time(at.cast_unsigned())))
        };
        let view = JobView {
            key: JobKey { job: JobId(id), index },
            number: detail.number,
            set: detail.set,
            cancelled_by: detail.cancelled_by,
            array_limit: detail.array_limit,
            owner: detail.owner,
            ask,
            phase: Phase::Done,
            outcome: detail.outcome,
            state: get(row, 3)?,
            state_code: detail.state_code,
            held: false,
            reason: None,
            dependency: None,
            position: None,
            attempt: detail.attempt,
            submitted_at: time(5)?,
            expected_run_time: None,
            started_at: maybe(7)?,
            ended_at: maybe(8)?,
            suspended_at: None,
            suspended: Span(time(9)?.0),
            checkpoint_at: None,
            allocation: detail.allocation,
            leaving: Vec::new(),
            joining: Vec::new(),
            cpus: detail.cpus,
            memory: detail.memory,
            gpus: detail.gpus,
            exit: detail.exit,
            usage: detail.usage,
            message: get(row, 12)?,
            timeline: Vec::new(),
        };
        Ok(HistoryRun {
            job: view,
            run: get(row, 2)?,
            allocated_at: maybe(6)?,
            gpu_milliseconds: time(10)?.0,
            cpu_milliseconds: time(11)?.0,
            requeued: get(row, 4)?,
            steps: Vec::new(),
        })
    }

    fn ask(&mut self, row: &Row<'_>, job: i64) -> Result<Rc<Ask>, String> {
        if let Some((_, ask)) = self.last.as_ref().filter(|(known, _)| *known == job) {
            return Ok(ask.clone());
        }
        let ask: Rc<Ask> = Rc::new(decode(&bytes(row, 14)?)?);
        self.last = Some((job, ask.clone()));
        Ok(ask)
    }
}

/// Reads a row of `node_changes`; `None` for an invalid name or an unknown standing.
pub(super) fn node_change(row: &Row<'_>) -> rusqlite::Result<Option<NodeChange>> {
    let (name, word): (String, String) = (row.get(0)?, row.get(4)?);
    let all = [Standing::Up, Standing::Drained, Standing::Down];
    let known = all.into_iter().find(|one| standing_word(*one) == word);
    let Some((name, standing)) = NodeName::new(name).ok().zip(known) else { return Ok(None) };
    let at = Time(row.get::<_, i64>(1)?.max(0).cast_unsigned());
    let (cpus, gpus) = (Cpus(row.get(2)?), Gpus(row.get(3)?));
    Ok(Some(NodeChange { name, at, cpus, gpus, standing }))
}

fn get<T: rusqlite::types::FromSql>(row: &Row<'_>, column: usize) -> Result<T, String> {
    row.get(column).map_err(|error| error.to_string())
}

fn bytes(row: &Row<'_>, column: usize) -> Result<Vec<u8>, String> {
    get(row, column)
}

fn decode<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(bytes).map_err(|error| error.to_string())
}

fn unreadable(job: i64, error: &rusqlite::Error) -> HistoryError {
    HistoryError::Row { job, why: error.to_string() }
}
