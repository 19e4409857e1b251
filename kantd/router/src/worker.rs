//! The threads that forward requests. Each has a runtime of its own, and keeps a connection from
//! its begin to its end together with the connections to replicas that it uses, so that nothing on
//! the way of a request is shared but counters.

use crate::client_watch::ClientWatch;
use crate::connection;
use crate::endpoint::Worker;
use crate::exchange::Site;
use crate::place::Place;
use crate::runtime;
use crate::socket;
use crate::tls::Tls;
use hyper::header::HeaderValue;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, watch};

/// A connection that was accepted.
#[derive(Debug)]
pub struct Accepted {
    pub stream: TcpStream,
    pub place: Place,
}

/// The workers, as those that accept connections see them.
#[derive(Debug)]
pub struct Workers {
    all: Vec<Handle>,
}

#[derive(Debug)]
struct Handle {
    accepted: mpsc::UnboundedSender<Accepted>,
    open: Arc<AtomicUsize>,
}

/// Counts a connection of a worker until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Workers {
    /// Starts threads, which greet clients with TLS if it is given, and run until `quit` is set;
    /// connections that are open then are cut.
    ///
    /// # Errors
    /// If the system does not permit a thread or a runtime.
    pub fn start(
        count: usize,
        tls: Option<&Arc<Tls>>,
        quit: &watch::Receiver<bool>,
    ) -> io::Result<(Self, Vec<JoinHandle<()>>)> {
        let (mut all, mut threads) = (Vec::new(), Vec::new());
        for index in 0..count {
            // Connections are bounded by the places that they hold.
            let (sender, receiver) = mpsc::unbounded_channel();
            let open = Arc::new(AtomicUsize::new(0));
            let run = run(Worker(index), receiver, open.clone(), tls.cloned(), quit.clone());
            threads.push(runtime::spawn(&format!("router-{index}"), run)?);
            all.push(Handle { accepted: sender, open });
        }
        Ok((Self { all }, threads))
    }

    /// Gives a connection to the worker with the fewest.
    pub fn give(&self, accepted: Accepted) {
        let Some(least) = self.all.iter().min_by_key(|worker| worker.open.load(Relaxed)) else {
            return;
        };
        least.open.fetch_add(1, Relaxed);
        // A worker that has ended cuts all connections, also this one.
        drop(least.accepted.send(accepted));
    }
}

async fn run(
    worker: Worker,
    mut accepted: mpsc::UnboundedReceiver<Accepted>,
    open: Arc<AtomicUsize>,
    tls: Option<Arc<Tls>>,
    mut quit: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            Some(accepted) = accepted.recv() => accepted,
            _ = quit.wait_for(|quit| *quit) => return,
        };
        let (open, tls) = (Open(open.clone()), tls.clone());
        tokio::spawn(async move {
            let _open = open;
            if let Err(error) = serve_connection(accepted, worker, tls).await {
                tracing::debug!(%error, "failed to take over a connection");
            }
        });
    }
}

/// Serves a connection until its end.
async fn serve_connection(
    accepted: Accepted,
    worker: Worker,
    tls: Option<Arc<Tls>>,
) -> io::Result<()> {
    let Accepted { stream, place } = accepted;
    let stream = tokio::net::TcpStream::from_std(stream)?;
    socket::tune(&stream)?;
    let service = place.service().clone();
    let watch = Arc::new(ClientWatch::new(service.config.client));
    // An IPv4 client of an IPv6 socket has its IPv4 address.
    let client = place.client().to_canonical().to_string();
    let client = HeaderValue::from_str(&client).map_err(io::Error::other)?;
    let has_tls = tls.is_some();
    let site = Arc::new(Site { service, worker, client, has_tls, watch, _place: place });
    match tls {
        Some(tls) => connection::serve_tls(stream, &tls, site).await,
        None => connection::serve(stream, site).await,
    }
    Ok(())
}
