//! Many connections of one user at once, that of whoever runs this. Never reads unless told to.

use anyhow::{Context as _, ensure};
use common::wire::api::JobList;
use e2e::Cluster;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Files that this process needs beside connections.
const FILES_BESIDE: u64 = 500;

pub struct Crowd {
    socket: PathBuf,
    files: usize,
}

/// What one was told.
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

    /// The first of it, head and all.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(1000)]).into_owned()
    }

    /// The whole of it, as a list of jobs.
    pub fn list(&self) -> anyhow::Result<JobList> {
        let head = self.bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        Ok(serde_json::from_slice(&self.bytes[head.context("no body")? + 4..])?)
    }
}

impl Crowd {
    /// Allows this process as many files as it may have.
    pub fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        let files = hard.min(1 << 20);
        setrlimit(Resource::RLIMIT_NOFILE, files, hard)?;
        ensure!(files > 2 * FILES_BESIDE, "{files} open files are too few for this");
        let files = usize::try_from(files - FILES_BESIDE)?;
        Ok(Self { socket: cluster.dir().join("kantctld.sock"), files })
    }

    /// So many, or as many as this process may have.
    pub fn connect(&mut self, count: usize) -> anyhow::Result<Vec<UnixStream>> {
        let connect = |_| Ok(UnixStream::connect(&self.socket)?);
        (0..count.min(self.files)).map(connect).collect()
    }

    /// So many that ask this; a head without its last line.
    pub fn ask(&mut self, count: usize, head: &str) -> anyhow::Result<Vec<UnixStream>> {
        let mut streams = self.connect(count)?;
        for stream in &mut streams {
            write!(stream, "{head}Host: kant\r\n\r\n")?;
        }
        Ok(streams)
    }

    /// What each was told, all of it; they read at the same time.
    pub fn read(&self, streams: Vec<UnixStream>) -> anyhow::Result<Vec<Answer>> {
        std::thread::scope(|scope| {
            let read = |mut stream: UnixStream| {
                let mut bytes = Vec::new();
                // One that was hung up on has what it was told before.
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

    /// Of those that asked for nothing: what those were told that were told anything.
    pub fn refused(&self, streams: &[UnixStream]) -> anyhow::Result<Vec<Answer>> {
        let mut told = Vec::new();
        for mut stream in streams {
            stream.set_nonblocking(true)?;
            let mut bytes = vec![0; 1000];
            if let Ok(length) = stream.read(&mut bytes) {
                bytes.truncate(length);
                told.push(Answer::new(bytes)?);
            }
        }
        Ok(told)
    }
}

/// What the controller's process holds of the memory.
pub fn memory_mib(cluster: &mut Cluster) -> anyhow::Result<u64> {
    let pid = cluster.controller()?.pid();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let mib = line.split_whitespace().nth(1).context("no VmRSS")?.parse::<u64>()? >> 10;
    println!("kantctld: {mib} MiB");
    Ok(mib)
}
