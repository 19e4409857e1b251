//! Many concurrent connections of the current user, which read only on request.

use anyhow::{Context as _, ensure};
use common::wire::api::JobList;
use e2e::Cluster;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// The number of files that this process needs in addition to connections.
const FILES_BESIDE: u64 = 500;

pub struct Connections {
    socket: PathBuf,
    files: usize,
}

/// The answer on one connection.
pub struct Answer {
    pub status: u16,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text())
    }
}

impl Answer {
    fn new(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok(Self { status: status.with_context(|| format!("no answer: {text}"))?, bytes })
    }

    /// The beginning of the answer, including the head.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(1000)]).into_owned()
    }

    /// The whole answer as a list of jobs.
    pub fn list(&self) -> anyhow::Result<JobList> {
        let head = self.bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        Ok(serde_json::from_slice(&self.bytes[head.context("no body")? + 4..])?)
    }
}

impl Connections {
    /// Raises this process's limit of open files to the maximum.
    pub fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        let files = hard.min(1 << 20);
        setrlimit(Resource::RLIMIT_NOFILE, files, hard)?;
        ensure!(files > 2 * FILES_BESIDE, "{files} open files are too few for this");
        let files = usize::try_from(files - FILES_BESIDE)?;
        Ok(Self { socket: cluster.dir().join("kantctld.sock"), files })
    }

    /// Opens N connections, or as many as this process may have.
    pub fn connect(&mut self, count: usize) -> anyhow::Result<Vec<UnixStream>> {
        let connect = |_| Ok(UnixStream::connect(&self.socket)?);
        (0..count.min(self.files)).map(connect).collect()
    }

    /// Opens N connections that send this request head, given without its last line.
    pub fn ask(&mut self, count: usize, head: &str) -> anyhow::Result<Vec<UnixStream>> {
        let mut streams = self.connect(count)?;
        for stream in &mut streams {
            write!(stream, "{head}Host: kant\r\n\r\n")?;
        }
        Ok(streams)
    }

    /// Reads all answers concurrently.
    pub fn read(&self, streams: Vec<UnixStream>) -> anyhow::Result<Vec<Answer>> {
        std::thread::scope(|scope| {
            let read = |mut stream: UnixStream| {
                let mut bytes = Vec::new();
                // A closed connection may have an answer from before.
                let hung_up = stream.read_to_end(&mut bytes);
                Answer::new(bytes).with_context(|| format!("{hung_up:?}"))
            };
            let threads: Vec<_> =
                streams.into_iter().map(|stream| scope.spawn(move || read(stream))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().ok().context("a reader panicked")?
            };
            threads.into_iter().map(join).collect()
        })
    }

    /// The answers on connections without a request, where there are any.
    pub fn refused(&self, streams: &[UnixStream]) -> anyhow::Result<Vec<Answer>> {
        let mut received = Vec::new();
        for mut stream in streams {
            stream.set_nonblocking(true)?;
            let mut bytes = vec![0; 1000];
            if let Ok(length) = stream.read(&mut bytes) {
                bytes.truncate(length);
                received.push(Answer::new(bytes)?);
            }
        }
        Ok(received)
    }
}

/// The memory of the controller's process.
pub fn memory_mib(cluster: &mut Cluster) -> anyhow::Result<u64> {
    let pid = cluster.controller()?.pid();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let mib = line.split_whitespace().nth(1).context("no VmRSS")?.parse::<u64>()? >> 10;
    println!("kantctld: {mib} MiB");
    Ok(mib)
}
