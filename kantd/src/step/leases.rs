//! Leases of programs started in steps. A program's client renews its lease; when it stops doing
//! so, the program gets SIGHUP and later SIGKILL. After a restart kantd learns of each lease at its
//! next renewal. Leases of suspended jobs do not expire.

use super::handle::Steps;
use super::registry::StepRequest;
use common::id::{AttemptId, TaskNumber};
use common::job::SignalNumber;
use common::sync::Mutex;
use common::time::Span;
use common::wire::node::{StepPhase, TaskState};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Time between SIGHUP and SIGKILL, in which a launcher gives its tasks their own grace period. Not
/// SIGTERM, which would reach all processes of the job, including its tasks.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval of checks for expired leases.
const LEASE_CHECK_PAUSE: Duration = Duration::from_secs(1);

pub type Key = (AttemptId, TaskNumber);

/// The state of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// It runs or is starting.
    Alive,
    /// Its job is suspended, and perhaps the client with it.
    Suspended,
    Ended,
}

#[derive(Debug)]
struct Lease {
    length: Duration,
    renewed_at: Instant,
    /// When the last signal was due.
    signalled_at: Option<Instant>,
}

#[derive(Debug, Default)]
pub struct Leases(Mutex<BTreeMap<Key, Lease>>);

impl Leases {
    /// Renews a lease of this length; `None` for a request that renews none.
    pub fn renew(&self, key: Key, length: Option<Span>) {
        let Some(length) = length.map(|length| Duration::from_millis(length.0)) else { return };
        self.0.lock().insert(key, Lease { length, renewed_at: Instant::now(), signalled_at: None });
    }

    /// Renews all leases.
    pub fn renew_all(&self) {
        let now = Instant::now();
        self.0.lock().values_mut().for_each(|lease| lease.renewed_at = now);
    }

    /// The signals due now to programs with an expired lease.
    pub fn due_signals(&self, state: impl Fn(Key) -> LeaseState) -> Vec<(Key, Signal)> {
        let now = Instant::now();
        let mut due_signals = Vec::new();
        self.0.lock().retain(|key, lease| {
            match state(*key) {
                LeaseState::Ended => return false,
                LeaseState::Suspended => lease.renewed_at = now,
                LeaseState::Alive => {}
            }
            match lease.signalled_at {
                None if now.duration_since(lease.renewed_at) >= lease.length => {
                    lease.signalled_at = Some(now);
                    due_signals.push((*key, Signal::SIGHUP));
                }
                Some(signalled_at) if now.duration_since(signalled_at) >= PATIENCE => {
                    lease.signalled_at = Some(now);
                    due_signals.push((*key, Signal::SIGKILL));
                }
                _ => {}
            }
            true
        });
        due_signals
    }
}

impl Steps {
    /// Signals programs with expired leases, as long as a session lasts.
    async fn expire_leases(&self) -> Infallible {
        self.leases().renew_all();
        self.ledgers().renew_all();
        loop {
            sleep(LEASE_CHECK_PAUSE).await;
            self.ledgers().pause_leases(self.registry());
            for ((id, task), signal) in
                self.leases().due_signals(|(id, task)| self.lease_state(id, task))
            {
                tracing::info!("the lease of program {task} in {id} has expired: sending {signal}");
                let number = SignalNumber(u8::try_from(signal as i32).unwrap_or_default());
                self.registry().send(id, StepRequest::Signal(task, number));
            }
        }
    }

    /// A program's state with respect to its lease.
    fn lease_state(&self, id: AttemptId, task: TaskNumber) -> LeaseState {
        match self.registry().task(id, task) {
            Some((StepPhase::Running { suspended: true, .. }, _)) => LeaseState::Suspended,
            Some((_, None | Some(TaskState::Running))) => LeaseState::Alive,
            Some((_, Some(_))) | None => LeaseState::Ended,
        }
    }
}

/// Signals programs with expired leases while a session lasts. Clients cannot renew leases without
/// one, so that leases do not expire then.
pub async fn expire_leases(steps: Option<&Steps>) -> Infallible {
    match steps {
        Some(steps) => steps.expire_leases().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{Attempt, JobId, JobKey};

    fn key(task: u64) -> Key {
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        (id, TaskNumber(task))
    }

    #[test]
    fn an_expired_lease_signals_once_and_ended_programs_are_forgotten() {
        let leases = Leases::default();
        leases.renew(key(1), Some(Span(0)));
        leases.renew(key(2), Some(Span::from_minutes(5)));
        leases.renew(key(3), None);
        let alive = |_| LeaseState::Alive;
        assert_eq!(leases.due_signals(alive), [(key(1), Signal::SIGHUP)]);
        assert_eq!(leases.due_signals(alive), []);
        assert_eq!(leases.due_signals(|_| LeaseState::Ended), []);
        assert!(leases.0.lock().is_empty());
    }
}
