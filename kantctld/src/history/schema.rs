//! The accounting file: its tables, and whose it is. Never reads or writes a run. What each column
//! means to people is told in docs/operating/accounting.md: keep the two alike.

use common::id::ClusterId;
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its name, in the state directory.
pub const FILE: &str = "accounting.sqlite";

/// What `PRAGMA user_version` says of the tables below.
const VERSION: i64 = 1;
/// What is added to the name of one that is damaged.
pub(super) const DAMAGED: &str = "damaged";
/// How long one side waits for the other, where they meet at all.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("failed to use the accounting file {path}: {source}")]
    Sql {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    /// A newer release wrote it.
    #[error(
        "failed to use the accounting file {path}: it has version {found}, this release knows \
         {VERSION}: start the release that wrote it, or move the file away"
    )]
    Version { path: PathBuf, found: i64 },
    /// It could not be moved out of the way.
    #[error("failed to move {path} out of the way: {source}")]
    Move {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It could not be kept from other users.
    #[error("failed to make the accounting file {path} readable by kantctld's user only: {source}")]
    Private {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A row that cannot be read.
    #[error("failed to read the accounting of job {job}: {why}")]
    Row { job: i64, why: String },
    /// The question makes no sense.
    #[error("{0}")]
    Question(String),
}

impl HistoryError {
    pub(super) fn at(path: &Path, source: rusqlite::Error) -> Self {
        Self::Sql { path: path.to_owned(), source }
    }
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asks (job INTEGER PRIMARY KEY, ask BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS runs (
  job INTEGER NOT NULL,
  task INTEGER NOT NULL,
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  user TEXT NOT NULL,
  uid INTEGER NOT NULL,
  gid INTEGER NOT NULL,
  account TEXT NOT NULL,
  queue TEXT NOT NULL,
  qos TEXT NOT NULL,
  state TEXT NOT NULL,
  requeued INTEGER NOT NULL,
  submitted_ms INTEGER NOT NULL,
  allocated_ms INTEGER,
  started_ms INTEGER,
  ended_ms INTEGER NOT NULL,
  suspended_ms INTEGER NOT NULL,
  exit_code INTEGER,
  exit_signal INTEGER,
  nodes INTEGER NOT NULL,
  node_list TEXT NOT NULL,
  cpus INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  gpus INTEGER NOT NULL,
  gpu_milliseconds INTEGER NOT NULL,
  cpu_milliseconds INTEGER NOT NULL,
  used_cpu_ms INTEGER,
  used_memory_bytes INTEGER,
  used_gpu_percent INTEGER,
  used_energy_joules INTEGER,
  message TEXT,
  detail BLOB NOT NULL,
  UNIQUE (job, task, run)
);
CREATE TABLE IF NOT EXISTS steps (
  job INTEGER NOT NULL,
  task INTEGER NOT NULL,
  run INTEGER NOT NULL,
  step INTEGER NOT NULL,
  name TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  exit_code INTEGER,
  exit_signal INTEGER,
  cut_off INTEGER NOT NULL,
  nodes INTEGER NOT NULL,
  node_list TEXT NOT NULL,
  tasks INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  gpus INTEGER,
  PRIMARY KEY (job, task, run, step)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_ended ON runs (ended_ms, job, task, run);
CREATE INDEX IF NOT EXISTS runs_number ON runs (number);
CREATE INDEX IF NOT EXISTS runs_user ON runs (user, ended_ms, job, task, run);
CREATE INDEX IF NOT EXISTS runs_uid ON runs (uid, ended_ms, job, task, run);
CREATE INDEX IF NOT EXISTS runs_account ON runs (account, ended_ms, job, task, run);
CREATE TABLE IF NOT EXISTS node_changes (
  node TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  gpus INTEGER NOT NULL,
  standing TEXT NOT NULL,
  PRIMARY KEY (node, at_ms)
) WITHOUT ROWID;
";

/// Opens the file to write it, and makes it if it is not there. One that is damaged, or another
/// cluster's, is moved aside: accounting must never keep a controller from its work.
pub(super) fn open(path: &Path, cluster: ClusterId) -> Result<Connection, HistoryError> {
    let aside = match open_whole(path, cluster) {
        Ok(connection) => return Ok(connection),
        Err(Unfit::Other(whose)) => format!("cluster-{whose}"),
        Err(Unfit::Failed(error)) if is_damage(&error) => {
            tracing::error!("{error}");
            DAMAGED.to_owned()
        }
        Err(Unfit::Failed(error)) => return Err(error),
    };
    move_aside(path, &aside)?;
    open_whole(path, cluster).map_err(|unfit| match unfit {
        Unfit::Failed(error) => error,
        Unfit::Other(_) => HistoryError::Question("a new file is another cluster's".to_owned()),
    })
}

enum Unfit {
    Failed(HistoryError),
    Other(String),
}

fn open_whole(path: &Path, cluster: ClusterId) -> Result<Connection, Unfit> {
    keep_private(path).map_err(Unfit::Failed)?;
    let failed = |source| Unfit::Failed(HistoryError::at(path, source));
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(BUSY_LIMIT).map_err(failed)?;
    let found: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    if found > VERSION {
        return Err(Unfit::Failed(HistoryError::Version { path: path.to_owned(), found }));
    }
    // FULL: what is said to be in the file is there after a power cut, too.
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
    connection.execute_batch(pragmas).map_err(failed)?;
    let made = connection.transaction().and_then(|transaction| {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
        transaction
            .execute("INSERT OR IGNORE INTO meta VALUES ('cluster', ?1)", [cluster.to_string()])?;
        transaction.commit()
    });
    made.map_err(failed)?;
    let whose: String = meta(&connection, "cluster").map_err(failed)?.unwrap_or_default();
    if whose == cluster.to_string() { Ok(connection) } else { Err(Unfit::Other(whose)) }
}

/// Every user's jobs are in it: only this process's user reads it. SQLite gives what it makes
/// beside it the same mode.
fn keep_private(path: &Path) -> Result<(), HistoryError> {
    let failed = |source| HistoryError::Private { path: path.to_owned(), source };
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed)?;
    for beside in ["", "-wal", "-shm"] {
        match std::fs::set_permissions(with(path, beside), Permissions::from_mode(0o600)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            set => set.map_err(failed)?,
        }
    }
    Ok(())
}

/// A cluster that goes on from a backup keeps the runs that this controller wrote for the one
/// before it, if there are any: its jobs get other numbers. How far the file is, is said anew.
///
/// # Errors
/// [`HistoryError`]; then the next start moves the file aside.
pub fn adopt(state_dir: &Path, before: ClusterId, now: ClusterId) -> Result<(), HistoryError> {
    let path = state_dir.join(FILE);
    if !path.exists() {
        return Ok(());
    }
    let adopted = Connection::open(&path).and_then(|mut connection| {
        let transaction = connection.transaction()?;
        let of = "UPDATE meta SET value = ?2 WHERE name = 'cluster' AND value = ?1";
        if transaction.execute(of, [before.to_string(), now.to_string()])? > 0 {
            // Entries of another log.
            transaction.execute("DELETE FROM meta WHERE name = 'applied'", [])?;
        }
        transaction.commit()
    });
    adopted.map_err(|source| HistoryError::at(&path, source))
}

/// Is the file itself what is wrong?
pub(super) fn is_damage(error: &HistoryError) -> bool {
    matches!(error, HistoryError::Sql { source, .. } if is_damaged(source))
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// With what SQLite keeps beside it. Nobody may have it open to write.
pub(super) fn move_aside(path: &Path, why: &str) -> Result<(), HistoryError> {
    for beside in ["", "-wal", "-shm"] {
        let from = with(path, beside);
        let to = with(&with(path, &format!(".{why}")), beside);
        match std::fs::rename(&from, &to) {
            Ok(()) if beside.is_empty() => {
                tracing::warn!("{} is now {}", from.display(), to.display());
            }
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(HistoryError::Move { path: from, source }),
        }
    }
    Ok(())
}

/// The name with more behind it.
fn with(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    PathBuf::from(name)
}

/// Something about the file itself.
pub(super) fn meta<T: rusqlite::types::FromSql>(
    connection: &Connection,
    name: &str,
) -> Result<Option<T>, rusqlite::Error> {
    let found =
        connection.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0));
    found.optional()
}

/// Sets a connection up that only reads.
pub(super) fn prepare_reader(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.busy_timeout(BUSY_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_file_and_another_clusters_are_moved_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, vec![b'x'; 8192]).unwrap();
        drop(open(&path, ClusterId(1)).unwrap());
        assert!(dir.path().join("accounting.sqlite.damaged").exists());
        let mine = open(&path, ClusterId(2)).unwrap();
        let whose: Option<String> = meta(&mine, "cluster").unwrap();
        assert_eq!(whose, Some(ClusterId(2).to_string()));
        let aside = format!("accounting.sqlite.cluster-{}", ClusterId(1));
        assert!(dir.path().join(aside).exists());
    }

    #[test]
    fn the_file_of_a_cluster_that_goes_on_from_a_backup_is_kept_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        adopt(dir.path(), ClusterId(1), ClusterId(2)).unwrap();
        assert!(!path.exists(), "where none is, none is made");
        let file = open(&path, ClusterId(1)).unwrap();
        file.execute("INSERT INTO meta VALUES ('applied', 9)", []).unwrap();
        drop(file);
        adopt(dir.path(), ClusterId(3), ClusterId(2)).unwrap();
        adopt(dir.path(), ClusterId(1), ClusterId(2)).unwrap();
        let file = open(&path, ClusterId(2)).unwrap();
        assert_eq!(meta::<i64>(&file, "applied").unwrap(), None);
        assert_eq!(
            std::fs::read_dir(dir.path())
                .unwrap()
                .filter(|entry| {
                    entry.as_ref().unwrap().file_name().to_string_lossy().contains("cluster-")
                })
                .count(),
            0,
            "nothing is moved aside"
        );
    }

    #[test]
    fn only_the_controllers_user_reads_the_file_and_what_lies_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let _file = open(&path, ClusterId(1)).unwrap();
        for beside in ["", "-wal", "-shm"] {
            let found = std::fs::metadata(with(&path, beside)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, 0o600, "{beside}");
        }
    }

    #[test]
    fn a_newer_releases_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let newer = Connection::open(&path).unwrap();
        newer.execute_batch("PRAGMA user_version = 99").unwrap();
        drop(newer);
        let refused = open(&path, ClusterId(1)).unwrap_err().to_string();
        assert!(refused.contains("version 99"), "{refused}");
        assert!(path.exists());
    }
}
