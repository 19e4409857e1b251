//! The table of the router on this node: kantd gets the services from the controller, resolves the
//! names of nodes, and writes the table to a file, which `kantd router` reads. The router is a
//! process of its own and goes on with its last table while kantd or the controllers are away.

use crate::config::RouterSettings;
use common::service::load::RouterLoad;
use common::service::table::{Endpoint, Route, Table};
use common::wire::node::{EndpointOrder, RouteOrder};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use router::{AdminAddress, Config, Router, RouterError};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// The pause before a file that could not be written is written again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The time between two questions to the router about its load.
const LOAD_PERIOD: Duration = Duration::from_millis(500);
const LOAD_LIMIT: Duration = Duration::from_secs(2);
/// The largest answer that is read.
const LOAD_BYTES_MAX: usize = 64 << 20;

/// The file in this spool.
#[must_use]
pub fn file(spool: &Path) -> PathBuf {
    spool.join("routes.json")
}

/// The socket on which the router of this spool answers about itself.
#[must_use]
pub fn socket(spool: &Path) -> PathBuf {
    spool.join("router.sock")
}

/// Starts the router of this spool.
///
/// # Errors
/// When its threads or sockets cannot be made, or its certificate cannot be used.
pub fn start_router(spool: &Path, settings: &RouterSettings) -> Result<Router, RouterError> {
    let admin = Some(AdminAddress::Unix(socket(spool)));
    let (tls, dns) = (settings.tls.clone(), settings.dns.clone());
    Router::follow_file(Config { admin, tls, dns, ..Config::default() }, file(spool))
}

/// The ends of a session for the router on this node.
pub struct RouterChannels {
    /// The load of the services.
    pub load: watch::Receiver<Option<RouterLoad>>,
    /// Takes the services; `None` if no router runs here.
    pub routes: Option<watch::Sender<Vec<RouteOrder>>>,
}

/// The channels for the router of this spool, which listens on this address, and the work that
/// connects them with its file and its socket. The work never ends.
pub fn channels(
    spool: &Path,
    router: Option<IpAddr>,
) -> (RouterChannels, impl Future<Output = ()> + Send + 'static) {
    let (published, load) = watch::channel(None);
    let (order, ordered) = watch::channel(Vec::new());
    let (file, socket) = (file(spool), socket(spool));
    let work = async move {
        let Some(bind) = router else { return std::future::pending().await };
        tokio::join!(write_on_change(ordered, file, bind), watch_load(socket, published));
    };
    let routes = router.is_some().then_some(order);
    (RouterChannels { load, routes }, work)
}

/// Asks the router for the load of the services, again and again, and publishes it. A router that
/// does not answer is not reported.
async fn watch_load(socket: PathBuf, published: watch::Sender<Option<RouterLoad>>) {
    loop {
        let load = timeout(LOAD_LIMIT, ask_load(&socket)).await.ok().and_then(Result::ok);
        if load.is_some() {
            published.send_replace(load);
        }
        sleep(LOAD_PERIOD).await;
    }
}

async fn ask_load(socket: &Path) -> anyhow::Result<RouterLoad> {
    let stream = tokio::net::UnixStream::connect(socket).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get("/load").header(HOST, "localhost").body(Empty::<Bytes>::new())?;
    let answer = async {
        let body = sender.send_request(request).await?.into_body();
        anyhow::Ok(Limited::new(body, LOAD_BYTES_MAX).collect().await)
    };
    tokio::select! {
        answer = answer => {
            let body = answer?.map_err(anyhow::Error::from_boxed)?;
            Ok(serde_json::from_slice(&body.to_bytes())?)
        }
        ended = connection => {
            ended?;
            anyhow::bail!("the router closed the connection")
        }
    }
}

/// Writes the table whenever the services change. Nothing is written before the first order, so
/// that a router goes on with what it has.
async fn write_on_change(
    mut ordered: watch::Receiver<Vec<RouteOrder>>,
    file: PathBuf,
    bind: IpAddr,
) {
    let (mut version, mut known) = (last_version(&file), BTreeMap::new());
    while ordered.changed().await.is_ok() {
        let orders = ordered.borrow_and_update().clone();
        version += 1;
        let table = table(&orders, version, bind, &mut known).await;
        while let Err(error) = replace(&file, &table) {
            tracing::warn!("failed to write {}: {error}; trying again", file.display());
            sleep(RETRY_PAUSE).await;
        }
    }
    std::future::pending().await
}

fn last_version(file: &Path) -> u64 {
    let text = fs::read(file).unwrap_or_default();
    serde_json::from_slice::<Table>(&text).map_or(0, |table| table.version)
}

/// The table for these orders. `known` are the addresses of hosts found earlier.
async fn table(
    orders: &[RouteOrder],
    version: u64,
    bind: IpAddr,
    known: &mut BTreeMap<String, IpAddr>,
) -> Table {
    let mut services = Vec::new();
    for order in orders {
        let mut endpoints = Vec::new();
        for endpoint in &order.endpoints {
            match resolve(endpoint, known).await {
                Some(addr) => {
                    let (id, state) = (endpoint.id.clone(), endpoint.state);
                    endpoints.push(Endpoint { id, addr, state });
                }
                None => tracing::warn!(
                    "failed to find the address of {}, on which {} of {} runs",
                    endpoint.host,
                    endpoint.id,
                    order.service
                ),
            }
        }
        services.push(Route {
            service: order.service.to_string(),
            listen: SocketAddr::new(bind, order.port),
            endpoints,
            affinity: order.affinity.clone(),
            hold: order.hold,
            drain_seconds: order.drain_seconds,
            token: order.token,
            protocol: order.protocol,
        });
    }
    Table { version, services }
}

async fn resolve(
    endpoint: &EndpointOrder,
    known: &mut BTreeMap<String, IpAddr>,
) -> Option<SocketAddr> {
    let found = tokio::net::lookup_host((endpoint.host.as_str(), endpoint.port)).await;
    if let Some(found) = found.ok().and_then(|mut all| all.next()) {
        known.insert(endpoint.host.clone(), found.ip());
        return Some(found);
    }
    // A name service that fails for a while takes no replica away.
    known.get(&endpoint.host).map(|ip| SocketAddr::new(*ip, endpoint.port))
}

/// Replaces the file in one step, so that a reader sees the old or the new table.
fn replace(file: &Path, table: &Table) -> io::Result<()> {
    let new = file.with_extension("json.new");
    let mut written =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    serde_json::to_writer(&mut written, table)?;
    written.flush()?;
    fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::service::table::{EndpointState, Hold, Protocol};

    #[tokio::test]
    async fn a_table_has_addresses_and_replaces_the_file_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path());
        let order = RouteOrder {
            service: "chat".parse().unwrap(),
            port: 8000,
            endpoints: vec![EndpointOrder {
                id: "worker/0.1".to_owned(),
                host: "127.0.0.1".to_owned(),
                port: 20_001,
                state: EndpointState::Ready,
            }],
            affinity: None,
            hold: Hold::default(),
            token: None,
            drain_seconds: 5,
            protocol: Protocol::H2c,
        };
        let (bind, mut known) = (IpAddr::from([127, 0, 0, 1]), BTreeMap::new());
        let made = table(&[order], 7, bind, &mut known).await;
        assert_eq!(made.services[0].listen.to_string(), "127.0.0.1:8000");
        assert_eq!(made.services[0].endpoints[0].addr.to_string(), "127.0.0.1:20001");
        assert_eq!(made.services[0].protocol, Protocol::H2c);
        replace(&path, &made).unwrap();
        assert_eq!(last_version(&path), 7);
        assert_eq!(serde_json::from_slice::<Table>(&fs::read(&path).unwrap()).unwrap(), made);
    }
}
