//! The end of connections whose certificate became invalid.

use tokio::sync::broadcast::{self, error::RecvError};

use crate::caller::Caller;
use crate::role::Role;

/// How many revocations a connection may be behind before it is ended unseen.
const BEHIND_MAX: usize = 1024;

/// Announces revoked certificates to the connections of a listener.
#[derive(Debug, Clone)]
pub struct Revocations(broadcast::Sender<Revoked>);

/// The certificates of a node up to this enrolment.
#[derive(Debug, Clone)]
struct Revoked {
    name: String,
    enrolment: u32,
}

impl Default for Revocations {
    fn default() -> Self {
        Self(broadcast::channel(BEHIND_MAX).0)
    }
}

impl Revocations {
    /// Ends the connections of this node with a certificate of this enrolment or an earlier one.
    pub fn announce(&self, name: &str, enrolment: u32) {
        // An error means that there is no connection.
        let _ = self.0.send(Revoked { name: name.to_owned(), enrolment });
    }

    /// Returns when the certificate of this caller is revoked.
    pub(crate) fn wait(&self, caller: &Caller) -> impl Future<Output = ()> + use<> {
        let node = match caller {
            Caller::Peer(Role::Node { name, enrolment }) => Some((name.clone(), *enrolment)),
            _ => None,
        };
        let mut revoked = self.0.subscribe();
        async move {
            let Some((name, enrolment)) = node else { return std::future::pending().await };
            loop {
                match revoked.recv().await {
                    Ok(one) if one.name == name && enrolment <= one.enrolment => return,
                    Ok(_) => {}
                    // The node connects again, if it may.
                    Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => return std::future::pending().await,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_connections_of_the_revoked_enrolment_end() {
        let revocations = Revocations::default();
        let caller =
            |name: &str, enrolment| Caller::Peer(Role::Node { name: name.to_owned(), enrolment });
        let waits = [("g1", 1), ("g1", 2), ("g1", 3), ("g2", 1)]
            .map(|(name, enrolment)| tokio::spawn(revocations.wait(&caller(name, enrolment))));
        let controller = tokio::spawn(revocations.wait(&Caller::Peer(Role::Controller)));
        revocations.announce("g1", 2);
        let [first, second, third, other] = waits;
        first.await.unwrap();
        second.await.unwrap();
        tokio::task::yield_now().await;
        assert!(!third.is_finished() && !other.is_finished() && !controller.is_finished());
    }
}
