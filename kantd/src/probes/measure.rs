//! What is measured of replicas for autoscaling: their engines' metrics, and how busy their GPUs
//! are. A replica is measured as long as it is probed.

use super::attempt::Attempt;
use super::{Replica, engine};
use crate::accounting::OpenMeter;
use crate::gpu::meter::GpuMeter;
use common::autoscale::Fraction;
use common::id::AttemptId;
use common::job::Metrics;
use common::service::engine::{EngineLoad, ReplicaLoad};
use common::time::Span;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// The last measurement of each replica on this node.
pub type ReplicaLoads = BTreeMap<AttemptId, ReplicaLoad>;

/// The time between two measurements of a replica.
const PERIOD: Duration = Duration::from_secs(2);
/// The longest time that an engine has to answer.
const LIMIT: Duration = Duration::from_secs(2);
/// The largest answer that is read. vLLM reports about 100 kB.
const BYTES_MAX: usize = 1 << 20;
/// The most answers that are read at the same time.
const ANSWERS_MAX: usize = 4;

/// What all measurements of a node share. The driver's library is opened when it is first needed,
/// and only one thread at a time waits for it, since it may hang.
pub struct Measuring {
    meter: Arc<Mutex<Meter>>,
    /// Answers of engines that are read at the same time: a user's replicas may answer much.
    answers: Semaphore,
}

struct Meter {
    open: OpenMeter,
    opened: Option<Box<dyn GpuMeter>>,
}

impl std::fmt::Debug for Measuring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measuring").finish_non_exhaustive()
    }
}

impl Measuring {
    #[must_use]
    pub fn new(open: OpenMeter) -> Self {
        let meter = Arc::new(Mutex::new(Meter { open, opened: None }));
        Self { meter, answers: Semaphore::new(ANSWERS_MAX) }
    }

    /// The mean of these GPUs; `None` if the driver does not report one of them, or hangs.
    async fn mean(&self, uuids: Vec<String>) -> Option<Fraction> {
        let reading = async {
            // The thread keeps it while the driver hangs, so that no second one waits there.
            let mut meter = Arc::clone(&self.meter).lock_owned().await;
            spawn_blocking(move || meter.mean(&uuids)).await.ok()?
        };
        timeout(LIMIT, reading).await.ok()?
    }
}

impl Meter {
    fn mean(&mut self, uuids: &[String]) -> Option<Fraction> {
        if self.opened.is_none() {
            // Accounting logs why there is none.
            self.opened = (self.open)().ok();
        }
        let meter = self.opened.as_ref()?;
        let percent = |uuid: &String| meter.read(uuid)?.busy_percent.map(u64::from);
        let sum: u64 = uuids.iter().map(percent).sum::<Option<u64>>()?;
        let count = u64::try_from(uuids.len()).ok().filter(|count| *count > 0)?;
        Some(Fraction(sum * 10 / count))
    }
}

/// The time since the first measurement of this process.
fn since_begin() -> Span {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    let elapsed = BEGIN.get_or_init(Instant::now).elapsed();
    Span(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

impl Replica {
    /// Measures the replica until this is aborted.
    pub(super) async fn measure(&self, metrics: &Metrics) {
        loop {
            let load = ReplicaLoad {
                id: self.id,
                measured_at: since_begin(),
                engine: self.engine_load(metrics).await,
                gpu_usage: self.gpu_usage(metrics).await,
            };
            self.loads.send_modify(|all| _ = all.insert(self.id, load));
            sleep(PERIOD).await;
        }
    }

    async fn engine_load(&self, metrics: &Metrics) -> Option<EngineLoad> {
        let source = metrics.engine.as_ref()?;
        let attempt = Attempt { id: self.id, spec: &self.spec, steps: &self.steps };
        // The others wait their turn, and not within the limit.
        let _turn = self.shared.answers.acquire().await;
        let answer = attempt.get(&source.port, &source.path, Some(BYTES_MAX));
        match timeout(LIMIT, answer).await {
            Ok(Ok(body)) => Some(engine::read(&String::from_utf8_lossy(&body))),
            Ok(Err(failure)) => {
                tracing::debug!("no metrics of {}: {failure}", self.id);
                None
            }
            Err(_) => None,
        }
    }

    async fn gpu_usage(&self, metrics: &Metrics) -> Option<Fraction> {
        if !metrics.gpu_usage {
            return None;
        }
        self.shared.mean(self.spec.gpus.iter().map(|gpu| gpu.uuid.clone()).collect()).await
    }
}
