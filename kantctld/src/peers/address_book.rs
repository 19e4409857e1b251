//! The addresses that other controllers announce. A new controller has no other way to learn where
//! its leader is. TLS proves the identity behind an address.

use super::handshake::HelloRefusal;
use common::id::ControllerId;
use common::sync::Mutex;
use std::collections::BTreeMap;
use std::mem::Discriminant;
use tokio::sync::Notify;

/// More controllers than any cluster has had.
const ENTRIES_MAX: usize = 64;

#[derive(Debug, Default)]
pub struct AddressBook {
    addresses: Mutex<BTreeMap<ControllerId, String>>,
    /// The release of each, from its last hello.
    releases: Mutex<BTreeMap<ControllerId, String>>,
    /// The last refusal of each.
    refused: Mutex<BTreeMap<ControllerId, Discriminant<HelloRefusal>>>,
    /// Held while a snapshot is received.
    pub(super) snapshots: tokio::sync::Mutex<()>,
    /// A controller connected.
    pub(super) changed: Notify,
    /// A controller announced another address than before.
    pub(super) moved: Notify,
}

impl AddressBook {
    /// Notes the address in a controller's hello.
    pub(super) fn note_address(&self, from: ControllerId, address: &str) {
        let mut addresses = self.addresses.lock();
        let fits = addresses.len() < ENTRIES_MAX || addresses.contains_key(&from);
        let is_kept = !address.is_empty() && fits;
        let before = is_kept.then(|| addresses.insert(from, address.to_owned())).flatten();
        drop(addresses);
        self.changed.notify_one();
        if is_kept && before.as_deref() != Some(address) {
            self.moved.notify_one();
        }
    }

    /// Notes the release in a controller's hello.
    pub(super) fn note_release(&self, from: ControllerId, release: &str) {
        let mut releases = self.releases.lock();
        if releases.len() < ENTRIES_MAX || releases.contains_key(&from) {
            releases.insert(from, release.to_owned());
        }
    }

    /// The release that a controller had when it last connected.
    #[must_use]
    pub fn release(&self, id: ControllerId) -> Option<String> {
        self.releases.lock().get(&id).cloned()
    }

    /// Whether this outcome differs from the controller's last one.
    pub(super) fn is_new_refusal(
        &self,
        from: ControllerId,
        refusal: Option<&HelloRefusal>,
    ) -> bool {
        let mut refused = self.refused.lock();
        match refusal.map(std::mem::discriminant) {
            None => refused.remove(&from).is_some(),
            Some(kind) if refused.len() < ENTRIES_MAX || refused.contains_key(&from) => {
                refused.insert(from, kind) != Some(kind)
            }
            Some(_) => false,
        }
    }

    /// The address that each controller announced.
    #[must_use]
    pub fn addresses(&self) -> BTreeMap<ControllerId, String> {
        self.addresses.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    /// Whether a task that waits for `moved` would wake now.
    fn is_notified(book: &AddressBook) -> bool {
        pin!(book.moved.notified()).enable()
    }

    #[test]
    fn a_hello_with_another_address_is_a_move_and_a_repeated_one_is_not() {
        let (book, one) = (AddressBook::default(), ControllerId(2));
        book.note_address(one, "10.0.0.2:7600");
        assert!(is_notified(&book), "the log may have another address");
        book.note_address(one, "10.0.0.2:7600");
        book.note_address(one, "");
        assert!(!is_notified(&book));
        book.note_address(one, "10.0.0.9:7600");
        assert!(is_notified(&book));
        assert_eq!(book.addresses()[&one], "10.0.0.9:7600");
    }
}
