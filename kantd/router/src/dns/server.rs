//! The sockets on which queries arrive, by UDP and by TCP (RFC 7766).

use super::answer::{Transport, answer};
use super::zone::{Domain, Zone};
use common::service::table::Table;
use common::sync::RwLock;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// A query is smaller: a name has at most 255 bytes.
const QUERY_BYTES_MAX: usize = 4096;
/// The number of connections at a time. Others wait.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection may send nothing, or accept nothing.
const IDLE: Duration = Duration::from_secs(5);
/// The pause after an error that does not end by itself at once, such as a lack of descriptors.
const ERROR_PAUSE: Duration = Duration::from_millis(200);

/// What the router needs to answer queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsConfig {
    /// Where it listens, by UDP and by TCP.
    pub addr: SocketAddr,
    pub domain: Domain,
}

/// A server, and its address once it listens.
#[derive(Debug)]
pub struct DnsServer {
    config: DnsConfig,
    bound: Arc<OnceLock<SocketAddr>>,
}

impl DnsServer {
    pub fn new(config: DnsConfig) -> Self {
        Self { config, bound: Arc::default() }
    }

    /// Where it listens, once it does.
    pub fn bound(&self) -> Arc<OnceLock<SocketAddr>> {
        self.bound.clone()
    }

    /// Answers from the newest table, until no table can come.
    ///
    /// Must be called inside a tokio runtime.
    pub async fn serve(self, mut tables: watch::Receiver<Arc<Table>>) {
        let DnsConfig { addr, domain } = self.config;
        let make =
            |table: &Table| Arc::new(Zone::new(domain.clone(), table, addr.ip().is_loopback()));
        let zone = Arc::new(RwLock::new(make(&tables.borrow_and_update().clone())));
        let follow = async {
            while tables.changed().await.is_ok() {
                let table = tables.borrow_and_update().clone();
                *zone.write() = make(&table);
            }
        };
        let answer = async {
            let (udp, tcp, bound) = listen(addr).await;
            tracing::info!(%bound, "answers DNS queries");
            // It listens once.
            let _ = self.bound.set(bound);
            tokio::join!(serve_udp(udp, &zone), serve_tcp(tcp, zone.clone()))
        };
        tokio::select! {
            () = follow => {}
            _ = answer => {}
        }
    }
}

/// Listens as soon as the address is free: services are routed meanwhile.
async fn listen(addr: SocketAddr) -> (UdpSocket, TcpListener, SocketAddr) {
    let mut was_logged = false;
    loop {
        match try_listen(addr).await {
            Ok(listening) => return listening,
            Err(error) if !was_logged => {
                was_logged = true;
                tracing::error!(
                    %addr, %error,
                    "failed to listen for DNS queries: is it an address of this host, and is the \
                     port free? Trying again"
                );
            }
            Err(_) => {}
        }
        sleep(ERROR_PAUSE).await;
    }
}

async fn try_listen(addr: SocketAddr) -> io::Result<(UdpSocket, TcpListener, SocketAddr)> {
    let tcp = TcpListener::bind(addr).await?;
    let bound = tcp.local_addr()?;
    Ok((UdpSocket::bind(bound).await?, tcp, bound))
}

async fn serve_udp(socket: UdpSocket, zone: &RwLock<Arc<Zone>>) {
    let mut query = vec![0; QUERY_BYTES_MAX];
    loop {
        let (length, client) = match socket.recv_from(&mut query).await {
            Ok(received) => received,
            // On Linux, this is an earlier answer that no program accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                tracing::warn!(%error, "failed to receive a DNS query");
                sleep(ERROR_PAUSE).await;
                continue;
            }
        };
        let current = zone.read().clone();
        if let Some(answer) = answer(&current, &query[..length], Transport::Udp)
            && let Err(error) = socket.send_to(&answer, client).await
        {
            tracing::debug!(%error, %client, "failed to answer a DNS query");
        }
    }
}

async fn serve_tcp(listener: TcpListener, zone: Arc<RwLock<Arc<Zone>>>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, client)) => {
                let zone = zone.clone();
                tokio::spawn(async move {
                    if let Err(error) = serve_connection(stream, &zone).await {
                        tracing::debug!(%error, %client, "failed to answer DNS queries");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection for DNS queries");
                sleep(ERROR_PAUSE).await;
            }
        }
    }
}

/// Answers the queries of one connection, each with its length before it, until the client is
/// silent for too long.
async fn serve_connection(mut stream: TcpStream, zone: &RwLock<Arc<Zone>>) -> io::Result<()> {
    loop {
        let mut query = Vec::new();
        let read = async {
            let length = stream.read_u16().await?.into();
            if length <= QUERY_BYTES_MAX {
                query.resize(length, 0);
                stream.read_exact(&mut query).await?;
            }
            io::Result::Ok(())
        };
        match timeout(IDLE, read).await {
            Ok(Ok(())) if !query.is_empty() => {}
            Ok(Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            _ => return Ok(()),
        }
        let current = zone.read().clone();
        let Some(answer) = answer(&current, &query, Transport::Tcp) else { return Ok(()) };
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let message = [&length.to_be_bytes()[..], &answer].concat();
        timeout(IDLE, stream.write_all(&message)).await??;
    }
}
