//! Conversion of steps to rows and back. They are written when the first node of the run reports
//! them, possibly before the run ends, and deleted with the run. Only finished steps are stored.

use super::row::{task_column, to_sqlite_integer};
use super::schema::HistoryError;
use common::id::JobKey;
use common::job::{ExitStatus, StepRecord};
use common::time::Time;
use common::wire::api::HistoryRun;
use query::history::EndedSteps;
use rusqlite::{Connection, Row, Transaction, params};

const INSERT: &str = "INSERT OR REPLACE INTO steps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
    ?10, ?11, ?12, ?13, ?14, ?15)";

const READ: &str = "SELECT step, name, started_ms, ended_ms, exit_code, exit_signal, cut_off, \
    nodes, node_list, tasks, cpus, gpus FROM steps WHERE job = ?1 AND task = ?2 AND run = ?3 \
    ORDER BY step";

/// Deletes the steps of the runs that a purge is about to delete: the condition selects their rows.
pub(super) const PURGE: &str = "DELETE FROM steps WHERE (job, task, run) IN (SELECT job, task, run \
    FROM runs WHERE ended_ms < ?1 ORDER BY ended_ms LIMIT ?2)";

/// Inserts steps, or replaces them.
pub(super) fn write(
    transaction: &Transaction<'_>,
    reported: &[EndedSteps],
    runs: &[HistoryRun],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(INSERT)?;
    let reported =
        reported.iter().map(|reported| (reported.id.key, reported.id.attempt.0, &reported.steps));
    let received = runs.iter().map(|run| (run.job.key, run.run, &run.steps));
    for (key, run, steps) in reported.chain(received) {
        for step in steps {
            insert.execute(params![
                key.job.0,
                task_column(key.index),
                run,
                step.number,
                step.name,
                to_sqlite_integer(step.started_at.0),
                to_sqlite_integer(step.ended_at.unwrap_or(step.started_at).0),
                step.exit.map(|exit| exit.code),
                step.exit.and_then(|exit| exit.signal),
                step.cut_off,
                step.node_count,
                step.nodes,
                step.tasks,
                step.cpus,
                step.gpus,
            ])?;
        }
    }
    Ok(())
}

/// Adds the steps to runs.
pub(super) fn add_to_runs(
    connection: &Connection,
    runs: &mut [HistoryRun],
) -> Result<(), HistoryError> {
    let failed =
        |source| HistoryError::from_sql(connection.path().unwrap_or_default().as_ref(), source);
    let mut read = connection.prepare(READ).map_err(failed)?;
    for run in runs {
        let JobKey { job, index } = run.job.key;
        let rows = read.query_map(params![job.0, task_column(index), run.run], step);
        let steps = rows.and_then(|rows| rows.collect::<rusqlite::Result<Vec<_>>>());
        run.steps = steps.map_err(failed)?;
    }
    Ok(())
}

fn step(row: &Row<'_>) -> rusqlite::Result<StepRecord> {
    let at = |column| row.get(column).map(|at: i64| Time(at.cast_unsigned()));
    let code: Option<u8> = row.get(4)?;
    let signal: Option<u8> = row.get(5)?;
    Ok(StepRecord {
        number: row.get(0)?,
        name: row.get(1)?,
        started_at: at(2)?,
        ended_at: Some(at(3)?),
        exit: code.map(|code| ExitStatus { code, signal }),
        cut_off: row.get(6)?,
        node_count: row.get(7)?,
        nodes: row.get(8)?,
        tasks: row.get(9)?,
        cpus: row.get(10)?,
        gpus: row.get(11)?,
    })
}
