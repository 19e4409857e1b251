//! What an operator may set of a router. The defaults suit inference services on one host.

use crate::dns::DnsConfig;
use crate::tls::TlsFiles;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The most threads that forward requests, unless the operator asks for more: a router shares its
/// host with the jobs of the node.
const WORKERS_MAX: usize = 4;

/// The settings of one router.
#[derive(Debug, Clone)]
pub struct Config {
    /// Threads that forward requests; each has its own connections.
    pub workers: usize,
    /// Where operators, Prometheus and the autoscaler ask.
    pub admin: Option<AdminAddress>,
    /// Clients must use TLS with this certificate, on all addresses of services.
    pub tls: Option<TlsFiles>,
    /// Services and replicas have names in DNS.
    pub dns: Option<DnsConfig>,
    pub client: ClientLimits,
    pub upstream: UpstreamLimits,
    /// The longest time that a stop waits for requests in flight, whatever the table allows.
    pub stop_max: Duration,
}

/// The address of the admin listener. It has no access control but that of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAddress {
    /// A socket that only the router's user and group may use.
    Unix(PathBuf),
    /// An address of this host alone, such as 127.0.0.1:9180.
    Loopback(SocketAddr),
}

/// The bounds on what clients may take.
#[derive(Debug, Clone, Copy)]
pub struct ClientLimits {
    /// The longest time from the first byte of a request to the end of its header.
    pub head: Duration,
    /// The longest time between two requests on a connection.
    pub idle: Duration,
    /// The largest request line and header together.
    pub head_bytes_max: usize,
    /// The lowest rate of a request's body, in bytes per second, as long as the answer has not
    /// begun.
    pub body_rate_min: u64,
    /// The time over which this rate is measured.
    pub body_window: Duration,
    /// The longest time in which a client accepts nothing of its answer.
    pub write_stall: Duration,
    /// The most connections to one service.
    pub connections_max: usize,
    /// The most connections from one address to one service.
    pub connections_each_max: usize,
    /// The most requests at a time on one connection with HTTP/2.
    pub streams_max: u32,
}

/// The bounds on what replicas may take.
#[derive(Debug, Clone, Copy)]
pub struct UpstreamLimits {
    /// The longest time to open a connection.
    pub connect: Duration,
    /// The longest time from the end of a request to the beginning of its answer.
    pub answer: Duration,
    /// How long an idle connection is kept. Shorter than the 5 seconds after which uvicorn, and so
    /// vLLM, closes one.
    pub idle: Duration,
    /// The most idle connections to one replica, for each worker.
    pub idle_max: usize,
    /// After this number of failures in a row, a replica gets no requests for a while.
    pub failures_max: u32,
    /// How many further replicas may be tried.
    pub retries_max: u32,
    /// How many more requests than the second choice the first choice of a header's value may have.
    pub affinity_slack: u32,
}

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            workers: cores.min(WORKERS_MAX),
            admin: None,
            tls: None,
            dns: None,
            client: ClientLimits::default(),
            upstream: UpstreamLimits::default(),
            stop_max: Duration::from_secs(300),
        }
    }
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            head_bytes_max: 64 << 10,
            body_rate_min: 500,
            body_window: Duration::from_secs(20),
            write_stall: Duration::from_secs(60),
            connections_max: 16_384,
            connections_each_max: 4_096,
            streams_max: 256,
        }
    }
}

impl Default for UpstreamLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            answer: Duration::from_secs(600),
            idle: Duration::from_secs(4),
            idle_max: 256,
            failures_max: 3,
            retries_max: 2,
            affinity_slack: 4,
        }
    }
}
