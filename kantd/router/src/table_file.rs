//! A table in a file that another program replaces. A table that is missing or damaged changes
//! nothing: the last good one stays.

use common::service::table::{Table, TableError};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::unix::pipe;
use tokio::sync::watch;

/// How often the file is looked at beside notifications: network file systems send none.
const LOOK: Duration = Duration::from_secs(2);
/// How often it is looked at if this user has no inotify watches left.
const LOOK_ALONE: Duration = Duration::from_millis(200);

/// Why the file has no table.
#[derive(Debug, thiserror::Error)]
pub enum TableFileError {
    #[error("failed to read the routing table {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to parse the routing table {}", path.display())]
    Parse {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Reads and checks a table.
///
/// # Errors
/// If the file cannot be read, or has no table that a router can serve.
pub fn read_table(path: &Path) -> Result<Table, TableFileError> {
    let text = std::fs::read(path)
        .map_err(|source| TableFileError::Read { path: path.to_owned(), source })?;
    let table: Table = serde_json::from_slice(&text)
        .map_err(|source| TableFileError::Parse { path: path.to_owned(), source })?;
    table.check()?;
    Ok(table)
}

/// Sends the table of the file whenever it changes, until no receiver is left.
pub async fn follow(path: PathBuf, tables: watch::Sender<Arc<Table>>) {
    let mut notifier = Notifier::new(&path).ok();
    let mut seen = None;
    let mut last_error = None;
    loop {
        let now = identity(&path);
        if now != seen || now.is_none() {
            seen = now;
            match read_table(&path) {
                Ok(table) => {
                    if last_error.take().is_some() {
                        tracing::info!(path = %path.display(), "the routing table is good again");
                    }
                    let is_new = **tables.borrow() != table;
                    if is_new {
                        tables.send_replace(Arc::new(table));
                    }
                }
                Err(error) => log_once(&mut last_error, &error),
            }
        }
        tokio::select! {
            () = wait_for_change(&mut notifier) => {}
            () = tables.closed() => return,
        }
    }
}

fn log_once(last: &mut Option<String>, error: &TableFileError) {
    let text = common::causes::with_causes(error);
    if last.as_ref() != Some(&text) {
        tracing::error!("{text}: the last good table stays");
        *last = Some(text);
    }
}

/// What changes when the file is replaced or written.
fn identity(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}

/// Waits until the file may have changed.
async fn wait_for_change(notifier: &mut Option<Notifier>) {
    let Some(notifier) = notifier else { return tokio::time::sleep(LOOK_ALONE).await };
    // Late is as good as early: the caller looks at the file itself.
    if let Ok(Err(_)) = tokio::time::timeout(LOOK, notifier.wait_for_change()).await {
        tokio::time::sleep(LOOK_ALONE).await;
    }
}

/// Notifications of changes in the directory of the file: a file that is replaced is another one.
/// They are read like a pipe.
struct Notifier(pipe::Receiver);

impl Notifier {
    fn new(path: &Path) -> io::Result<Self> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let dir = parent.unwrap_or(Path::new("."));
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let events =
            AddWatchFlags::IN_MOVED_TO | AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_DELETE;
        inotify.add_watch(dir, events)?;
        pipe::Receiver::from_owned_fd_unchecked(OwnedFd::from(inotify)).map(Self)
    }

    async fn wait_for_change(&self) -> io::Result<()> {
        self.0.readable().await?;
        // What happened is seen in the file. Reads until nothing is left.
        while self.0.try_read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    fn table(version: u64) -> String {
        format!(r#"{{"version":{version},"services":[]}}"#)
    }

    async fn wait_for(tables: &mut watch::Receiver<Arc<Table>>, version: u64) {
        let arrives = tables.wait_for(|table| table.version == version);
        tokio::time::timeout(Duration::from_secs(10), arrives).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_table_follows_its_file_and_a_damaged_or_missing_one_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.json");
        let (sender, mut tables) = watch::channel(Arc::default());
        let follows = tokio::spawn(follow(path.clone(), sender));
        write(&path, &table(1));
        wait_for(&mut tables, 1).await;
        for bad in ["{", r#"{"version":9,"service":[]}"#, ""] {
            write(&path, bad);
            assert!(read_table(&path).is_err(), "{bad}");
        }
        write(&path, &table(2));
        wait_for(&mut tables, 2).await;
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(read_table(&path), Err(TableFileError::Read { .. })));
        write(&path, &table(3));
        wait_for(&mut tables, 3).await;
        drop(tables);
        tokio::time::timeout(Duration::from_secs(10), follows).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn without_notifications_the_file_is_polled() {
        let begin = std::time::Instant::now();
        wait_for_change(&mut None).await;
        assert!(begin.elapsed() >= LOOK_ALONE);
    }

    #[test]
    fn the_same_error_is_logged_once() {
        let mut last = None;
        let missing = read_table(Path::new("/nonexistent/table.json")).unwrap_err();
        log_once(&mut last, &missing);
        let first = last.clone().unwrap();
        assert!(first.contains("/nonexistent/table.json: No such file"), "{first}");
        log_once(&mut last, &missing);
        assert_eq!(last, Some(first));
    }
}
