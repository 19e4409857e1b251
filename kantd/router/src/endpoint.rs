//! One replica: its load, its health, and its idle connections.

use crate::config::UpstreamLimits;
use crate::health::Health;
use crate::picker;
use crate::upstream::{Upstream, connect};
use common::service::table;
use common::sync::Mutex;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Instant;

/// The number of a thread that forwards requests. A connection is used only by the thread that
/// opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker(pub usize);

/// A replica, which lives as long as the table has it or requests on it are in flight.
#[derive(Debug)]
pub struct Endpoint {
    pub id: String,
    pub addr: SocketAddr,
    protocol: table::Protocol,
    /// The hash of its place, for affinity.
    place: u64,
    in_flight: AtomicU32,
    pub health: Health,
    /// Gets requests, so that idle connections are worth keeping.
    is_ready: AtomicBool,
    /// By worker.
    idle: Box<[Mutex<Vec<Idle>>]>,
}

#[derive(Debug)]
struct Idle {
    upstream: Upstream,
    since: Instant,
}

/// Which connections may be used for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// An idle one. If the replica has closed it, the request can be sent again.
    Any,
    /// An idle one that is open as far as the kernel knows.
    Checked,
    /// A new one.
    Never,
}

impl Endpoint {
    pub fn new(wire: &table::Endpoint, protocol: table::Protocol, workers: usize) -> Self {
        Self {
            id: wire.id.clone(),
            addr: wire.addr,
            protocol,
            place: picker::hash(wire.id_without_attempt().as_bytes()),
            in_flight: AtomicU32::new(0),
            health: Health::default(),
            is_ready: AtomicBool::new(false),
            idle: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// Is it the replica of this entry of a table?
    pub fn matches_entry(&self, wire: &table::Endpoint, protocol: table::Protocol) -> bool {
        self.id == wire.id && self.addr == wire.addr && self.protocol == protocol
    }

    pub const fn place_hash(&self) -> u64 {
        self.place
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Relaxed)
    }

    pub fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Relaxed);
        if !is_ready {
            self.idle.iter().for_each(|idle| drop(std::mem::take(&mut *idle.lock())));
        }
    }

    /// Closes connections that were idle for too long.
    pub fn sweep(&self, now: Instant, limits: &UpstreamLimits) {
        for idle in &self.idle {
            idle.lock().retain(|idle| {
                !idle.upstream.is_closed() && now.duration_since(idle.since) < limits.idle
            });
        }
    }

    fn take_idle(&self, worker: Worker, reuse: Reuse, limits: &UpstreamLimits) -> Option<Upstream> {
        let mut all = self.idle.get(worker.0)?.lock();
        if self.protocol == table::Protocol::H2c {
            return all
                .iter()
                .find(|idle| idle.upstream.is_ready())?
                .upstream
                .clone_if_multiplexed();
        }
        // The one that was used last has the longest time before the replica closes it.
        for at in (0..all.len()).rev() {
            let idle = &all[at];
            if !idle.upstream.is_ready() {
                // The end of its last answer is not handled yet, or it is closed.
                continue;
            }
            let idle = all.swap_remove(at);
            let is_fresh = idle.since.elapsed() < limits.idle;
            if is_fresh && (reuse == Reuse::Any || idle.upstream.is_open_now()) {
                return Some(idle.upstream);
            }
        }
        None
    }

    fn put_idle(&self, worker: Worker, upstream: Upstream, limits: &UpstreamLimits) {
        if upstream.is_closed() || !self.is_ready.load(Relaxed) {
            return;
        }
        let Some(idle) = self.idle.get(worker.0) else { return };
        let mut idle = idle.lock();
        let now = Instant::now();
        if self.protocol == table::Protocol::H2c
            && let Some(shared) = idle.iter_mut().find(|idle| idle.upstream.is_ready())
        {
            // All requests share one connection; those that were opened beside it end.
            shared.since = now;
        } else if idle.len() < limits.idle_max {
            idle.push(Idle { upstream, since: now });
        }
    }
}

/// A request's place on a replica, and its connection. Released when dropped.
#[derive(Debug)]
pub struct Lease {
    endpoint: Arc<Endpoint>,
    worker: Worker,
    upstream: Option<Upstream>,
}

impl Lease {
    pub fn new(endpoint: Arc<Endpoint>, worker: Worker) -> Self {
        endpoint.in_flight.fetch_add(1, Relaxed);
        Self { endpoint, worker, upstream: None }
    }

    pub const fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// Takes an idle connection if one may be used, or opens one. Returns the connection, and
    /// whether it was used before.
    ///
    /// # Errors
    /// If the replica does not accept a new connection.
    pub async fn connect(
        &mut self,
        reuse: Reuse,
        limits: &UpstreamLimits,
    ) -> io::Result<(&mut Upstream, bool)> {
        let idle = match reuse {
            Reuse::Never => None,
            _ => self.endpoint.take_idle(self.worker, reuse, limits),
        };
        let is_reused = idle.is_some();
        let upstream = match idle {
            Some(upstream) => upstream,
            None => connect(self.endpoint.addr, self.endpoint.protocol, limits.connect).await?,
        };
        Ok((self.upstream.insert(upstream), is_reused))
    }

    /// The answer is complete: the connection can be used again.
    pub fn give_back(mut self, limits: &UpstreamLimits) {
        if let Some(upstream) = self.upstream.take() {
            self.endpoint.put_idle(self.worker, upstream, limits);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.endpoint.in_flight.fetch_sub(1, Relaxed);
    }
}
