//! What the shared parts are made of.

use crate::access::Access;
use crate::audit::Audit;
use crate::cluster_keys::KeyStore;
use crate::history::History;
use crate::mail::MailQueue;
use common::id::ControllerId;
use std::sync::Arc;

/// Who may do what, and what proves it.
pub struct Trust {
    pub access: Access,
    pub keys: Arc<KeyStore>,
}

/// Where the controller records what it did.
pub struct Recorders {
    pub history: History,
    pub mail: MailQueue,
    pub audit: Audit,
}

/// The current leader, as far as this controller knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderHint {
    pub id: ControllerId,
    /// `host:port`.
    pub address: String,
}
