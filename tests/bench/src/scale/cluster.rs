//! A controller, an emulator, and a client that sends requests without a pause. All processes end
//! with the value.

use super::batch;
use crate::node::{cpu_time, rss_mib};
use anyhow::{Context as _, bail, ensure};
use common::config::ControllerConfig;
use common::id::{JobId, RequestKey};
use common::job::Ask;
use common::wire::api::{
    BatchAnswer, BatchOutcome, BatchRequest, DeployAnswer, DeployRequest, JobList, JobView, Looked,
    MetricsView, ScaleRequest, ServiceList, Status, SubmitAnswer, SubmitRequest,
};
use e2e::{Cluster, ClusterOptions, Daemon};
use net::{Client, Endpoint};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Time between two checks for an expected state.
const LOOK: Duration = Duration::from_millis(20);
/// The cluster is full after this time without a start.
const FULL_AFTER: Duration = Duration::from_secs(3);
/// Time limit of each wait.
const LIMIT: Duration = Duration::from_secs(600);

pub struct TestCluster {
    /// Ends when this value is dropped.
    _cluster: Cluster,
    controller_pid: u32,
    emulator: Daemon,
    socket: PathBuf,
    runtime: Runtime,
    client: Client,
    submits: std::cell::Cell<usize>,
}

/// The result of filling the cluster.
pub struct Filled {
    pub started: usize,
    pub took: Duration,
    pub percent: f64,
}

/// A client that reads the controller's status continuously.
pub struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<Duration>>,
}

impl Probe {
    /// Stops it, and returns its longest wait for an answer.
    pub fn stop(self) -> anyhow::Result<Duration> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok().context("the probe panicked")?
    }
}

fn log_as_in_production(config: &mut ControllerConfig) {
    config.allow_root_jobs = true;
    config.log = "warn".to_owned();
    config.emulated = true;
}

fn connect_client(socket: &Path) -> Client {
    Client::new(Endpoint::Unix(socket.to_owned())).with_answer_limit(Some(LIMIT))
}

impl TestCluster {
    /// Starts everything, and waits until all nodes are in contact.
    pub fn start(nodes: u32) -> anyhow::Result<Self> {
        let controller: Option<fn(&mut ControllerConfig)> = Some(log_as_in_production);
        let mut cluster =
            Cluster::start(ClusterOptions { controller, ..ClusterOptions::default() })?;
        let emulator = cluster.emulate(&["--nodes", &nodes.to_string()])?;
        let socket = cluster.dir().join("kantctld.sock");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (client, submits) = (connect_client(&socket), std::cell::Cell::new(0));
        let controller_pid = cluster.controller()?.pid();
        let cluster =
            Self { _cluster: cluster, controller_pid, emulator, socket, runtime, client, submits };
        cluster.until("all nodes", |status| status.nodes_connected == nodes)?;
        Ok(cluster)
    }

    pub fn status(&self) -> anyhow::Result<Status> {
        Ok(self.runtime.block_on(self.client.get("/v1/status"))?)
    }

    fn until(&self, what: &str, is_so: impl Fn(&Status) -> bool) -> anyhow::Result<()> {
        let begin = Instant::now();
        while !is_so(&self.status()?) {
            if begin.elapsed() > LIMIT {
                bail!(
                    "waited without success for {what}: {:?}\n{}",
                    self.status()?,
                    self.emulator.log()
                );
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The resident memory of the controller's process, in MiB.
    pub fn controller_mib(&self) -> anyhow::Result<f64> {
        rss_mib(self.controller_pid)
    }

    /// CPU seconds used by the controller and by the emulator.
    pub fn cpu(&self) -> anyhow::Result<(f64, f64)> {
        let seconds = |pid| anyhow::Ok(cpu_time(pid)?.as_secs_f64());
        Ok((seconds(self.controller_pid)?, seconds(self.emulator.pid())?))
    }

    /// Time from a submission until the job has started, on an idle cluster.
    pub fn start_one(&self) -> anyhow::Result<Duration> {
        self.submits.set(self.submits.get() + 1);
        let request = SubmitRequest {
            request_key: RequestKey(format!("one-{}", self.submits.get())),
            ask: batch::ask(1, 1),
            script: "#!/bin/sh\ntrue\n".to_owned(),
            environment: BTreeMap::new(),
        };
        let running = self.status()?.jobs_running;
        let begin = Instant::now();
        let took = self.runtime.block_on(async {
            let answer: SubmitAnswer = self.client.post("/v1/jobs", &request).await?;
            let path = format!("/v1/jobs/{}/wait?seconds=30&until=started", answer.job);
            let list: JobList = self.client.get(&path).await?;
            let started = list.jobs.iter().all(|job| job.started_at.is_some());
            ensure!(started, "job {} does not start", answer.job);
            anyhow::Ok(begin.elapsed())
        })?;
        self.until("one job", |status| status.jobs_running <= running)?;
        Ok(took)
    }

    /// Time from the submission of a held job to its answer.
    pub fn submit_held(&self) -> anyhow::Result<Duration> {
        self.submits.set(self.submits.get() + 1);
        let request = held_job(&format!("held-{}", self.submits.get()));
        let begin = Instant::now();
        let _: SubmitAnswer = self.runtime.block_on(self.client.post("/v1/jobs", &request))?;
        Ok(begin.elapsed())
    }

    pub fn deploy(&self, request: &DeployRequest) -> anyhow::Result<()> {
        let _: DeployAnswer = self.runtime.block_on(self.client.post("/v1/services", request))?;
        Ok(())
    }

    /// Sets the number of replicas of a service of one role.
    pub fn scale(&self, service: &str, replicas: u32) -> anyhow::Result<()> {
        let request = ScaleRequest { role: None, replicas };
        let path = format!("/v1/services/{service}/scale");
        let _: ServiceList = self.runtime.block_on(self.client.post(&path, &request))?;
        Ok(())
    }

    /// Waits until at least `count` jobs run.
    pub fn until_running(&self, count: usize) -> anyhow::Result<()> {
        self.until("the start of all jobs", |status| status.jobs_running as usize >= count)
    }

    /// Another client, with a connection of its own.
    pub fn another(&self) -> anyhow::Result<Another> {
        self.submits.set(self.submits.get() + 1);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (client, name) =
            (connect_client(&self.socket), format!("another-{}", self.submits.get()));
        Ok(Another { runtime, client, name })
    }

    /// Time to read the 100 jobs that were submitted last from accounting.
    pub fn history(&self) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let path = "/v1/history?limit=100";
        let page: serde_json::Value = self.runtime.block_on(self.client.get(path))?;
        let took = begin.elapsed();
        ensure!(!page["runs"].as_array().is_none_or(Vec::is_empty), "no jobs are remembered");
        Ok(took)
    }

    /// Submits all requests, and waits until all jobs have ended. Returns the total time, and the
    /// time to the last acknowledgement.
    pub fn through(&self, requests: &[BatchRequest]) -> anyhow::Result<(Duration, Duration)> {
        let begin = Instant::now();
        self.submit(requests)?;
        let accepted = begin.elapsed();
        self.until("the end of all jobs", |s| s.jobs_pending == 0 && s.jobs_running == 0)?;
        Ok((begin.elapsed(), accepted))
    }

    /// Submits all requests, and waits until no more jobs start.
    pub fn fill(&self, requests: &[BatchRequest]) -> anyhow::Result<Filled> {
        let begin = Instant::now();
        self.submit(requests)?;
        let (mut running, mut last) = (0, begin.elapsed());
        while begin.elapsed() - last < FULL_AFTER {
            let now = self.status()?.jobs_running;
            if now > running {
                (running, last) = (now, begin.elapsed());
            }
            std::thread::sleep(LOOK);
        }
        let metrics: MetricsView = self.runtime.block_on(self.client.get("/v1/metrics"))?;
        Ok(Filled { started: running as usize, took: last, percent: metrics.gar * 100.0 })
    }

    pub fn submit(&self, requests: &[BatchRequest]) -> anyhow::Result<Vec<JobId>> {
        let mut jobs = Vec::new();
        for request in requests {
            let asked = self.client.post("/v1/jobs/batch", request);
            let answer: BatchAnswer = self.runtime.block_on(asked)?;
            for outcome in answer.jobs {
                match outcome {
                    BatchOutcome::Accepted(answer) => jobs.push(answer.job),
                    BatchOutcome::Refused { message, .. } => bail!("a job was refused: {message}"),
                }
            }
        }
        Ok(jobs)
    }

    /// Time to list all unfinished jobs, line by line as tables do if `brief`, else as one answer.
    pub fn list(&self, brief: bool) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let jobs = match brief {
            true => {
                let start = |_: Looked| Vec::new();
                let add = |jobs: &mut Vec<JobView>, job| jobs.push(job);
                let asked = self.client.get_lines("/v1/jobs?lines=true", start, add);
                self.runtime.block_on(asked)
            }
            false => {
                let asked = self.client.get("/v1/jobs");
                self.runtime.block_on(asked).map(|list: JobList| list.jobs)
            }
        }?;
        let took = begin.elapsed();
        ensure!(!jobs.is_empty(), "no jobs are listed");
        Ok(took)
    }

    /// Starts another client, which sends requests from now on.
    pub fn probe(&self) -> Probe {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, client) = (stop.clone(), connect_client(&self.socket));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let mut worst = Duration::ZERO;
            while !stopped.load(Ordering::Relaxed) {
                let begin = Instant::now();
                let _: Status = runtime.block_on(client.get("/v1/status"))?;
                worst = worst.max(begin.elapsed());
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(worst)
        });
        Probe { stop, thread }
    }
}

/// A further client with its own connection.
pub struct Another {
    runtime: Runtime,
    client: Client,
    name: String,
}

impl Another {
    /// Submits `count` held jobs one after the other. Returns the time of the slowest.
    pub fn submit_held(&mut self, count: usize) -> anyhow::Result<Duration> {
        let mut longest = Duration::ZERO;
        for number in 0..count {
            let request = held_job(&format!("{}-{number}", self.name));
            let begin = Instant::now();
            let _: SubmitAnswer = self.runtime.block_on(self.client.post("/v1/jobs", &request))?;
            longest = longest.max(begin.elapsed());
        }
        Ok(longest)
    }
}

fn held_job(key: &str) -> SubmitRequest {
    SubmitRequest {
        request_key: RequestKey(key.to_owned()),
        ask: Ask { hold: true, ..batch::ask(1, 1) },
        script: "#!/bin/sh\ntrue\n".to_owned(),
        environment: BTreeMap::new(),
    }
}
