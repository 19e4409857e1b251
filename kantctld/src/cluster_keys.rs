//! The cluster keys of this controller: their file, the authorities that follow from them, and this
//! controller's certificate. All change together when the log says so, while connections use them.

mod follow;

use crate::cluster_keys::follow::{Followed, keys_at_step};
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
    /// Held by an operator's request for a new key.
    pub rotating: tokio::sync::Mutex<()>,
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
    /// Another controller sends it while the replacement is in progress.
    #[error(
        "this controller does not have the cluster key of authority {0}: one that has it must run; \
         if none has it, `kantctl admin key cancel` goes back to the old key in the first step; if \
         the replacement is over, this controller was left behind, and is rebuilt with \
         `kantctld rebuild`; after `kantctld found-key`, run `kantctl admin key adopt`"
    )]
    Lacks(
        /// The fingerprint.
        String,
    ),
    #[error("this is not the cluster key that the log names as the new one")]
    NotExpected,
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
            rotating: tokio::sync::Mutex::default(),
            step: Notify::new(),
            news: Notify::new(),
        })
    }

    /// This controller's certificate. Clones are replaced together.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn held_keys(&self) -> Arc<Held> {
        self.held.read().clone()
    }

    /// Holds a new key that is about to become the cluster's, before the log has it.
    ///
    /// # Errors
    /// [`KeyStoreError`].
    pub fn hold_new_key(&self, new: ClusterKey) -> Result<(), KeyStoreError> {
        let _changing = self.changing.lock();
        let keys = ClusterKeys { other: Some(new), ..self.held_keys().keys.clone() };
        self.replace(keys)
    }

    /// Drops a key that did not become the cluster's.
    ///
    /// # Errors
    /// [`KeyStoreError`].
    pub fn drop_new_key(&self, new: &ClusterKey) -> Result<(), KeyStoreError> {
        let _changing = self.changing.lock();
        let held = self.held_keys();
        match held.keys.other.as_ref() == Some(new) {
            true => self.replace(ClusterKeys { other: None, ..held.keys.clone() }),
            false => Ok(()),
        }
    }

    /// Takes the new key from another controller, and follows the step that the log is at.
    ///
    /// # Errors
    /// [`KeyStoreError::NotExpected`]: it is not the one that the log names.
    pub fn accept_new_key(
        &self,
        new: ClusterKey,
        status: &KeyStatus,
    ) -> Result<Change, KeyStoreError> {
        let _changing = self.changing.lock();
        let wanted = status.rotation.as_ref().map(|rotation| rotation.new.as_str());
        if wanted != Some(authority_fingerprint(&new)?.as_str()) {
            return Err(KeyStoreError::NotExpected);
        }
        let before = self.held_keys();
        if before.keys.issuing == new || before.keys.generation >= status.generation {
            return Ok(Change::None);
        }
        let keys = ClusterKeys { other: Some(new), ..before.keys.clone() };
        self.follow_step_with(&keys, status)
    }

    /// Follows the step that the log is at.
    ///
    /// # Errors
    /// [`KeyStoreError`]; nothing has changed then.
    pub fn follow_step(&self, status: &KeyStatus) -> Result<Change, KeyStoreError> {
        let _changing = self.changing.lock();
        let keys = self.held_keys().keys.clone();
        self.follow_step_with(&keys, status)
    }

    fn follow_step_with(
        &self,
        keys: &ClusterKeys,
        status: &KeyStatus,
    ) -> Result<Change, KeyStoreError> {
        match keys_at_step(keys, status, authority_fingerprint)? {
            Followed::Already => Ok(Change::None),
            Followed::With(followed) => {
                let is_one_less = keys.other.is_some() && followed.other.is_none();
                self.replace(followed)?;
                Ok(if is_one_less { Change::OneTrustedLess } else { Change::Step })
            }
            Followed::Lacks(authority) => Err(KeyStoreError::Lacks(authority)),
        }
    }

    /// The file first: a controller that stops now starts with the new keys.
    fn replace(&self, keys: ClusterKeys) -> Result<(), KeyStoreError> {
        let authorities = Authorities::new(&keys)?;
        let identity = authorities.identity()?;
        keys.overwrite_file(&self.path)?;
        self.identity.replace(&identity);
        *self.held.write() = Arc::new(Held { keys, authorities });
        Ok(())
    }
}

/// The fingerprint of a key's authority.
///
/// # Errors
/// [`IdentityError`]: a defect.
pub fn authority_fingerprint(key: &ClusterKey) -> Result<String, IdentityError> {
    Ok(net::Authority::new(key)?.fingerprint())
}

#[cfg(test)]
mod tests;
