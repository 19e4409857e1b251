//! Answers to the controller's requests for pieces of a job's output. The file is read as the job's
//! owner, so that kantd gives access to no more than the owner has.
//!
//! The controller repeats requests to follow a job. Growth is detected by reading, because inotify
//! does not report changes by other hosts on NFS.

mod open_as;

use common::causes::with_causes;
use common::id::{AttemptId, Uid};
use common::wire::node::{OutputChunk, ReadOutput};
use node::Observed;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep, timeout};

/// The largest answer.
const BYTES_MAX: usize = 1 << 20;
/// The longest time that a request waits.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Interval of reads while a file does not grow.
const POLL_PERIOD: Duration = Duration::from_millis(75);
/// A file system that takes longer counts as hung.
const DISK_LIMIT: Duration = Duration::from_secs(20);
/// Number of threads that may hang in file systems at the same time.
const THREADS_MAX: usize = 32;

#[derive(Debug, Clone)]
pub struct OutputReader {
    /// The node is emulated: there is no output, and files of that name belong to others.
    emulated: bool,
    allow_root: bool,
    observed: watch::Receiver<Observed>,
    threads: Arc<Semaphore>,
}

/// Output that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("failed to read output: this node is emulated, and no process of a job runs here")]
    Emulated,
    /// The path depends on kantd's working directory.
    #[error("failed to read output {0}: the path is not absolute")]
    NotAbsolute(String),
    #[error("failed to read output as root: this node runs no jobs of root")]
    Root,
    #[error("failed to read output as uid {0}: kantd does not run as root on this node")]
    NotAllowed(Uid),
    /// A directory, a device, a pipe, or a file of /proc.
    #[error("failed to read output {}: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    #[error("failed to read output {} as its owner", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("failed to read output {}: the file system does not answer", .0.display())]
    Hung(PathBuf),
}

impl OutputReader {
    /// `observed` has the steps that still live, and may write more.
    #[must_use]
    pub fn new(allow_root: bool, observed: watch::Receiver<Observed>) -> Self {
        Self {
            emulated: false,
            allow_root,
            observed,
            threads: Arc::new(Semaphore::new(THREADS_MAX)),
        }
    }

    /// Sets whether the node is emulated; then nothing is read.
    #[must_use]
    pub fn with_emulated(self, emulated: bool) -> Self {
        Self { emulated, ..self }
    }

    /// The answer to a request, which may be an error.
    pub async fn answer(&self, question: ReadOutput) -> OutputChunk {
        let number = question.question;
        match self.read(question).await {
            Ok(bytes) => OutputChunk { question: number, bytes, error: None },
            Err(error) => OutputChunk {
                question: number,
                bytes: Vec::new(),
                error: Some(with_causes(&error)),
            },
        }
    }

    /// At least one byte from the offset on; none when the time is up or the step has ended.
    async fn read(&self, question: ReadOutput) -> Result<Vec<u8>, OutputError> {
        if self.emulated {
            return Err(OutputError::Emulated);
        }
        if !question.path.starts_with('/') {
            return Err(OutputError::NotAbsolute(question.path));
        }
        if question.owner.uid == Uid(0) && !self.allow_root {
            return Err(OutputError::Root);
        }
        let deadline = Instant::now() + Duration::from_millis(question.wait.0).min(WAIT_MAX);
        let mut file = None;
        loop {
            // Looked up before reading, so that a step's last output is not missed.
            let is_alive = self.is_alive(question.id);
            if file.is_none() {
                file = self.open(&question, is_alive).await?.map(Arc::new);
            }
            let bytes = match &file {
                None => Vec::new(),
                Some(file) => self.read_at(file, &question).await?,
            };
            if !bytes.is_empty() || !is_alive || Instant::now() >= deadline {
                return Ok(bytes);
            }
            sleep(POLL_PERIOD).await;
        }
    }

    fn is_alive(&self, id: AttemptId) -> bool {
        self.observed.borrow().is_alive(id)
    }

    /// Opens the file; `None` if it does not exist yet and the step may still make it.
    async fn open(
        &self,
        question: &ReadOutput,
        is_alive: bool,
    ) -> Result<Option<File>, OutputError> {
        let path = PathBuf::from(&question.path);
        let owner = question.owner.clone();
        let opened = self.on_thread(&path, {
            let path = path.clone();
            move || open_as::open_as(&owner, &path)
        });
        match opened.await? {
            Ok(file) => Ok(Some(file)),
            Err(open_as::OpenError::Missing(_)) if is_alive => Ok(None),
            Err(error) => Err(error.into_output_error(path)),
        }
    }

    async fn read_at(
        &self,
        file: &Arc<File>,
        question: &ReadOutput,
    ) -> Result<Vec<u8>, OutputError> {
        let path = PathBuf::from(&question.path);
        let file = Arc::clone(file);
        let offset = question.offset;
        let most = usize::try_from(question.bytes_max).unwrap_or(BYTES_MAX).min(BYTES_MAX);
        let read = self.on_thread(&path, move || {
            let mut bytes = vec![0; most];
            let got = file.read_at(&mut bytes, offset)?;
            bytes.truncate(got);
            Ok(bytes)
        });
        read.await?.map_err(|source| OutputError::Read { path, source })
    }

    /// Runs work that may hang on its own thread, which ends afterwards. Not on the runtime's pool,
    /// whose threads would keep the user's identity.
    async fn on_thread<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, OutputError> {
        let hung = || OutputError::Hung(path.to_owned());
        let permit = Arc::clone(&self.threads).acquire_owned();
        let permit = timeout(DISK_LIMIT, permit).await.map_err(|_| hung())?;
        let (answer, answered) = tokio::sync::oneshot::channel();
        std::thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                let _ = answer.send(work());
                drop(permit);
            })
            .map_err(|source| OutputError::Read { path: path.to_owned(), source })?;
        let answered = timeout(DISK_LIMIT, answered).await.map_err(|_| hung())?;
        answered.map_err(|_| hung())
    }
}
