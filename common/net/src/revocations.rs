//! The end of connections whose certificate became invalid.

use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::caller::Caller;
use crate::role::Role;

/// How many revocations a connection may be behind before it is ended unseen.
const BEHIND_MAX: usize = 1024;

/// The longest time that a connection stays open after its authority is no longer trusted. They
/// end one after the other, because their owners connect again at once.
pub const LINGER: Duration = Duration::from_secs(3);

/// Announces invalid certificates to the connections of a listener.
#[derive(Debug, Clone)]
pub struct Revocations(broadcast::Sender<Revoked>);

#[derive(Debug, Clone)]
enum Revoked {
    /// The certificates of a node up to this enrolment.
    Node { name: String, enrolment: u32 },
    /// Those of an authority that is no longer trusted.
    Authority,
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
        let _ = self.0.send(Revoked::Node { name: name.to_owned(), enrolment });
    }

    /// Ends all HTTP connections that were made with a certificate before now, because an authority
    /// is no longer trusted. [`crate::TrustEpoch::end_earlier_connections`] ends what is left after
    /// [`LINGER`].
    pub fn announce_authority(&self) {
        let _ = self.0.send(Revoked::Authority);
    }

    /// Returns when the certificate of this caller is invalid.
    pub(crate) fn wait(&self, caller: &Caller) -> impl Future<Output = ()> + use<> {
        let role = match caller {
            Caller::Peer(role) => Some(role.clone()),
            _ => None,
        };
        let mut revoked = self.0.subscribe();
        async move {
            let Some(role) = role else { return std::future::pending().await };
            loop {
                match revoked.recv().await {
                    Ok(Revoked::Authority) => {
                        return tokio::time::sleep(LINGER.mul_f64(fastrand::f64())).await;
                    }
                    Ok(one) if one.concerns(&role) => return,
                    Ok(_) => {}
                    // The node connects again, if it may.
                    Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => return std::future::pending().await,
                }
            }
        }
    }
}

impl Revoked {
    fn concerns(&self, role: &Role) -> bool {
        match (self, role) {
            (Self::Node { name, enrolment }, Role::Node { name: own, enrolment: held }) => {
                name == own && held <= enrolment
            }
            (Self::Node { .. }, Role::Controller) => false,
            (Self::Authority, _) => true,
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

    #[tokio::test]
    async fn all_connections_end_after_their_authority_and_not_all_at_once() {
        let revocations = Revocations::default();
        let node = Caller::Peer(Role::Node { name: "g1".to_owned(), enrolment: 1 });
        let mut waits = tokio::task::JoinSet::new();
        (0..64).for_each(|_| drop(waits.spawn(revocations.wait(&node))));
        waits.spawn(revocations.wait(&Caller::Peer(Role::Controller)));
        let program = tokio::spawn(revocations.wait(&Caller::Stranger([127, 0, 0, 1].into())));
        revocations.announce_authority();
        waits.join_next().await.unwrap().unwrap();
        assert!(waits.try_join_next().is_none(), "the others end later");
        while let Some(ended) = waits.join_next().await {
            ended.unwrap();
        }
        assert!(!program.is_finished());
    }
}
