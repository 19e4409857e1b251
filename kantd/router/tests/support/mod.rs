//! A router and its table, replicas, and clients.

mod client;
mod replica;

pub use client::{Client, raw, read_until, request, rest};
pub use replica::{Replica, reply};

use common::service::load::ServiceLoad;
use common::service::table::{Endpoint, EndpointState, Route, Table};
use router::{AdminAddress, Config, Router};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The longest wait for a condition.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for a condition.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: not within {DEADLINE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A future that must complete.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it completes within the deadline")
}

/// A router with one service, `a`.
pub struct Site {
    pub router: Router,
    pub tables: watch::Sender<Arc<Table>>,
}

/// A configuration with two workers.
pub fn config() -> Config {
    let admin = Some(AdminAddress::Loopback(SocketAddr::from(([127, 0, 0, 1], 0))));
    Config { workers: 2, admin, ..Config::default() }
}

pub fn endpoint(id: &str, addr: SocketAddr, state: EndpointState) -> Endpoint {
    Endpoint { id: id.to_owned(), addr, state }
}

/// A route to these replicas, all ready: `r/0.0`, `r/1.0` and further.
pub fn route(replicas: &[&Replica]) -> Route {
    let mut route: Route =
        serde_json::from_str(r#"{"service":"a","listen":"127.0.0.1:0"}"#).unwrap();
    let ready = |(index, replica): (usize, &&Replica)| {
        endpoint(&format!("r/{index}.0"), replica.addr(), EndpointState::Ready)
    };
    route.endpoints = replicas.iter().enumerate().map(ready).collect();
    route
}

impl Site {
    pub async fn start(config: Config, route: Route) -> Self {
        let (tables, receiver) = watch::channel(Arc::new(Table::default()));
        let router = Router::start(config, receiver).unwrap();
        let site = Self { router, tables };
        site.apply(route).await;
        eventually("the service listens", || site.router.service_address("a").is_some()).await;
        site
    }

    /// Applies the next version of the table.
    pub async fn apply(&self, route: Route) {
        self.apply_all(vec![route]).await;
    }

    pub async fn apply_all(&self, services: Vec<Route>) {
        let version = self.tables.borrow().version + 1;
        self.tables.send_replace(Arc::new(Table { version, services }));
        eventually("the table is applied", || self.router.current_load().table_version == version)
            .await;
    }

    pub fn addr(&self) -> SocketAddr {
        self.router.service_address("a").unwrap()
    }

    pub fn load(&self) -> ServiceLoad {
        self.router.current_load().services.remove(0)
    }

    /// A metric of the service, with further labels.
    pub fn metric(&self, name: &str, labels: &str) -> u64 {
        let begin = format!("kant_router_{name}{{service=\"a\"{labels}}} ");
        let text = self.router.metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(&begin));
        line.unwrap_or_else(|| panic!("no {begin}")).parse().unwrap()
    }
}
