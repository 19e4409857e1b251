//! The address of one service: it accepts connections within the bounds, and gives them to workers.

use crate::place::{Clients, Place};
use crate::service::Service;
use crate::socket;
use crate::worker::{Accepted, Workers};
use common::sync::RwLock;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The pause of a listener that cannot accept, mostly for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// The pause before another attempt to listen. An address is not free until its last listener has
/// handed over what waited.
const LISTEN_PAUSE: Duration = Duration::from_millis(200);

const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n\
    Connection: close\r\nContent-Length: 0\r\n\r\n";

/// An address that is listened at, or will be as soon as it is free.
#[derive(Debug)]
pub struct Listener {
    addr: SocketAddr,
    service: Arc<RwLock<Arc<Service>>>,
    /// Accepts what has arrived and closes the address when it is dropped.
    _close: watch::Sender<()>,
}

impl Listener {
    /// Listens until it is dropped. If the address is not free, it tries again.
    ///
    /// Must be called inside a tokio runtime.
    pub fn open(addr: SocketAddr, service: Arc<Service>, workers: Arc<Workers>) -> Self {
        service.set_address(None);
        let service = Arc::new(RwLock::new(service));
        let (close, closed) = watch::channel(());
        tokio::spawn(run(addr, service.clone(), workers, closed));
        Self { addr, service, _close: close }
    }

    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn service(&self) -> Arc<Service> {
        self.service.read().clone()
    }

    /// From now on, connections belong to this service.
    pub fn set_service(&self, service: Arc<Service>) {
        let before = std::mem::replace(&mut *self.service.write(), service.clone());
        service.set_address(before.address());
    }
}

async fn run(
    addr: SocketAddr,
    service: Arc<RwLock<Arc<Service>>>,
    workers: Arc<Workers>,
    mut closed: watch::Receiver<()>,
) {
    let current = || service.read().clone();
    let listening = tokio::select! {
        listening = listen(addr, &current) => listening,
        _ = closed.changed() => return,
    };
    let clients = Arc::new(Clients::default());
    let accept = |(stream, peer): (TcpStream, SocketAddr)| {
        hand_to_worker(stream, peer.ip(), current(), &clients, &workers);
    };
    loop {
        let accepted = tokio::select! {
            accepted = listening.accept() => accepted,
            _ = closed.changed() => break,
        };
        match accepted {
            Ok(accepted) => accept(accepted),
            Err(error) => pause_after_accept_error(error).await,
        }
    }
    // Connections that wait in the backlog would be cut.
    while let Poll::Ready(Ok(accepted)) = poll_once(listening.accept()).await {
        accept(accepted);
    }
}

/// Listens as soon as the address is free.
async fn listen(addr: SocketAddr, service: &(impl Fn() -> Arc<Service> + Sync)) -> TcpListener {
    let mut was_logged = false;
    loop {
        match try_listen(addr) {
            Ok((listening, bound)) => {
                let service = service();
                tracing::info!(service = service.name, %bound, "listens");
                service.set_address(Some(bound));
                return listening;
            }
            Err(error) if !was_logged => {
                was_logged = true;
                let service = service();
                tracing::error!(
                    service = service.name, %addr, %error,
                    "failed to listen: is it an address of this host, and is the port free?"
                );
            }
            Err(_) => {}
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

fn try_listen(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = socket::listen(addr)?;
    let bound = listener.local_addr()?;
    Ok((listener, bound))
}

async fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

fn hand_to_worker(
    stream: TcpStream,
    client: IpAddr,
    service: Arc<Service>,
    clients: &Arc<Clients>,
    workers: &Workers,
) {
    match Place::take(service.clone(), client, clients) {
        Some(place) => match stream.into_std() {
            Ok(stream) => workers.give(Accepted { stream, place }),
            Err(error) => tracing::debug!(%error, "failed to take over a connection"),
        },
        None => {
            service.stats.connections_refused.add_one();
            // If it does not fit into the empty buffer, it is not worth waiting.
            let _ = stream.try_write(TOO_MANY);
        }
    }
}

/// Handles a failed `accept`: pauses if that helps, and continues in any case.
async fn pause_after_accept_error(error: io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionReset) {
        return;
    }
    tracing::warn!(%error, "failed to accept a connection: are there file descriptors left?");
    tokio::time::sleep(ACCEPT_PAUSE).await;
}
