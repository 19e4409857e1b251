//! Speaks for a job that lives on a lease, and for the starters of a step on other nodes, from a
//! thread of its own: whatever else waits (a pager that reads no more, a slow controller), both
//! live as long as this process does, and not much longer. Never ends anything itself.

use super::line::Spot;
use crate::server::{Again, Server};
use common::id::JobKey;
use common::wire::api::AttendAnswer;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// How long a job or a starter lives when nobody speaks for it, unless [`VARIABLE`] says otherwise.
const LEASE: Duration = Duration::from_secs(60);
/// A lease in seconds, for tests.
const VARIABLE: &str = "KANT_LEASE_SECONDS";
/// It is spoken for so often in a lease.
const TIMES: u32 = 4;
/// So often while nobody answers.
const TIMES_UNHEARD: u32 = 30;
/// No answer is waited for longer than this part of a lease; but a slow machine has its time.
const LIMITS: u32 = 6;
const LIMIT_MIN: Duration = Duration::from_secs(1);
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
    _alive: oneshot::Sender<()>,
}

impl Keeper {
    /// Begins to speak, for this job if it lives on a lease.
    #[must_use]
    pub fn start(server: &Server, job: Option<JobKey>) -> Self {
        let spots: Arc<Mutex<Vec<Spot>>> = Arc::default();
        let (alive, gone) = oneshot::channel::<()>();
        // Who died without a word is not waited for until the lease is over.
        let limit = (lease() / LIMITS).max(LIMIT_MIN);
        let (server, all) = (server.fresh_within(limit), Arc::clone(&spots));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // Without threads or sockets nothing else goes on either.
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                tokio::select! {
                    never = for_job(&server, job) => match never {},
                    never = for_spots(&server, &all) => match never {},
                    _ = gone => {}
                }
            });
        });
        Self { spots, _alive: alive }
    }

    /// Where starters are noted that it is to speak for.
    #[must_use]
    pub fn spots(&self) -> Arc<Mutex<Vec<Spot>>> {
        Arc::clone(&self.spots)
    }
}

async fn for_job(server: &Server, job: Option<JobKey>) -> Infallible {
    let Some(job) = job else { return std::future::pending().await };
    let path = format!("/v1/jobs/{job}/attend");
    loop {
        let asked = server.post::<_, AttendAnswer>(&path, &(), Again::IfUnanswered).await;
        sleep(if asked.is_ok() { lease() / TIMES } else { lease() / TIMES_UNHEARD }).await;
    }
}

/// Beside the job: a node that does not answer holds up only those behind it.
async fn for_spots(server: &Server, all: &Mutex<Vec<Spot>>) -> Infallible {
    loop {
        let spots = all.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for spot in spots {
            // Heard is heard, whatever the answer.
            let path = spot.watch([NOWHERE; 2], 0);
            let _ = server.get_bytes_for(&path, Duration::ZERO).await;
        }
        sleep(lease() / TIMES).await;
    }
}
