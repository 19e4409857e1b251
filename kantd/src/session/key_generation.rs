//! The step of the replacements of the cluster key: the controller sends the present one, and the
//! node reports the one of its certificate.

use super::SessionError;
use common::wire::node::FromNode;
use net::ChannelSender;
use tokio::sync::watch;

/// Between the session and the renewal of the certificate.
#[derive(Debug, Clone)]
pub struct KeyGenerations {
    /// The step of the certificate.
    pub held: watch::Receiver<u32>,
    /// The present step, as far as the node knows.
    pub wanted: watch::Sender<u32>,
}

impl KeyGenerations {
    /// Of a node whose certificate is not renewed.
    #[must_use]
    pub fn without_renewal() -> Self {
        Self { held: watch::channel(0).1, wanted: watch::channel(0).0 }
    }

    /// Takes the present step. An older one is from a controller that is behind.
    pub(super) fn raise_wanted(&self, generation: u32) {
        self.wanted.send_if_modified(|wanted| {
            let is_news = generation > *wanted;
            *wanted = generation.max(*wanted);
            is_news
        });
    }

    /// Reports each new certificate, until the session ends.
    pub(super) async fn report(mut self, sender: ChannelSender<FromNode>) -> SessionError {
        while self.held.changed().await.is_ok() {
            let generation = *self.held.borrow_and_update();
            let renewed = FromNode::CertificateRenewed { generation };
            if sender.send(&renewed).await.is_err() {
                break;
            }
        }
        // An emulated node has no renewal, or the receiving half returns the reason.
        std::future::pending().await
    }
}
