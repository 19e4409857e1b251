//! Probes of replicas of services: each running replica whose first node this is has a task that
//! probes and measures it, publishes what it finds, and ends a replica that is not live. A
//! suspended replica is not probed.

mod attempt;
mod engine;
mod listener;
mod measure;
mod request;
mod tls;

use crate::step::{LivenessFailure, StepSpec, Steps};
use attempt::{Attempt, ProbeFailure};
use common::id::AttemptId;
use common::job::{Probe, ReplicaHealth, ReplicaStatus};
use common::time::Span;
use common::wire::node::StepPhase;
#[doc(hidden)]
pub use engine::read as read_metrics;
pub use measure::{Measuring, ReplicaLoads};
use node::Observed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

/// The state of each replica on this node.
pub type ReplicaStatuses = BTreeMap<AttemptId, ReplicaStatus>;

/// The longest text of a failure that is reported, in characters.
const WHY_CHARS_MAX: usize = 200;

/// Probes the replicas of a node.
#[derive(Debug)]
pub struct Prober {
    steps: Steps,
    published: Arc<watch::Sender<ReplicaStatuses>>,
    loads: Arc<watch::Sender<ReplicaLoads>>,
    shared: Arc<Measuring>,
    tasks: JoinSet<()>,
    probed: BTreeMap<AttemptId, AbortHandle>,
}

impl Prober {
    #[must_use]
    pub fn new(
        steps: Steps,
        published: watch::Sender<ReplicaStatuses>,
        loads: watch::Sender<ReplicaLoads>,
        shared: Measuring,
    ) -> Self {
        let (published, loads) = (Arc::new(published), Arc::new(loads));
        let (tasks, probed) = (JoinSet::new(), BTreeMap::new());
        Self { steps, published, loads, shared: Arc::new(shared), tasks, probed }
    }

    /// Runs until the sender of the phases is gone.
    pub async fn run(mut self, mut observed: watch::Receiver<Observed>) {
        // The replicas that run before the first look were probed before kantd was restarted.
        let mut were_probed = true;
        loop {
            let (running, suspended) = replicas(&observed.borrow_and_update(), &self.steps);
            self.update_probed(&running, &suspended, were_probed);
            were_probed = false;
            while self.tasks.try_join_next().is_some() {}
            if observed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Begins to probe replicas that now run, and ends the probes of the others. The controller
    /// goes on with its last report on one that was probed before, until there is a new one.
    fn update_probed(
        &mut self,
        running: &BTreeMap<AttemptId, Arc<StepSpec>>,
        suspended: &BTreeSet<AttemptId>,
        were_probed: bool,
    ) {
        let over = self.probed.extract_if(.., |id, _| !running.contains_key(id));
        for (id, task) in over {
            task.abort();
            self.published.send_modify(|all| {
                if suspended.contains(&id) {
                    all.entry(id).and_modify(|one| one.health = ReplicaHealth::NotReady);
                } else {
                    all.remove(&id);
                }
            });
        }
        // A task that was ended may have published after that.
        self.loads.send_if_modified(|all| {
            let before = all.len();
            all.retain(|id, _| running.contains_key(id));
            all.len() < before
        });
        for (id, spec) in running {
            if !self.probed.contains_key(id) {
                let replica = Replica {
                    id: *id,
                    spec: Arc::clone(spec),
                    steps: self.steps.clone(),
                    published: Arc::clone(&self.published),
                    loads: Arc::clone(&self.loads),
                    shared: Arc::clone(&self.shared),
                    was_probed: were_probed,
                };
                if !were_probed {
                    replica.publish(ReplicaHealth::Starting, None);
                }
                self.probed.insert(*id, self.tasks.spawn(replica.watch()));
            }
        }
    }
}

/// The replicas that run, and those that are suspended.
fn replicas(
    observed: &Observed,
    steps: &Steps,
) -> (BTreeMap<AttemptId, Arc<StepSpec>>, BTreeSet<AttemptId>) {
    let (mut running, mut suspended) = (BTreeMap::new(), BTreeSet::new());
    for (id, phase) in observed.iter() {
        let StepPhase::Running { suspended: is_suspended, .. } = phase else { continue };
        let Some(spec) = steps.replicas().get(id) else { continue };
        match is_suspended {
            true => _ = suspended.insert(id),
            false => _ = running.insert(id, spec),
        }
    }
    (running, suspended)
}

/// A replica that is probed.
struct Replica {
    id: AttemptId,
    spec: Arc<StepSpec>,
    steps: Steps,
    published: Arc<watch::Sender<ReplicaStatuses>>,
    loads: Arc<watch::Sender<ReplicaLoads>>,
    shared: Arc<Measuring>,
    /// It was probed before kantd was restarted.
    was_probed: bool,
}

impl Replica {
    /// Probes the replica until this is aborted, or it is not live.
    async fn watch(self) {
        let Some(order) = &self.spec.launch.replica else { return };
        let probes = &order.probes;
        if let Some(startup) = &probes.startup
            && !self.wait_until_started(startup, probes.startup_max).await
        {
            return self
                .steps
                .end_not_live(self.id, LivenessFailure::NotStarted { within: probes.startup_max });
        }
        let ready = async {
            match &probes.readiness {
                Some(readiness) => self.watch_readiness(readiness).await,
                None => {
                    self.publish(ReplicaHealth::Ready, None);
                    std::future::pending().await
                }
            }
        };
        let alive = async {
            match &probes.liveness {
                Some(liveness) => self.watch_liveness(liveness).await,
                None => std::future::pending().await,
            }
        };
        let measured = async {
            match &order.metrics {
                Some(metrics) => self.measure(metrics).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = ready => {}
            () = measured => {}
            in_a_row = alive => {
                self.publish(ReplicaHealth::NotReady, None);
                self.steps.end_not_live(self.id, LivenessFailure::Failed { in_a_row });
            }
        }
    }

    /// Waits until the startup probe succeeds. False: it did not in time.
    async fn wait_until_started(&self, startup: &Probe, within: Span) -> bool {
        let deadline = Instant::now() + duration(within);
        let mut successes = 0;
        loop {
            match self.probe(startup).await {
                Ok(()) => successes += 1,
                Err(failure) => {
                    successes = 0;
                    self.publish(ReplicaHealth::Starting, Some(&failure));
                }
            }
            if successes >= startup.successes {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep(duration(startup.period)).await;
        }
    }

    /// Publishes whether the replica is ready. It is not before its first success.
    async fn watch_readiness(&self, readiness: &Probe) {
        // One that was ready before kantd was restarted stays so until it has failed often enough.
        let (mut successes, mut failures, mut is_ready) = (0_u32, 0_u32, self.was_probed);
        // Whether its ports were checked since it was not ready, or since kantd was restarted.
        let mut is_checked = false;
        loop {
            let mut result = self.probe(readiness).await;
            if result.is_ok() && !is_checked {
                result = self.check_listeners().await;
                is_checked = result.is_ok();
            }
            match result {
                Ok(()) => {
                    (successes, failures) = (successes.saturating_add(1), 0);
                    if is_ready || successes >= readiness.successes {
                        is_ready = true;
                        self.publish(ReplicaHealth::Ready, None);
                    }
                }
                Err(failure) => {
                    (successes, failures) = (0, failures.saturating_add(1));
                    is_ready &= failures < readiness.failures;
                    if !is_ready {
                        is_checked = false;
                        self.publish(ReplicaHealth::NotReady, Some(&failure));
                    }
                }
            }
            sleep(duration(readiness.period)).await;
        }
    }

    /// Returns the number of failures once the replica is not live.
    async fn watch_liveness(&self, liveness: &Probe) -> u32 {
        let mut failures = 0;
        loop {
            sleep(duration(liveness.period)).await;
            match self.probe(liveness).await {
                Ok(()) => failures = 0,
                Err(_) => failures += 1,
            }
            if failures >= liveness.failures {
                return failures;
            }
        }
    }

    /// Refuses ports that a program of another user holds.
    async fn check_listeners(&self) -> Result<(), ProbeFailure> {
        let owner = &self.spec.launch.owner;
        for port in &self.spec.ports {
            listener::check(port.number, owner.uid, &owner.name).await?;
        }
        Ok(())
    }

    async fn probe(&self, probe: &Probe) -> Result<(), ProbeFailure> {
        let limit = duration(probe.timeout);
        let attempt = Attempt { id: self.id, spec: &self.spec, steps: &self.steps };
        match timeout(limit, attempt.perform(&probe.action)).await {
            Ok(result) => result,
            Err(_) => Err(ProbeFailure::TooSlow { limit: probe.timeout }),
        }
    }

    /// Publishes the state, if it is new.
    fn publish(&self, health: ReplicaHealth, why: Option<&ProbeFailure>) {
        let why = why.map(|why| why.to_string().chars().take(WHY_CHARS_MAX).collect());
        let status = ReplicaStatus { id: self.id, health, ports: self.spec.ports.clone(), why };
        self.published.send_if_modified(|all| {
            let is_news = all.get(&self.id) != Some(&status);
            if is_news {
                all.insert(self.id, status);
            }
            is_news
        });
    }
}

const fn duration(span: Span) -> Duration {
    Duration::from_millis(span.0)
}
