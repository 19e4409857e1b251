//! One service: the replicas that the table gives it now, the choice among them, and the requests
//! that wait until one is ready.

use crate::clock;
use crate::config::Config;
use crate::endpoint::Endpoint;
use crate::picker;
use crate::stats::{Counted, ErrorKind, Stats};
use common::service::table::{EndpointState, Hold, Protocol, Route, TokenHash};
use common::sync::RwLock;
use hyper::header::{HeaderMap, HeaderName};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// A service, as long as the table has it or connections to it are open.
#[derive(Debug)]
pub struct Service {
    pub name: String,
    pub config: Arc<Config>,
    pub stats: Stats,
    plan: RwLock<Arc<Plan>>,
    ready: Notify,
    closing: watch::Sender<Closing>,
    /// Where clients reach it, once it listens.
    address: RwLock<Option<SocketAddr>>,
}

/// What one version of the table says of a service.
#[derive(Debug)]
pub struct Plan {
    pub affinity: Option<HeaderName>,
    pub token: Option<TokenHash>,
    pub hold: Hold,
    pub drain: Duration,
    pub protocol: Protocol,
    /// All replicas, in the order of the table.
    pub all: Vec<(Arc<Endpoint>, EndpointState)>,
    /// Those that get requests.
    ready: Vec<Arc<Endpoint>>,
}

/// Whether the connections of a service may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    Open,
    /// The table has the service no more: connections end after their last request.
    Removed,
    /// The router stops: they end at this time at the latest.
    By(Instant),
}

impl Service {
    pub fn new(route: &Route, config: Arc<Config>) -> Self {
        let plan = Plan::new(route, &[], config.workers);
        Self {
            name: route.service.clone(),
            config,
            stats: Stats::default(),
            plan: RwLock::new(Arc::new(plan)),
            ready: Notify::new(),
            closing: watch::Sender::new(Closing::Open),
            address: RwLock::new(None),
        }
    }

    pub fn plan(&self) -> Arc<Plan> {
        self.plan.read().clone()
    }

    /// Takes over a new version. Replicas that are still there keep their load and connections;
    /// the others are gone when their last request is.
    pub fn apply(&self, route: &Route) {
        let before = self.plan();
        let plan = Plan::new(route, &before.all, self.config.workers);
        let has_ready = !plan.ready.is_empty();
        for (endpoint, _) in &before.all {
            if !plan.all.iter().any(|(other, _)| Arc::ptr_eq(other, endpoint)) {
                endpoint.set_ready(false);
            }
        }
        *self.plan.write() = Arc::new(plan);
        if has_ready {
            self.ready.notify_waiters();
        }
    }

    /// A replica for a request: by its key if it has one, else the less loaded of two. `None` if no
    /// ready replica is left that was not tried.
    pub fn choose(
        &self,
        plan: &Plan,
        key: Option<u64>,
        tried: &[Arc<Endpoint>],
    ) -> Option<Arc<Endpoint>> {
        let now = clock::now_ms();
        let is_well = |endpoint: &&Arc<Endpoint>| !endpoint.health.is_out(now);
        let is_new = |endpoint: &&Arc<Endpoint>| !tried.iter().any(|t| Arc::ptr_eq(t, endpoint));
        if tried.is_empty() && plan.ready.iter().all(|endpoint| is_well(&endpoint)) {
            return self.pick(&plan.ready, key);
        }
        let others: Vec<_> = plan.ready.iter().filter(is_new).cloned().collect();
        let well: Vec<_> = others.iter().filter(is_well).cloned().collect();
        // If all failed, the fault may be ours, or over: each of them may be tried.
        self.pick(if well.is_empty() { &others } else { &well }, key)
    }

    fn pick(&self, from: &[Arc<Endpoint>], key: Option<u64>) -> Option<Arc<Endpoint>> {
        let load = |index: usize| from[index].in_flight();
        let index = match key {
            Some(key) => {
                let places = from.iter().map(|endpoint| endpoint.place_hash());
                picker::by_key(places, load, key, self.config.upstream.affinity_slack)
            }
            None => {
                let random = (fastrand::u64(..), fastrand::u64(..));
                picker::less_loaded_of_two(from.len(), load, random)
            }
        };
        index.map(|index| from[index].clone())
    }

    /// Waits until a replica is ready, and returns the plan that has it.
    ///
    /// # Errors
    /// If too many requests wait already, or this one has waited for too long.
    pub async fn wait_for_ready(&self) -> Result<Arc<Plan>, ErrorKind> {
        let plan = self.plan();
        let hold = plan.hold;
        if !plan.ready.is_empty() {
            return Ok(plan);
        }
        let held = Counted::try_begin(&self.stats.held, hold.requests_max.into());
        let _held = held.ok_or(ErrorKind::HoldFull)?;
        self.stats.holds.add_one();
        let waiting = async {
            loop {
                let ready = self.ready.notified();
                let mut ready = std::pin::pin!(ready);
                // From here on, no notification is missed.
                ready.as_mut().enable();
                let plan = self.plan();
                if !plan.ready.is_empty() {
                    return plan;
                }
                ready.await;
            }
        };
        let mut closing = self.subscribe_closing();
        let limit = Duration::from_secs(hold.seconds_max.into());
        tokio::select! {
            waited = tokio::time::timeout(limit, waiting) => {
                waited.map_err(|_| ErrorKind::HoldTimeout)
            }
            // No replica will come.
            _ = closing.wait_for(|closing| *closing != Closing::Open) => {
                Err(ErrorKind::HoldTimeout)
            }
        }
    }

    /// Notes that a replica did not answer.
    pub fn note_failure(&self, endpoint: &Endpoint) {
        let failures_max = self.config.upstream.failures_max;
        if let Some(back_off) = endpoint.health.fail(clock::now_ms(), failures_max) {
            self.stats.outs.add_one();
            tracing::warn!(
                service = self.name,
                endpoint = endpoint.id,
                seconds = back_off.as_secs(),
                "a replica fails repeatedly: it gets no requests for a while"
            );
        }
    }

    pub fn subscribe_closing(&self) -> watch::Receiver<Closing> {
        self.closing.subscribe()
    }

    pub fn close(&self, closing: Closing) {
        self.closing.send_replace(closing);
    }

    pub fn address(&self) -> Option<SocketAddr> {
        *self.address.read()
    }

    pub fn set_address(&self, address: Option<SocketAddr>) {
        *self.address.write() = address;
    }
}

impl Plan {
    fn new(route: &Route, before: &[(Arc<Endpoint>, EndpointState)], workers: usize) -> Self {
        let all: Vec<_> = route
            .endpoints
            .iter()
            .map(|wire| {
                let mut known = before.iter().map(|(endpoint, _)| endpoint);
                let endpoint =
                    known.find(|endpoint| endpoint.matches_entry(wire, route.protocol)).cloned();
                let endpoint = endpoint
                    .unwrap_or_else(|| Arc::new(Endpoint::new(wire, route.protocol, workers)));
                endpoint.set_ready(wire.state == EndpointState::Ready);
                (endpoint, wire.state)
            })
            .collect();
        let is_ready = |(_, state): &&(_, EndpointState)| *state == EndpointState::Ready;
        let ready = all.iter().filter(is_ready).map(|(endpoint, _)| endpoint.clone()).collect();
        let affinity = route.affinity.as_ref();
        Self {
            // The name was checked when the table was read.
            affinity: affinity.and_then(|n| HeaderName::from_bytes(n.as_str().as_bytes()).ok()),
            token: route.token,
            hold: route.hold,
            drain: Duration::from_secs(route.drain_seconds.into()),
            protocol: route.protocol,
            all,
            ready,
        }
    }

    /// The hash of the header by which requests stay together.
    pub fn affinity_key(&self, headers: &HeaderMap) -> Option<u64> {
        let value = headers.get(self.affinity.as_ref()?)?;
        Some(picker::hash(value.as_bytes()))
    }
}
