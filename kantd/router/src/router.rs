//! A running router.

use crate::admin::{Admin, AdminError};
use crate::config::Config;
use crate::control::{Control, Services};
use crate::dns::DnsServer;
use crate::metrics;
use crate::runtime;
use crate::table_file;
use crate::tls::{Tls, TlsError};
use crate::worker::Workers;
use common::service::load::RouterLoad;
use common::service::table::Table;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use tokio::sync::watch;

/// Why a router did not start.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    #[error("failed to start the router: the number of workers must be at least 1")]
    NoWorkers,
    #[error("failed to start the threads of the router")]
    Threads(#[source] io::Error),
    #[error(transparent)]
    Admin(#[from] AdminError),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A router with its threads. They end when it is stopped; when it is dropped, connections are cut.
#[derive(Debug)]
pub struct Router {
    services: Arc<Services>,
    admin: Option<SocketAddr>,
    /// Where DNS queries are answered, once it listens.
    dns: Option<Arc<OnceLock<SocketAddr>>>,
    stop: watch::Sender<bool>,
    quit: watch::Sender<bool>,
    /// Set when the control thread has ended all connections.
    ended: watch::Receiver<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl Router {
    /// Starts a router that applies each table that is sent. An address that is not free is tried
    /// again until it is; a table that is not valid changes nothing.
    ///
    /// # Errors
    /// If the admin address or the certificate cannot be used, or the system permits no threads.
    pub fn start(config: Config, tables: watch::Receiver<Arc<Table>>) -> Result<Self, RouterError> {
        if config.workers == 0 {
            return Err(RouterError::NoWorkers);
        }
        let tls = config.tls.clone().map(Tls::read).transpose()?.map(Arc::new);
        let config = Arc::new(config);
        let services = Arc::new(Services::default());
        let (stop, stopping) = watch::channel(false);
        let (quit, quitting) = watch::channel(false);
        let (end, ended) = watch::channel(false);
        let admin = config.admin.as_ref().map(Admin::bind).transpose()?;
        let addr = admin.as_ref().and_then(Admin::addr);
        let dns = config.dns.clone().map(DnsServer::new);
        let dns_addr = dns.as_ref().map(DnsServer::bound);
        let started = Workers::start(config.workers, tls.as_ref(), &quitting);
        let (workers, threads) = started.map_err(RouterError::Threads)?;
        let mut router = Self { services, admin: addr, dns: dns_addr, stop, quit, ended, threads };
        if let Some(dns) = dns {
            router.spawn("router-dns", dns.serve(tables.clone()))?;
        }
        let services = router.services.clone();
        let run = async move {
            if let Some(admin) = admin {
                tokio::spawn(admin.serve(services.clone()));
            }
            Control::new(config, services, Arc::new(workers)).run(tables, stopping).await;
            end.send_replace(true);
        };
        router.spawn("router-control", run)?;
        if let Some(tls) = tls {
            router.spawn("router-tls", tls.follow_files())?;
        }
        Ok(router)
    }

    /// Starts a router that follows a file with a table in JSON, which another program replaces as
    /// a whole (writes another file, and renames it). While the file is missing or damaged, the
    /// last good table stays.
    ///
    /// # Errors
    /// As for [`Router::start`].
    pub fn follow_file(config: Config, path: PathBuf) -> Result<Self, RouterError> {
        let first = table_file::read_table(&path).unwrap_or_default();
        let (sender, tables) = watch::channel(Arc::new(first));
        let mut router = Self::start(config, tables)?;
        router.spawn("router-table", table_file::follow(path, sender))?;
        Ok(router)
    }

    /// Runs a future on a thread of its own, which ends with the router.
    fn spawn(
        &mut self,
        name: &str,
        run: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), RouterError> {
        let mut quit = self.quit.subscribe();
        let run = async move {
            tokio::select! {
                () = run => {}
                _ = quit.wait_for(|quit| *quit) => {}
            }
        };
        self.threads.push(runtime::spawn(name, run).map_err(RouterError::Threads)?);
        Ok(())
    }

    /// The load of all services, as `/load` shows it.
    #[must_use]
    pub fn current_load(&self) -> RouterLoad {
        metrics::router_load(&self.services)
    }

    /// The metrics of all services, as `/metrics` shows them.
    #[must_use]
    pub fn metrics(&self) -> String {
        metrics::text(&self.services)
    }

    /// Where clients reach a service; `None` if the table does not have it, or its address is not
    /// free.
    #[must_use]
    pub fn service_address(&self, service: &str) -> Option<SocketAddr> {
        self.services.get(service)?.address()
    }

    /// The admin address, unless it is a path.
    #[must_use]
    pub const fn admin_address(&self) -> Option<SocketAddr> {
        self.admin
    }

    /// Where DNS queries are answered; `None` until it listens.
    #[must_use]
    pub fn dns_address(&self) -> Option<SocketAddr> {
        self.dns.as_ref()?.get().copied()
    }

    /// Accepts no more connections, and waits for the requests in flight: for each service as long
    /// as its route allows, and at most as long as the configuration does. The rest is cut.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // An error means that the control thread has ended.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.quit.send_replace(true);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the router has panicked");
            }
        }
    }
}
