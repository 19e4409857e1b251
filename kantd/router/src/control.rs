//! The thread that applies tables: it opens and closes listeners by difference, and gives each
//! service its replicas.

use crate::config::Config;
use crate::listener::Listener;
use crate::service::{Closing, Service};
use crate::worker::Workers;
use common::service::table::Table;
use common::sync::RwLock;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often idle connections to replicas are looked through.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How often a stopping router looks whether all requests have ended.
const END_INTERVAL: Duration = Duration::from_millis(20);

/// The services of the current table, by name.
#[derive(Debug, Default)]
pub struct Services {
    by_name: RwLock<BTreeMap<String, Arc<Service>>>,
    /// Services that the table has no more, whose connections have not ended yet.
    removed: RwLock<Vec<Arc<Service>>>,
    version: AtomicU64,
}

impl Services {
    pub fn all(&self) -> Vec<Arc<Service>> {
        self.by_name.read().values().cloned().collect()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Service>> {
        self.by_name.read().get(name).cloned()
    }

    /// The version of the table that is applied.
    pub fn version(&self) -> u64 {
        self.version.load(Relaxed)
    }

    /// Are there connections left?
    fn has_no_connections(&self) -> bool {
        let is_quiet = |service: &Arc<Service>| service.stats.connections.get() == 0;
        self.by_name.read().values().all(is_quiet) && self.removed.read().iter().all(is_quiet)
    }
}

/// What applies tables.
pub struct Control {
    pub config: Arc<Config>,
    pub services: Arc<Services>,
    pub workers: Arc<Workers>,
    listeners: Vec<Listener>,
}

impl Control {
    pub const fn new(config: Arc<Config>, services: Arc<Services>, workers: Arc<Workers>) -> Self {
        Self { config, services, workers, listeners: Vec::new() }
    }

    /// Applies tables as they come, until `stop` is set; then ends connections within their bounds.
    pub async fn run(
        mut self,
        mut tables: watch::Receiver<Arc<Table>>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut sweep = tokio::time::interval(SWEEP_INTERVAL);
        let mut has_sender = true;
        let first = tables.borrow_and_update().clone();
        self.apply(&first);
        loop {
            tokio::select! {
                changed = tables.changed(), if has_sender => match changed {
                    Ok(()) => {
                        let table = tables.borrow_and_update().clone();
                        self.apply(&table);
                    }
                    // The last table stays.
                    Err(_) => has_sender = false,
                },
                _ = sweep.tick() => self.sweep(),
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        self.stop().await;
    }

    fn apply(&mut self, table: &Table) {
        if let Err(error) = table.check() {
            tracing::error!(%error, version = table.version, "the last good table stays");
            return;
        }
        let before = self.services.by_name.read().clone();
        let mut after = BTreeMap::new();
        let mut listeners = Vec::new();
        for route in &table.services {
            let service = match before.get(&route.service) {
                Some(service) => {
                    service.apply(route);
                    service.clone()
                }
                None => Arc::new(Service::new(route, self.config.clone())),
            };
            listeners.push(self.open_or_reuse_listener(route.listen, &service));
            after.insert(route.service.clone(), service);
        }
        // New addresses are open before old ones close.
        self.listeners = listeners;
        let removed: Vec<_> =
            before.into_iter().filter(|(name, _)| !after.contains_key(name)).collect();
        for (name, service) in removed {
            tracing::info!(service = name, "the table has this service no more");
            service.close(Closing::Removed);
            self.services.removed.write().push(service);
        }
        *self.services.by_name.write() = after;
        self.services.version.store(table.version, Relaxed);
        tracing::debug!(version = table.version, "applied a table");
    }

    /// The listener of a service: the one that it has, one of another service with the same
    /// address, or a new one.
    fn open_or_reuse_listener(&mut self, addr: SocketAddr, service: &Arc<Service>) -> Listener {
        let is_own = |listener: &Listener| {
            listener.addr() == addr
                && (addr.port() != 0 || Arc::ptr_eq(&listener.service(), service))
        };
        match self.listeners.iter().position(is_own) {
            Some(index) => {
                let listener = self.listeners.swap_remove(index);
                if !Arc::ptr_eq(&listener.service(), service) {
                    listener.set_service(service.clone());
                }
                listener
            }
            None => Listener::open(addr, service.clone(), self.workers.clone()),
        }
    }

    fn sweep(&self) {
        let now = Instant::now();
        let removed = self.services.removed.read().clone();
        for service in self.services.all().into_iter().chain(removed) {
            for (endpoint, _) in &service.plan().all {
                endpoint.sweep(now, &self.config.upstream);
            }
        }
        self.services.removed.write().retain(|service| service.stats.connections.get() > 0);
    }

    /// Closes all addresses, and ends connections as their requests end, at the latest after the
    /// time that each service allows.
    async fn stop(&mut self) {
        self.listeners.clear();
        // The listeners hand over what waits in their backlogs.
        tokio::task::yield_now().await;
        let now = Instant::now();
        let mut last = now;
        let removed = self.services.removed.read().clone();
        for service in self.services.all().into_iter().chain(removed) {
            let end = now + service.plan().drain.min(self.config.stop_max);
            service.close(Closing::By(end));
            last = last.max(end);
        }
        while !self.services.has_no_connections() && Instant::now() < last {
            tokio::time::sleep(END_INTERVAL).await;
        }
        if !self.services.has_no_connections() {
            tracing::warn!("some requests were unfinished when the router stopped");
        }
    }
}
