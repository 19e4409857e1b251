//! One probe of a replica: a request, a connection or a command.

use super::{request, tls};
use crate::step::{StepSpec, Steps};
use common::id::{AttemptId, PortName, TaskNumber, Uid};
use common::job::{ExitStatus, ProbeAction};
use common::time::Span;
use common::wire::node::{Manner, StartTask, TaskState, WatchTask};
use hyper::body::Bytes;
use std::io;
use std::net::Ipv4Addr;
use tokio::net::TcpStream;

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProbeFailure {
    #[error("failed to connect to port {port}: {source}")]
    Connect { port: u16, source: io::Error },
    #[error("port {port} is held by a program of another user (uid {uid})")]
    Stranger { port: u16, uid: Uid },
    #[error("failed to read /proc/net/tcp: {0}")]
    Sockets(io::Error),
    #[error("failed to agree on TLS on port {port}: {source}")]
    Tls { port: u16, source: io::Error },
    #[error("failed to get {path}: it is no path")]
    Path { path: String },
    #[error("failed to get {path}: {source}")]
    Request { path: String, source: hyper::Error },
    #[error("GET {path} answered {status}")]
    Status { path: String, status: u16 },
    #[error("the answer to GET {path} broke off, or has more than {body_max} bytes")]
    Body { path: String, body_max: usize },
    #[error("the replica has no port {0}")]
    NoPort(PortName),
    #[error("the command ended with {}", exit_words(*.0))]
    Exit(ExitStatus),
    #[error("the command did not start: {0}")]
    Command(String),
    #[error("no answer within {} s", seconds(*.limit))]
    TooSlow { limit: Span },
}

fn exit_words(exit: ExitStatus) -> String {
    exit.signal
        .map_or_else(|| format!("exit code {}", exit.code), |signal| format!("signal {signal}"))
}

/// Timeouts may be shorter than a second.
fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1000.0
}

/// A probe of one replica.
pub(super) struct Attempt<'a> {
    pub id: AttemptId,
    pub spec: &'a StepSpec,
    pub steps: &'a Steps,
}

impl Attempt<'_> {
    /// Makes the probe. The caller limits its time.
    pub async fn perform(&self, action: &ProbeAction) -> Result<(), ProbeFailure> {
        match action {
            ProbeAction::Tcp { port } => self.connect(port).await.map(drop),
            ProbeAction::Http { port, path } => self.get(port, path, None).await.map(drop),
            ProbeAction::Https { port, path } => self.get_with_tls(port, path).await,
            ProbeAction::Command { line } => self.run(line).await,
        }
    }

    fn port_number(&self, port: &PortName) -> Result<u16, ProbeFailure> {
        let grant = self.spec.ports.iter().find(|grant| grant.name == *port);
        grant.map(|grant| grant.number).ok_or_else(|| ProbeFailure::NoPort(port.clone()))
    }

    /// Connects on loopback, or, for a program that listens on one address only, to the address of
    /// the node.
    async fn connect(&self, port: &PortName) -> Result<TcpStream, ProbeFailure> {
        let port = self.port_number(port)?;
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
            Ok(stream) => Ok(stream),
            Err(source) => {
                let own = self.spec.launch.addresses.first().map_or("", String::as_str);
                let failed = |_| ProbeFailure::Connect { port, source };
                TcpStream::connect((own, port)).await.map_err(failed)
            }
        }
    }

    /// Gets a path, and its body if that is of interest, up to this size.
    pub async fn get(
        &self,
        port: &PortName,
        path: &str,
        body_max: Option<usize>,
    ) -> Result<Bytes, ProbeFailure> {
        request::get(self.connect(port).await?, path, body_max).await
    }

    async fn get_with_tls(&self, port: &PortName, path: &str) -> Result<(), ProbeFailure> {
        let number = self.port_number(port)?;
        let failed = |source| ProbeFailure::Tls { port: number, source };
        let stream = tls::connect(self.connect(port).await?).await.map_err(failed)?;
        request::get(stream, path, None).await.map(drop)
    }

    /// Runs a command in the replica, as its user and within its limits.
    async fn run(&self, line: &str) -> Result<(), ProbeFailure> {
        let (id, task) = (self.id, TaskNumber(fastrand::u64(..)));
        let launch = &self.spec.launch;
        let start = StartTask {
            question: 0,
            id,
            task,
            program: ["/bin/sh", "-c", line].map(str::to_owned).to_vec(),
            environment: launch.environment.clone(),
            work_dir: launch.work_dir.clone(),
            manner: Manner::default(),
        };
        let mut state = self.steps.start_task(start).await.state;
        while state == TaskState::Running {
            let watch = WatchTask {
                question: 0,
                id,
                task,
                // Its output is of no interest.
                stdout_from: u64::MAX,
                stderr_from: u64::MAX,
                wait: Span::from_seconds(10),
                lease: None,
            };
            state = self.steps.watch_task(watch).await.state;
        }
        match state {
            TaskState::Ended(exit) if exit.is_success() => Ok(()),
            TaskState::Ended(exit) => Err(ProbeFailure::Exit(exit)),
            TaskState::Failed(why) => Err(ProbeFailure::Command(why)),
            TaskState::Running => Err(ProbeFailure::Command("it runs on".to_owned())),
        }
    }
}
