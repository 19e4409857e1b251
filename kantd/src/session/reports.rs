//! What a session sends up whenever it changes: phases of steps, health, and what is measured of
//! jobs and services.

use super::SessionError;
use crate::idle_gpus::{IdleGpusByStep, changes};
use crate::probes::{ReplicaLoads, ReplicaStatuses};
use common::job::ReplicaStatus;
use common::service::engine::ReplicaLoad;
use common::service::load::RouterLoad;
use common::wire::node::FromNode;
use net::ChannelSender;
use node::Observed;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::sleep;

/// The time between two reports of measurements.
const LOADS_PERIOD: Duration = Duration::from_secs(1);

/// What a node measures of its jobs and services. It is in no log: every controller that begins to
/// lead gets it again.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// The state of the replicas of services.
    pub replicas: watch::Receiver<ReplicaStatuses>,
    /// What is measured of them.
    pub replica_loads: watch::Receiver<ReplicaLoads>,
    /// The load of the services, from the router on this node.
    pub router_load: watch::Receiver<Option<RouterLoad>>,
    /// The GPUs that jobs hold and do not use.
    pub idle_gpus: watch::Receiver<IdleGpusByStep>,
}

impl Measurements {
    /// Those of a node that measures nothing.
    #[must_use]
    pub fn none() -> Self {
        Self {
            replicas: watch::channel(BTreeMap::new()).1,
            replica_loads: watch::channel(BTreeMap::new()).1,
            router_load: watch::channel(None).1,
            idle_gpus: watch::channel(BTreeMap::new()).1,
        }
    }

    /// Sends all of them whenever they change.
    pub(super) async fn report(self, sender: ChannelSender<FromNode>) -> SessionError {
        tokio::select! {
            error = report_replicas(self.replicas, sender.clone()) => error,
            error = report_replica_loads(self.replica_loads, sender.clone()) => error,
            error = report_load(self.router_load, sender.clone()) => error,
            error = report_idle_gpus(self.idle_gpus, sender) => error,
        }
    }
}

/// Sends what the node found out about itself, once it is known and whenever it changes.
pub(super) async fn report_when_known<T: Clone>(
    mut found: watch::Receiver<Option<T>>,
    message: impl Fn(T) -> FromNode,
    sender: &ChannelSender<FromNode>,
) -> SessionError {
    found.mark_changed();
    loop {
        if found.changed().await.is_err() {
            // Nothing looks for it any more, which does not end the session.
            return std::future::pending().await;
        }
        let now = found.borrow_and_update().clone();
        let Some(now) = now else { continue };
        if sender.send(&message(now)).await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Sends each load that the router on this node reports.
async fn report_load(
    mut load: watch::Receiver<Option<RouterLoad>>,
    sender: ChannelSender<FromNode>,
) -> SessionError {
    while load.changed().await.is_ok() {
        let now = load.borrow_and_update().clone();
        let Some(now) = now else { continue };
        if sender.send(&FromNode::RouterLoad(now)).await.is_err() {
            break;
        }
    }
    // No router runs here, or the receiving half returns the reason.
    std::future::pending().await
}

/// Sends the state of all replicas, and then whatever changes.
async fn report_replicas(
    mut replicas: watch::Receiver<ReplicaStatuses>,
    sender: ChannelSender<FromNode>,
) -> SessionError {
    let mut reported = ReplicaStatuses::new();
    loop {
        let now = replicas.borrow_and_update().clone();
        let is_news = |status: &&ReplicaStatus| reported.get(&status.id) != Some(*status);
        let news: Vec<ReplicaStatus> = now.values().filter(is_news).cloned().collect();
        if !news.is_empty() && sender.send(&FromNode::Replicas(news)).await.is_err() {
            return std::future::pending().await;
        }
        reported = now;
        if replicas.changed().await.is_err() {
            // An emulated node has no probes, which does not end the session.
            return std::future::pending().await;
        }
    }
}

/// Sends the idle GPUs of all steps, and then whatever changes.
async fn report_idle_gpus(
    mut idle: watch::Receiver<IdleGpusByStep>,
    sender: ChannelSender<FromNode>,
) -> SessionError {
    let mut reported = IdleGpusByStep::new();
    loop {
        let now = idle.borrow_and_update().clone();
        let news = changes(&reported, &now, Instant::now());
        if !news.is_empty() && sender.send(&FromNode::IdleGpus(news)).await.is_err() {
            return std::future::pending().await;
        }
        reported = now;
        if idle.changed().await.is_err() {
            // An emulated node has no GPUs that could be sampled, which does not end the session.
            return std::future::pending().await;
        }
    }
}

/// Sends the measurements of replicas since the last report, at most once in a period.
async fn report_replica_loads(
    mut loads: watch::Receiver<ReplicaLoads>,
    sender: ChannelSender<FromNode>,
) -> SessionError {
    let mut reported = ReplicaLoads::new();
    while loads.changed().await.is_ok() {
        let now = loads.borrow_and_update().clone();
        let is_news = |load: &&ReplicaLoad| reported.get(&load.id) != Some(*load);
        let news: Vec<ReplicaLoad> = now.values().filter(is_news).cloned().collect();
        if !news.is_empty() && sender.send(&FromNode::ReplicaLoads(news)).await.is_err() {
            break;
        }
        reported = now;
        // Each replica is measured at another time; one report covers them all.
        sleep(LOADS_PERIOD).await;
    }
    // Nothing is measured on an emulated node, or the receiving half returns the reason.
    std::future::pending().await
}

/// Sends the changes since `reported`, whenever there are any.
pub(super) async fn report_phases(
    mut observed: watch::Receiver<Observed>,
    mut reported: Observed,
    sender: ChannelSender<FromNode>,
) -> SessionError {
    loop {
        let now = observed.borrow_and_update().clone();
        let changes = now.changes_since(&reported);
        if !changes.is_empty() && sender.send(&FromNode::Report(changes)).await.is_err() {
            // The receiving half returns the reason.
            return std::future::pending().await;
        }
        reported = now;
        if observed.changed().await.is_err() {
            return SessionError::RunnerGone;
        }
    }
}
