//! The places for connections of hosts without a certificate, in all and by address, so that one
//! host cannot keep the others from joining.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use common::sync::Mutex;

/// The most connections of strangers at a time. More are closed unanswered: a host that joins tries
/// again.
const STRANGERS_MAX: usize = 256;
/// The most of them from one address.
const STRANGERS_EACH: usize = 16;

/// The connections of strangers that are open, by address.
#[derive(Debug, Clone, Default)]
pub(super) struct UncertifiedConnections(Arc<Mutex<BTreeMap<IpAddr, usize>>>);

/// One place; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    strangers: UncertifiedConnections,
    from: IpAddr,
}

impl UncertifiedConnections {
    /// A place for a connection from this address, unless there are too many.
    pub(super) fn try_acquire(&self, from: IpAddr) -> Option<Place> {
        let mut open = self.0.lock();
        let of_host = open.get(&from).copied().unwrap_or_default();
        if of_host >= STRANGERS_EACH || open.values().sum::<usize>() >= STRANGERS_MAX {
            return None;
        }
        open.insert(from, of_host + 1);
        Some(Place { strangers: self.clone(), from })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.strangers.0.lock();
        if let Some(count) = open.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_takes_some_places_and_all_together_no_more_than_there_are() {
        let strangers = UncertifiedConnections::default();
        let address = |number: u8| IpAddr::from([10, 0, 0, number]);
        let of_one: Vec<_> = std::iter::from_fn(|| strangers.try_acquire(address(1))).collect();
        assert_eq!(of_one.len(), STRANGERS_EACH);
        assert!(strangers.try_acquire(address(2)).is_some());
        let of_all: Vec<_> = (2..=255)
            .flat_map(|number| std::iter::from_fn(move || Some(number)).take(STRANGERS_EACH))
            .filter_map(|number| strangers.try_acquire(address(number)))
            .collect();
        assert_eq!(of_one.len() + of_all.len(), STRANGERS_MAX);
        drop((of_one, of_all));
        assert!(strangers.0.lock().is_empty());
    }
}
