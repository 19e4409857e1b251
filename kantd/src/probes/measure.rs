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
use common::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// The last measurement of each replica on this node.
pub type ReplicaLoads = BTreeMap<AttemptId, ReplicaLoad>;

/// The time between two measurements of a replica.
const PERIOD: Duration = Duration::from_secs(2);
/// The longest time that an engine has to answer.
const LIMIT: Duration = Duration::from_secs(2);
/// The largest answer that is read. vLLM reports about 100 kB.
const BYTES_MAX: usize = 4 << 20;

/// Reads how busy GPUs are. The driver's library is opened when it is first needed, and only one
/// thread at a time waits for it, since it may hang.
pub struct GpuUsage {
    open: Mutex<OpenMeter>,
    meter: Mutex<Option<Box<dyn GpuMeter>>>,
}

impl std::fmt::Debug for GpuUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuUsage").finish_non_exhaustive()
    }
}

impl GpuUsage {
    #[must_use]
    pub const fn new(open: OpenMeter) -> Self {
        Self { open: Mutex::new(open), meter: Mutex::new(None) }
    }

    /// The mean of these GPUs; `None` if the driver does not report one of them.
    fn mean(&self, uuids: &[String]) -> Option<Fraction> {
        let mut meter = self.meter.try_lock()?;
        if meter.is_none() {
            // Accounting logs why there is none.
            *meter = (self.open.lock())().ok();
        }
        let meter = meter.as_ref()?;
        let percent = |uuid: &String| meter.read(uuid)?.busy_percent.map(u64::from);
        let sum: u64 = uuids.iter().map(percent).sum::<Option<u64>>()?;
        let count = u64::try_from(uuids.len()).ok().filter(|count| *count > 0)?;
        Some(Fraction(sum * 10 / count))
    }
}

impl Replica {
    /// Measures the replica until this is aborted.
    pub(super) async fn measure(&self, metrics: &Metrics) {
        for number in 1.. {
            let load = ReplicaLoad {
                id: self.id,
                number,
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
        let uuids: Vec<String> = self.spec.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        let gpus = Arc::clone(&self.gpus);
        let reading = spawn_blocking(move || gpus.mean(&uuids));
        timeout(LIMIT, reading).await.ok()?.ok()?
    }
}
