//! The tables of the accounting file, and its owner. docs/operating/accounting.md documents each
//! column; keep the two in step.

use common::id::ClusterId;
use rusqlite::{Connection, ErrorCode, OptionalExtension};
use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file's name in the state directory.
pub const FILE: &str = "accounting.sqlite";

/// `PRAGMA user_version` of these tables.
const VERSION: i64 = 1;
/// The suffix for the name of a damaged file.
pub(super) const DAMAGED: &str = "damaged";
/// How long a connection waits for another.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("failed to use the accounting file {path}: {source}")]
    Sql {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error(
        "failed to use the accounting file {path}: it has version {found}, and this release \
         supports {VERSION}: start the release that wrote it, or move the file away"
    )]
    Version { path: PathBuf, found: i64 },
    #[error("failed to move {path} aside: {source}")]
    Move {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to restrict the accounting file {path} to kantctld's user: {source}")]
    Private {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to read the accounting of job {job}: {why}")]
    Row { job: i64, why: String },
    /// An invalid query.
    #[error("{0}")]
    Question(String),
}

impl HistoryError {
    pub(super) fn from_sql(path: &Path, source: rusqlite::Error) -> Self {
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
  time_limit_ms INTEGER,
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

/// Opens the file for writing; creates it if missing. A damaged file, or one of another cluster, is
/// moved aside, because accounting must not stop a controller.
pub(super) fn open(path: &Path, cluster: ClusterId) -> Result<Connection, HistoryError> {
    let aside = match try_open(path, cluster) {
        Ok(connection) => return Ok(connection),
        Err(OpenError::OtherCluster(owner)) => format!("cluster-{owner}"),
        Err(OpenError::Failed(error)) if is_damage(&error) => {
            tracing::error!("{error}");
            DAMAGED.to_owned()
        }
        Err(OpenError::Failed(error)) => return Err(error),
    };
    move_aside(path, &aside)?;
    try_open(path, cluster).map_err(|unfit| match unfit {
        OpenError::Failed(error) => error,
        OpenError::OtherCluster(_) => {
            HistoryError::Question("a new file is another cluster's".to_owned())
        }
    })
}

enum OpenError {
    Failed(HistoryError),
    OtherCluster(String),
}

fn try_open(path: &Path, cluster: ClusterId) -> Result<Connection, OpenError> {
    keep_private(path).map_err(OpenError::Failed)?;
    let failed = |source| OpenError::Failed(HistoryError::from_sql(path, source));
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(BUSY_LIMIT).map_err(failed)?;
    let found: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    if found > VERSION {
        return Err(OpenError::Failed(HistoryError::Version { path: path.to_owned(), found }));
    }
    // FULL: data reported as written must survive a power failure.
    let pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";
    connection.execute_batch(pragmas).map_err(failed)?;
    let made = connection.transaction().and_then(|transaction| {
        transaction.execute_batch(TABLES)?;
        add_new_columns(&transaction)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
        transaction
            .execute("INSERT OR IGNORE INTO meta VALUES ('cluster', ?1)", [cluster.to_string()])?;
        transaction.commit()
    });
    made.map_err(failed)?;
    let owner: String = meta_value(&connection, "cluster").map_err(failed)?.unwrap_or_default();
    if owner == cluster.to_string() { Ok(connection) } else { Err(OpenError::OtherCluster(owner)) }
}

/// Adds the columns that a file of an earlier release lacks.
fn add_new_columns(connection: &Connection) -> rusqlite::Result<()> {
    let known = "SELECT count(*) FROM pragma_table_info('runs') WHERE name = 'time_limit_ms'";
    if connection.query_row(known, [], |row| row.get::<_, i64>(0))? == 0 {
        connection.execute_batch("ALTER TABLE runs ADD COLUMN time_limit_ms INTEGER")?;
    }
    Ok(())
}

/// Restricts the file to this process's user, because it has all users' jobs. SQLite creates its
/// other files with the same mode.
fn keep_private(path: &Path) -> Result<(), HistoryError> {
    let failed = |source| HistoryError::Private { path: path.to_owned(), source };
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(failed)?;
    for suffix in ["", "-wal", "-shm"] {
        match std::fs::set_permissions(with_suffix(path, suffix), Permissions::from_mode(0o600)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            set => set.map_err(failed)?,
        }
    }
    Ok(())
}

/// After a restore from a backup, makes the old cluster's file that of the new one, so that its
/// runs are kept. Its position in the old log is dropped.
///
/// # Errors
/// [`HistoryError`]; then the next start moves the file aside.
pub fn adopt_after_restore(
    state_dir: &Path,
    before: ClusterId,
    now: ClusterId,
) -> Result<(), HistoryError> {
    let path = state_dir.join(FILE);
    if !path.exists() {
        return Ok(());
    }
    let adopted = Connection::open(&path).and_then(|mut connection| {
        let transaction = connection.transaction()?;
        let of = "UPDATE meta SET value = ?2 WHERE name = 'cluster' AND value = ?1";
        if transaction.execute(of, [before.to_string(), now.to_string()])? > 0 {
            // The position in another log.
            transaction.execute("DELETE FROM meta WHERE name = 'applied'", [])?;
        }
        transaction.commit()
    });
    adopted.map_err(|source| HistoryError::from_sql(&path, source))
}

/// Whether the file itself is damaged.
pub(super) fn is_damage(error: &HistoryError) -> bool {
    matches!(error, HistoryError::Sql { source, .. } if is_damaged(source))
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Renames the file and SQLite's companion files. No connection may be open for writing.
pub(super) fn move_aside(path: &Path, why: &str) -> Result<(), HistoryError> {
    for suffix in ["", "-wal", "-shm"] {
        let from = with_suffix(path, suffix);
        let to = with_suffix(&with_suffix(path, &format!(".{why}")), suffix);
        match std::fs::rename(&from, &to) {
            Ok(()) if suffix.is_empty() => {
                tracing::warn!("{} is now {}", from.display(), to.display());
            }
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(HistoryError::Move { path: from, source }),
        }
    }
    Ok(())
}

/// The path with a suffix.
fn with_suffix(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    PathBuf::from(name)
}

/// A value of the `meta` table.
pub(super) fn meta_value<T: rusqlite::types::FromSql>(
    connection: &Connection,
    name: &str,
) -> Result<Option<T>, rusqlite::Error> {
    let found =
        connection.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0));
    found.optional()
}

/// Sets up a read-only connection.
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
        let owner: Option<String> = meta_value(&mine, "cluster").unwrap();
        assert_eq!(owner, Some(ClusterId(2).to_string()));
        let aside = format!("accounting.sqlite.cluster-{}", ClusterId(1));
        assert!(dir.path().join(aside).exists());
    }

    #[test]
    fn the_file_of_a_restored_cluster_is_kept_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        adopt_after_restore(dir.path(), ClusterId(1), ClusterId(2)).unwrap();
        assert!(!path.exists(), "no file is created");
        let file = open(&path, ClusterId(1)).unwrap();
        file.execute("INSERT INTO meta VALUES ('applied', 9)", []).unwrap();
        drop(file);
        adopt_after_restore(dir.path(), ClusterId(3), ClusterId(2)).unwrap();
        adopt_after_restore(dir.path(), ClusterId(1), ClusterId(2)).unwrap();
        let file = open(&path, ClusterId(2)).unwrap();
        assert_eq!(meta_value::<i64>(&file, "applied").unwrap(), None);
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
    fn only_the_controllers_user_can_read_the_file_and_its_companions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let _file = open(&path, ClusterId(1)).unwrap();
        for suffix in ["", "-wal", "-shm"] {
            let found = std::fs::metadata(with_suffix(&path, suffix)).unwrap().permissions().mode();
            assert_eq!(found & 0o777, 0o600, "{suffix}");
        }
    }

    #[test]
    fn a_newer_releases_file_is_not_changed() {
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
