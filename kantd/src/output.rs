//! Answers the controller's questions for pieces of a job's output: reads the file as the job's
//! owner, so that nobody sees through kantd what he could not see by himself.
//!
//! Never follows a job to its end by itself: the controller asks again. Growth is looked for by
//! reading, not by inotify, which is silent about files on NFS.

mod open;

use crate::logging::with_causes;
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

/// No answer is larger.
const BYTES_MAX: usize = 1 << 20;
/// No question waits longer.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often a file is looked at while it does not grow.
const LOOK_PERIOD: Duration = Duration::from_millis(75);
/// A file system that takes longer is taken for hung.
const DISK_LIMIT: Duration = Duration::from_secs(20);
/// Threads that may hang in file systems at once, in all.
const THREADS_MAX: usize = 32;

/// Reads job output on this node.
#[derive(Debug, Clone)]
pub struct OutputReader {
    /// There is nothing to read, and files of that name are somebody else's.
    emulated: bool,
    allow_root: bool,
    board: watch::Receiver<Observed>,
    threads: Arc<Semaphore>,
}

/// Why output could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// No job ever ran here.
    #[error("failed to read output: this node is emulated, and no process of a job runs here")]
    Emulated,
    /// The path depends on where kantd stands.
    #[error("failed to read output {0}: the path is not absolute")]
    NotAbsolute(String),
    /// A job of root, where none may run.
    #[error("failed to read output as root: this node runs no jobs of root")]
    Root,
    /// The owner cannot be impersonated.
    #[error("failed to read output as uid {0}: kantd does not run as root on this node")]
    NotAllowed(Uid),
    /// A directory, a device, a pipe, or a file of the kernel.
    #[error("failed to read output {}: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The owner's own rights, or the disk, do not allow it.
    #[error("failed to read output {} as its owner", path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file system hangs.
    #[error("failed to read output {}: the file system does not answer", .0.display())]
    Hung(PathBuf),
}

impl OutputReader {
    /// `board` says which steps still live, and may write more.
    #[must_use]
    pub fn new(allow_root: bool, board: watch::Receiver<Observed>) -> Self {
        Self { emulated: false, allow_root, board, threads: Arc::new(Semaphore::new(THREADS_MAX)) }
    }

    /// The same on a node whose steps are made up, perhaps: then it reads nothing.
    #[must_use]
    pub fn emulated(self, emulated: bool) -> Self {
        Self { emulated, ..self }
    }

    /// The answer to a question; an error is an answer too.
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

    /// At least one byte from the offset on; none once the time is up or the step is over.
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
            // Looked up before reading, so that a step's last words are never missed.
            let lives = self.lives(question.id);
            if file.is_none() {
                file = self.open(&question, lives).await?.map(Arc::new);
            }
            let bytes = match &file {
                None => Vec::new(),
                Some(file) => self.read_at(file, &question).await?,
            };
            if !bytes.is_empty() || !lives || Instant::now() >= deadline {
                return Ok(bytes);
            }
            sleep(LOOK_PERIOD).await;
        }
    }

    fn lives(&self, id: AttemptId) -> bool {
        self.board.borrow().is_living(id)
    }

    /// `None`: not there yet, and the step may still make it.
    async fn open(&self, question: &ReadOutput, lives: bool) -> Result<Option<File>, OutputError> {
        let path = PathBuf::from(&question.path);
        let owner = question.owner.clone();
        let opened = self.on_thread(&path, {
            let path = path.clone();
            move || open::open_as(&owner, &path)
        });
        match opened.await? {
            Ok(file) => Ok(Some(file)),
            Err(open::OpenError::Missing(_)) if lives => Ok(None),
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

    /// Runs what may hang on a thread of its own that ends afterwards. A thread, not the runtime's
    /// pool: the pool's would go on with whatever identity it was left with.
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
