//! The listeners of a controller: its local socket, the port of daemons, and the HTTP port.

use super::RunError;
use crate::api;
use crate::core::Core;
use crate::disk_guard::DiskGuard;
use crate::fence;
use crate::http;
use crate::peers::Peers;
use crate::reload::Reloader;
use crate::session::{NodeKind, NodeRules, NodeThreads};
use crate::state_machine::StateMachine;
use axum::Extension;
use common::config::ControllerConfig;
use common::id::Uid;
use net::{HttpListener, LocalListener, PemFiles, TlsListener};
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the routes need besides [`Core`].
pub(super) struct Listening {
    pub(super) reloader: Arc<Reloader>,
    pub(super) peers: Arc<Peers<StateMachine>>,
    pub(super) nodes: NodeThreads,
}

/// The certificate of the HTTP port, if one is configured.
fn pem_files(config: &ControllerConfig) -> Result<Option<PemFiles>, RunError> {
    let ControllerConfig { http_certificate: certificate, http_key: key, .. } = config;
    match (certificate.is_empty(), key.is_empty()) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some(PemFiles { certificate: certificate.into(), key: key.into() })),
        _ => Err(RunError::HalfCertificate),
    }
}

/// Starts all listeners that the configuration names.
///
/// # Errors
/// [`RunError`].
pub(super) async fn listen(
    config: &ControllerConfig,
    core: &Arc<Core>,
    Listening { reloader, peers, nodes }: Listening,
    stopping: &watch::Receiver<bool>,
) -> Result<Vec<JoinHandle<io::Result<()>>>, RunError> {
    let stopped = || {
        let mut stopping = stopping.clone();
        async move {
            // An error means that the sender is gone, which also means stop.
            let _ = stopping.wait_for(|stop| *stop).await;
        }
    };
    if let Some(parent) = Path::new(&config.socket).parent() {
        super::make_dir(parent)?;
    }
    let (local, users) = (LocalListener::bind(Path::new(&config.socket))?, core.clone());
    let local = local.with_trusted_users(move |uid| users.access().was_operator(Uid(uid)));
    tracing::info!("listening on {}", config.socket);
    let router = api::router(core.clone()).layer(Extension(reloader));
    let audit = api::AuditPath(crate::audit::audit_path(config));
    let router = router.layer(Extension(audit));
    let router = router.layer(Extension(Arc::new(DiskGuard::new(config))));
    let kind = NodeKind::from_emulated(config.emulated);
    let rules = NodeRules { kind, fence_after: fence::fence_after(config) };
    match rules.fence_after.is_zero() {
        true => tracing::info!("nodes without a leader go on (no fence)"),
        false => tracing::info!("nodes without a leader end jobs after {}", rules.fence_after),
    }
    let router = router.layer(Extension(rules)).layer(Extension(nodes));
    let mut servers = vec![tokio::spawn(net::serve(local, router.clone(), stopped()))];
    if !config.listen.is_empty() {
        let tls = TlsListener::bind(&config.listen, &peers.identity).await?;
        tracing::info!("listening on {} for nodes", tls.local_addr());
        let (router, revocations) = (router.clone(), core.revocations.clone());
        servers.push(tokio::spawn(net::serve_revocable(tls, router, stopped(), revocations)));
    }
    if !config.http_listen.is_empty() {
        let listener = HttpListener::bind(&config.http_listen, pem_files(config)?.as_ref()).await?;
        let (scheme, addr) = (listener.scheme(), listener.local_addr());
        tracing::info!("listening on {scheme}://{addr}/ for programs and browsers");
        let router = http::router(core.clone(), router, scheme == "https");
        servers.push(tokio::spawn(net::serve(listener, router, stopped())));
    }
    Ok(servers)
}
