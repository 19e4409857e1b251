//! A client in this process that asks controllers in turn without pauses, so that its waiting time
//! is the controllers' outage.

use crate::wait::DEADLINE;
use anyhow::{Context as _, bail, ensure};
use common::id::{JobId, RequestKey};
use common::job::Ask;
use common::resource::{MemoryRequest, Request};
use common::unit::Bytes;
use common::wire::api::{Changed, JobList, SubmitAnswer, SubmitRequest};
use net::{Client, ClientError, Endpoint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The time after which the client tries another controller.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

pub struct Probe {
    runtime: Runtime,
    clients: Vec<Client>,
    /// The controller that answered last, which is asked first.
    turn: usize,
    name: String,
    dir: String,
    script: String,
    submits: usize,
    /// A change to each job request.
    change: fn(&mut Ask),
}

impl Probe {
    /// A client of the controllers on these sockets. Its jobs run `script` in `dir`; `name` is part
    /// of its request keys.
    ///
    /// # Errors
    /// When a client cannot be made.
    pub fn new(name: &str, sockets: &[PathBuf], dir: &Path, script: &str) -> anyhow::Result<Self> {
        let client = |path: &PathBuf| {
            Client::new(Endpoint::Unix(path.clone()))
                .with_connect_limit(ANSWER_LIMIT)
                .with_answer_limit(Some(ANSWER_LIMIT))
        };
        Ok(Self {
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            clients: sockets.iter().map(client).collect(),
            turn: 0,
            name: name.to_owned(),
            dir: dir.display().to_string(),
            script: script.to_owned(),
            submits: 0,
            change: |_| {},
        })
    }

    /// Applies a change to the client's job requests.
    #[must_use]
    pub fn asking(self, change: fn(&mut Ask)) -> Self {
        Self { change, ..self }
    }

    /// Submits a job with one request key until a controller acknowledges it.
    ///
    /// # Errors
    /// When it is refused, or not acknowledged within [`DEADLINE`].
    pub fn submit(&mut self) -> anyhow::Result<JobId> {
        self.submits += 1;
        let request = self.request()?;
        let asked = async |client: &Client| client.post("/v1/jobs", &request).await;
        let answer: SubmitAnswer = self.insist(asked)?;
        Ok(answer.job)
    }

    /// Cancels a job that this client submitted.
    ///
    /// # Errors
    /// A refusal, or no acknowledgement within [`DEADLINE`].
    pub fn cancel(&mut self, job: JobId) -> anyhow::Result<()> {
        let path = format!("/v1/jobs/{job}/cancel");
        let answer: Changed = self.insist(async |client: &Client| client.post(&path, &()).await)?;
        ensure!(answer.jobs.len() == 1, "job {job} is not cancelled");
        Ok(())
    }

    /// Asks without pauses until a controller shows a job.
    ///
    /// # Errors
    /// When a request is refused, or no controller shows the job within [`DEADLINE`].
    pub fn read(&mut self, job: JobId) -> anyhow::Result<()> {
        let path = format!("/v1/jobs/{job}");
        let list: JobList = self.insist(async |client: &Client| client.get(&path).await)?;
        ensure!(list.jobs.len() == 1, "job {job} is not shown");
        Ok(())
    }

    /// Asks one controller after the other until one answers.
    fn insist<A>(
        &mut self,
        ask: impl AsyncFn(&Client) -> Result<A, ClientError>,
    ) -> anyhow::Result<A> {
        let since = Instant::now();
        loop {
            let error = match self.runtime.block_on(ask(&self.clients[self.turn])) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            ensure!(is_silence(&error), "a request was refused: {error}");
            if since.elapsed() > DEADLINE {
                bail!("no controller answers; the last error is: {error}");
            }
            self.turn = (self.turn + 1) % self.clients.len();
            std::thread::sleep(PAUSE);
        }
    }

    /// Repeats the last submission at another controller: the same key must give the same job.
    ///
    /// # Errors
    /// When it gives another job.
    pub fn submit_again(&mut self, job: JobId) -> anyhow::Result<()> {
        let request = self.request()?;
        self.turn = (self.turn + 1) % self.clients.len();
        let asked = self.clients[self.turn].post::<_, SubmitAnswer>("/v1/jobs", &request);
        match self.runtime.block_on(asked) {
            Ok(answer) => {
                ensure!(answer.job == job, "{job} was submitted again as job {}", answer.job)
            }
            Err(error) => ensure!(is_silence(&error), "a repeated submit was refused: {error}"),
        }
        Ok(())
    }

    /// Asks another controller for an acknowledged job, which an answer must show.
    ///
    /// # Errors
    /// When it does not.
    pub fn look(&mut self, job: JobId) -> anyhow::Result<()> {
        self.turn = (self.turn + 1) % self.clients.len();
        let client = &self.clients[self.turn];
        let path = format!("/v1/jobs/{job}");
        let asked = client.get::<JobList>(&path);
        match self.runtime.block_on(asked) {
            Ok(list) => ensure!(list.jobs.len() == 1, "job {job} is not shown"),
            Err(error) => {
                ensure!(is_silence(&error), "{}: job {job} is gone: {error}", client.endpoint());
            }
        }
        Ok(())
    }

    fn request(&self) -> anyhow::Result<SubmitRequest> {
        let memory = Some(MemoryRequest::PerNode(Bytes(16 << 20)));
        let request = Request { memory, ..Request::default() };
        let mut ask = Ask {
            work_dir: self.dir.clone(),
            stdout: Some("/dev/null".to_owned()),
            request,
            ..Ask::default()
        };
        (self.change)(&mut ask);
        let path = std::env::var("PATH").context("no PATH")?;
        Ok(SubmitRequest {
            request_key: RequestKey(format!("{}-{}", self.name, self.submits)),
            ask,
            script: self.script.clone(),
            environment: BTreeMap::from([("PATH".to_owned(), path)]),
        })
    }
}

/// Whether the error is a missing or temporary answer, after which the request is repeated.
fn is_silence(error: &ClientError) -> bool {
    match error {
        ClientError::Refused { status, .. } => (502..=504).contains(status),
        ClientError::Unreachable { .. }
        | ClientError::TimedOut { .. }
        | ClientError::Interrupted { .. } => true,
        ClientError::Broken { .. } | ClientError::Unaskable { .. } => false,
    }
}
