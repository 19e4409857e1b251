//! Speaks for a job that lives on a lease, and for the starters of a step on other nodes, from a
//! thread of its own: whatever else waits (a pager that reads no more, a slow controller), both
//! live as long as this process does, and not much longer. Never ends anything itself.

use super::line::Spot;
use crate::server::{Again, Server};
use common::id::JobKey;
use common::wire::api::AttendAnswer;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a job or a starter lives when nobody speaks for it, unless [`VARIABLE`] says otherwise.
const LEASE: Duration = Duration::from_secs(60);
/// A lease in seconds, for tests.
const VARIABLE: &str = "KANT_LEASE_SECONDS";
/// It is spoken for so often in a lease.
const TIMES: u32 = 4;
/// Beyond any file's end: asks for nothing but to be heard.
const NOWHERE: u64 = i64::MAX as u64;

/// The lease in force.
#[must_use]
pub fn lease() -> Duration {
    let told = std::env::var(VARIABLE).ok().and_then(|text| text.parse().ok());
    told.map_or(LEASE, Duration::from_secs)
}

/// Speaks until it is dropped.
#[derive(Debug)]
pub struct Keeper {
    spots: Arc<Mutex<Vec<Spot>>>,
    /// Dropped with this, which ends the thread.
    _alive: Sender<()>,
}

impl Keeper {
    /// Begins to speak, for this job if it lives on a lease.
    #[must_use]
    pub fn start(server: &Server, job: Option<JobKey>) -> Self {
        let spots: Arc<Mutex<Vec<Spot>>> = Arc::default();
        let (alive, wait) = channel();
        let (server, all) = (server.fresh(), Arc::clone(&spots));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // Without threads or sockets nothing else goes on either.
            let Ok(runtime) = runtime else { return };
            let pause = lease() / TIMES;
            loop {
                if let Some(job) = job {
                    runtime.block_on(attend(&server, job));
                }
                let spots = all.lock().unwrap_or_else(PoisonError::into_inner).clone();
                for spot in spots {
                    // Heard is heard, whatever the answer.
                    let path = spot.watch([NOWHERE; 2], 0);
                    let _ = runtime.block_on(server.get_bytes_for(&path, Duration::ZERO));
                }
                if wait.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Self { spots, _alive: alive }
    }

    /// Where starters are noted that it is to speak for.
    #[must_use]
    pub fn spots(&self) -> Arc<Mutex<Vec<Spot>>> {
        Arc::clone(&self.spots)
    }
}

async fn attend(server: &Server, job: JobKey) {
    let path = format!("/v1/jobs/{job}/attend");
    // The next time, if not now; a lease has several.
    let asked = server.post::<_, AttendAnswer>(&path, &(), Again::IfUnanswered).await;
    drop(asked);
}
