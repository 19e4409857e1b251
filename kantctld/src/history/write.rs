//! Writing to the accounting file: batches, catching up from the state, deleting old records. A run
//! is stored once, with its job, array task and run number as key.

use super::feed::HistoryRecords;
use super::row::{self, INSERT, encode, to_sqlite_integer};
use super::schema::{self, HistoryError, meta_value};
use super::steps;
use common::id::{ClusterId, JobId, LogIndex, NodeName};
use common::job::Ask;
use common::time::Time;
use common::wire::api::HistoryRun;
use query::history::{self, NodeChange};
use rusqlite::{Connection, Transaction, params};
use state::State;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most runs in one transaction while catching up.
const CATCH_UP_RUNS: usize = 4096;
/// The most runs deleted in one transaction.
const PURGE_RUNS: usize = 4096;
/// The number of jobs whose request is remembered as written.
const ASKS_KNOWN: usize = 1024;

/// A position in the log: records of entries up to `applied`, applied by `at`, are in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub(super) applied: LogIndex,
    pub(super) at: Time,
}

/// The file, open for writing.
pub(super) struct File {
    connection: Connection,
    path: PathBuf,
    asks: BTreeMap<JobId, Ask>,
    nodes: BTreeMap<NodeName, NodeChange>,
}

impl File {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path, cluster: ClusterId) -> Result<Self, HistoryError> {
        let connection = schema::open(path, cluster)?;
        let (asks, nodes) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { connection, path: path.to_owned(), asks, nodes })
    }

    /// Writes a batch in one transaction.
    pub(super) fn write(
        &mut self,
        records: &HistoryRecords,
        position: Option<Position>,
    ) -> Result<(), HistoryError> {
        if self.asks.len() > ASKS_KNOWN {
            self.asks.clear();
        }
        let mut known = std::mem::take(&mut self.nodes);
        let written = self.try_write(records, &mut known, position);
        match &written {
            Ok(()) => self.nodes = known,
            // The transaction failed, so requests noted during it were not written.
            Err(_) => self.asks.clear(),
        }
        written.map_err(|source| HistoryError::from_sql(&self.path, source))
    }

    fn try_write(
        &mut self,
        HistoryRecords { runs, ended, nodes, steps }: &HistoryRecords,
        known: &mut BTreeMap<NodeName, NodeChange>,
        position: Option<Position>,
    ) -> rusqlite::Result<()> {
        debug_assert!(ended.is_empty(), "their records are made before");
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            let mut ask =
                transaction.prepare_cached("INSERT OR REPLACE INTO asks VALUES (?1, ?2)")?;
            for run in runs {
                row::write(&mut insert, run)?;
                let (job, asked) = (run.job.key.job, &run.job.ask);
                if self.asks.get(&job) != Some(asked) {
                    ask.execute(params![job.0, encode(asked)])?;
                    self.asks.insert(job, asked.clone());
                }
            }
        }
        steps::write(&transaction, steps, runs)?;
        write_nodes(&transaction, nodes, known)?;
        if let Some(position) = position {
            let note = "INSERT OR REPLACE INTO meta VALUES (?1, ?2)";
            transaction.execute(note, params!["applied", to_sqlite_integer(position.applied.0)])?;
            transaction.execute(note, params!["applied_ms", to_sqlite_integer(position.at.0)])?;
        }
        transaction.commit()
    }

    /// Catches up after the state was restored from a snapshot at this index, because events before
    /// it may be missing.
    pub(super) fn catch_up_after(
        &mut self,
        index: LogIndex,
        state: &State,
    ) -> Result<(), HistoryError> {
        let (applied, at) = self.saved_position()?;
        if index.0 <= applied {
            return Ok(());
        }
        self.catch_up(state)?;
        let remembered_since = state.remembered_since().0;
        if at < remembered_since && state.last_job_id() > JobId(0) && self.gap()?.is_none() {
            tracing::info!("accounting lacks runs that ended before {}", Time(remembered_since));
            self.set_meta("gap_ms", to_sqlite_integer(at))?;
        }
        Ok(())
    }

    /// Writes all finished runs in the state.
    pub(super) fn catch_up(&mut self, state: &State) -> Result<(), HistoryError> {
        let mut batch = HistoryRecords::default();
        for run in history::all_ended(state) {
            if run.requeued && self.is_stored_as_requeued(&run)? {
                continue;
            }
            batch.runs.push(run);
            if batch.runs.len() >= CATCH_UP_RUNS {
                self.write(&batch, None)?;
                batch.runs.clear();
            }
        }
        batch.nodes.extend(history::all_nodes(state));
        self.write(&batch, None)
    }

    /// Adds node changes of another controller; existing ones stay.
    pub(super) fn add_received_nodes(&mut self, nodes: &[NodeChange]) -> Result<(), HistoryError> {
        let taken = self.connection.transaction().and_then(|transaction| {
            for change in nodes {
                put_node(&transaction, "IGNORE", change)?;
            }
            transaction.commit()
        });
        taken.map_err(|source| HistoryError::from_sql(&self.path, source))
    }

    /// Whether the file was just created: it has no position.
    pub(super) fn is_new(&self) -> Result<bool, HistoryError> {
        Ok(self.meta("applied")?.is_none())
    }

    /// Whether an earlier run is stored. The job's request may have changed since that run ended.
    fn is_stored_as_requeued(&self, run: &HistoryRun) -> Result<bool, HistoryError> {
        let sql = "SELECT 1 FROM runs WHERE job = ?1 AND task = ?2 AND run = ?3 AND requeued = 1";
        let key = run.job.key;
        let found = self.connection.prepare_cached(sql).and_then(|mut statement| {
            statement.exists(params![key.job.0, row::task_column(key.index), run.run])
        });
        found.map_err(|source| HistoryError::from_sql(&self.path, source))
    }

    /// Since when it lacks runs that another controller may have.
    pub(super) fn gap(&self) -> Result<Option<Time>, HistoryError> {
        let gap: Option<i64> = self.meta("gap_ms")?;
        Ok(gap.map(|at| Time(at.max(0).cast_unsigned())))
    }

    pub(super) fn close_gap(&mut self) -> Result<(), HistoryError> {
        let done = self.connection.execute("DELETE FROM meta WHERE name = 'gap_ms'", []);
        done.map(drop).map_err(|source| HistoryError::from_sql(&self.path, source))
    }

    /// Deletes some runs that ended earlier; true if none of that age are left.
    pub(super) fn purge(&mut self, before: Time) -> Result<bool, HistoryError> {
        // The requests of jobs without runs are deleted too, and are written again with the next
        // run.
        self.asks.clear();
        let dropped = self.try_purge(to_sqlite_integer(before.0));
        let dropped = dropped.map_err(|source| HistoryError::from_sql(&self.path, source))?;
        Ok(dropped < PURGE_RUNS)
    }

    fn try_purge(&mut self, before: i64) -> rusqlite::Result<usize> {
        let transaction = self.connection.transaction()?;
        transaction.execute(steps::PURGE, params![before, PURGE_RUNS])?;
        let dropped = transaction.execute(
            "DELETE FROM runs WHERE rowid IN \
             (SELECT rowid FROM runs WHERE ended_ms < ?1 ORDER BY ended_ms LIMIT ?2)",
            params![before, PURGE_RUNS],
        )?;
        if dropped > 0 {
            // Job ids only grow, so requests below the smallest remaining job are unused.
            transaction.execute(
                "DELETE FROM asks WHERE job < (SELECT min(job) FROM runs) \
                 OR NOT EXISTS (SELECT 1 FROM runs)",
                [],
            )?;
        }
        if dropped < PURGE_RUNS {
            transaction.execute(
                "DELETE FROM node_changes AS old WHERE at_ms < ?1 AND EXISTS (SELECT 1 FROM \
                 node_changes AS new WHERE new.node = old.node AND new.at_ms > old.at_ms \
                 AND new.at_ms <= ?1)",
                [before],
            )?;
        }
        transaction.commit()?;
        Ok(dropped)
    }

    /// The saved position: index and time.
    fn saved_position(&self) -> Result<(u64, u64), HistoryError> {
        let number = |found: Option<i64>| found.unwrap_or(0).max(0).cast_unsigned();
        Ok((number(self.meta("applied")?), number(self.meta("applied_ms")?)))
    }

    fn meta(&self, name: &str) -> Result<Option<i64>, HistoryError> {
        meta_value(&self.connection, name)
            .map_err(|source| HistoryError::from_sql(&self.path, source))
    }

    fn set_meta(&mut self, name: &str, value: i64) -> Result<(), HistoryError> {
        let note = "INSERT OR REPLACE INTO meta VALUES (?1, ?2)";
        let noted = self.connection.execute(note, params![name, value]);
        noted.map(drop).map_err(|source| HistoryError::from_sql(&self.path, source))
    }
}

fn write_nodes(
    transaction: &Transaction<'_>,
    nodes: &[NodeChange],
    known: &mut BTreeMap<NodeName, NodeChange>,
) -> rusqlite::Result<()> {
    for change in nodes {
        let same = known.get(&change.name).is_some_and(|last| {
            let how = |change: &NodeChange| (change.cpus, change.gpus, change.standing);
            // Of changes at one time the last counts, because those of an entry share its time.
            change.at < last.at || how(last) == how(change)
        });
        if same {
            continue;
        }
        put_node(transaction, "REPLACE", change)?;
        known.insert(change.name.clone(), change.clone());
    }
    Ok(())
}

/// Inserts a node change; `clash` is the SQL conflict action for an existing one.
fn put_node(
    transaction: &Transaction<'_>,
    clash: &str,
    change: &NodeChange,
) -> rusqlite::Result<()> {
    let NodeChange { name, at, cpus, gpus, standing } = change;
    let standing = row::standing_word(*standing);
    let values = params![name.as_str(), to_sqlite_integer(at.0), cpus.0, gpus.0, standing];
    let insert = format!("INSERT OR {clash} INTO node_changes VALUES (?1, ?2, ?3, ?4, ?5)");
    transaction.prepare_cached(&insert)?.execute(values).map(drop)
}
