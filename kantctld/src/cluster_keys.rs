//! The cluster keys of this controller: their file, the authorities that follow from them, and this
//! controller's certificate. All change together when the log says so, while connections use them.

mod follow;

use crate::cluster_keys::follow::{Followed, follow};
use common::sync::{Mutex, RwLock};
use net::{Authorities, ClusterKey, ClusterKeys, Identity, IdentityError, KeyError};
use state::key_rotation::KeyStatus;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;

/// The keys, and where they are kept.
pub struct KeyStore {
    path: PathBuf,
    identity: Identity,
    held: RwLock<Arc<Held>>,
    /// Held while the keys change.
    changing: Mutex<()>,
    /// Notified when the log has a step that this controller is to follow.
    pub step: Notify,
    /// Notified when a host may have followed a step.
    pub news: Notify,
}

/// The keys at one time.
pub struct Held {
    pub keys: ClusterKeys,
    pub authorities: Authorities,
}

/// Why this controller does not follow a step of the replacement of the cluster key.
#[derive(Debug, thiserror::Error)]
pub enum KeyStoreError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// It must come from another controller.
    #[error("this controller does not have the cluster key of authority {0}")]
    Lacks(
        /// The fingerprint.
        String,
    ),
}

/// The outcome of following a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    None,
    /// Another step is followed.
    Step,
    /// The same, and an authority is no longer trusted.
    OneTrustedLess,
}

impl KeyStore {
    /// # Errors
    /// [`KeyStoreError::Key`], [`KeyStoreError::Identity`].
    pub fn open(path: &Path) -> Result<Self, KeyStoreError> {
        let keys = ClusterKeys::load(path)?;
        let authorities = Authorities::new(&keys)?;
        Ok(Self {
            path: path.to_owned(),
            identity: authorities.identity()?,
            held: RwLock::new(Arc::new(Held { keys, authorities })),
            changing: Mutex::default(),
            step: Notify::new(),
            news: Notify::new(),
        })
    }

    /// This controller's certificate. Clones are replaced together.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn held(&self) -> Arc<Held> {
        self.held.read().clone()
    }

    /// Takes a key that may become the cluster's. Certificates of its authority are trusted from
    /// now on; only controllers have it.
    ///
    /// # Errors
    /// [`KeyStoreError`].
    pub fn take_other(&self, other: ClusterKey) -> Result<(), KeyStoreError> {
        let _changing = self.changing.lock();
        let keys = ClusterKeys { other: Some(other), ..self.held().keys.clone() };
        self.replace(keys)
    }

    /// Follows the step that the log is at.
    ///
    /// # Errors
    /// [`KeyStoreError`]; nothing has changed then.
    pub fn follow(&self, status: &KeyStatus) -> Result<Change, KeyStoreError> {
        let _changing = self.changing.lock();
        let before = self.held();
        match follow(&before.keys, status, authority)? {
            Followed::Already => Ok(Change::None),
            Followed::With(keys) => {
                let is_one_less = before.keys.other.is_some() && keys.other.is_none();
                self.replace(keys)?;
                Ok(if is_one_less { Change::OneTrustedLess } else { Change::Step })
            }
            Followed::Lacks(authority) => Err(KeyStoreError::Lacks(authority)),
        }
    }

    /// The file first: a controller that stops now starts with the new keys.
    fn replace(&self, keys: ClusterKeys) -> Result<(), KeyStoreError> {
        let authorities = Authorities::new(&keys)?;
        let identity = authorities.identity()?;
        keys.replace(&self.path)?;
        self.identity.replace(&identity);
        *self.held.write() = Arc::new(Held { keys, authorities });
        Ok(())
    }
}

/// The fingerprint of a key's authority.
///
/// # Errors
/// [`IdentityError`]: a defect.
pub fn authority(key: &ClusterKey) -> Result<String, IdentityError> {
    Ok(net::Authority::new(key)?.fingerprint())
}

#[cfg(test)]
mod tests;
