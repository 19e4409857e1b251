//! Renewal of leases, in a thread of its own: of a job that depends on this process, and of the
//! launchers of a step on other nodes. They live as long as this process, even if the rest of it is
//! blocked (by a pager, or a slow controller), and not much longer.

use super::connection::LauncherAddress;
use crate::server::{Retry, Server};
use common::id::JobKey;
use common::sync::Mutex;
use common::wire::api::AttendAnswer;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The lease of a job or a launcher, unless [`VARIABLE`] overrides it.
const LEASE: Duration = Duration::from_secs(60);
/// The lease in seconds, for tests.
const VARIABLE: &str = "KANT_LEASE_SECONDS";
/// Renewals per lease.
const TIMES: u32 = 4;
/// Renewals per lease while there is no answer.
const TIMES_UNHEARD: u32 = 30;
/// The timeout of a renewal is this part of a lease, with a minimum for slow machines.
const LIMITS: u32 = 6;
const LIMIT_MIN: Duration = Duration::from_secs(1);
/// An offset beyond the end of any file: the request only renews the lease.
const NOWHERE: u64 = i64::MAX as u64;

/// The lease in force.
#[must_use]
pub fn lease_duration() -> Duration {
    let configured = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    configured.map_or(LEASE, Duration::from_secs)
}

/// Renews leases until it is dropped.
#[derive(Debug)]
pub struct LeaseRenewer {
    launchers: Arc<Mutex<Vec<LauncherAddress>>>,
    /// Dropped with this, which ends the thread.
    _alive: oneshot::Sender<()>,
}

impl LeaseRenewer {
    /// Starts the thread; `job` is the job whose lease is renewed.
    #[must_use]
    pub fn start(server: &Server, job: Option<JobKey>) -> Self {
        let launchers: Arc<Mutex<Vec<LauncherAddress>>> = Arc::default();
        let (alive, gone) = oneshot::channel::<()>();
        // Never wait for a dead peer until the lease has expired.
        let limit = (lease_duration() / LIMITS).max(LIMIT_MIN);
        let (server, all) = (server.reconnected_with_timeout(limit), Arc::clone(&launchers));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // If there are no threads or sockets left, nothing else works either.
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                tokio::select! {
                    never = renew_job_lease(&server, job) => match never {},
                    never = renew_launcher_leases(&server, &all) => match never {},
                    _ = gone => {}
                }
            });
        });
        Self { launchers, _alive: alive }
    }

    /// The list of launchers, to which new ones are added.
    #[must_use]
    pub fn launchers(&self) -> Arc<Mutex<Vec<LauncherAddress>>> {
        Arc::clone(&self.launchers)
    }
}

async fn renew_job_lease(server: &Server, job: Option<JobKey>) -> Infallible {
    let Some(job) = job else { return std::future::pending().await };
    let path = format!("/v1/jobs/{job}/attend");
    loop {
        let asked = server.post::<_, AttendAnswer>(&path, &(), Retry::IfUnanswered).await;
        sleep(if asked.is_ok() {
            lease_duration() / TIMES
        } else {
            lease_duration() / TIMES_UNHEARD
        })
        .await;
    }
}

/// Runs concurrently with the job's renewal: a node that does not answer delays only later nodes.
async fn renew_launcher_leases(server: &Server, all: &Mutex<Vec<LauncherAddress>>) -> Infallible {
    loop {
        let launchers = all.lock().clone();
        for launcher in launchers {
            // Any answer means that the lease was renewed.
            let path = launcher.output_path([NOWHERE; 2], 0);
            let _ = server.get_bytes_retrying(&path, Duration::ZERO).await;
        }
        sleep(lease_duration() / TIMES).await;
    }
}
