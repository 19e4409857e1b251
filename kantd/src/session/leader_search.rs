//! The search for another leader while the session's controller is silent. When its host loses
//! power or is cut off, nothing ends the connection for a while, but the other controllers have
//! elected a leader. The session goes on until one is found: a controller that is only slow keeps
//! its nodes.

use super::confirmation::Confirmations;
use super::error::SessionError;
use super::rotation::{ControllerRotation, Ending};
use super::{Connected, Session, SessionTiming};
use net::Endpoint;
use std::time::Duration;
use tokio::time::sleep;

impl Session {
    /// Returns a session with another controller, which leads, after requests to this one to
    /// confirm that it leads have stayed unanswered.
    pub(super) async fn find_other_leader(
        &self,
        current: &Endpoint,
        confirmations: &Confirmations,
    ) -> Connected {
        let current = current.to_string();
        let others = self.controllers.iter().filter(|other| other.to_string() != current);
        let others: Vec<Endpoint> = others.cloned().collect();
        if others.is_empty() {
            return std::future::pending().await;
        }
        let limit = self.timing.confirm_limit;
        // If the controller is only slow, all nodes ask the others: less and less often.
        let timing = SessionTiming { leaderless_cap: self.timing.redial_cap, ..self.timing };
        loop {
            sleep(limit / 4).await;
            if !confirmations.are_overdue(limit) {
                continue;
            }
            // Not all nodes at once.
            sleep(limit.mul_f64(fastrand::f64())).await;
            let mut rotation = ControllerRotation::new(others.clone(), timing);
            while confirmations.are_overdue(limit) {
                let controller = rotation.next();
                let ending = match self.connect(&controller).await {
                    Ok(connected) => return connected,
                    Err(SessionError::NotLeader(_)) => {
                        // The leader that it names may be the silent controller, by another name.
                        Ending::NotLeader(None)
                    }
                    // One that refuses this node must not delay the question to the next.
                    Err(_) => Ending::Unreached,
                };
                tracing::debug!("searched for a leader at {controller}: {ending:?}");
                sleep(rotation.wait_after(ending, Duration::ZERO)).await;
            }
        }
    }
}
