//! Who was heard from, and where it says it is reached: a controller that is new has no other way
//! to know where its leader is. Never believes an address over TLS's word on who answers there.

use super::hello::HelloRefusal;
use common::id::ControllerId;
use std::collections::BTreeMap;
use std::mem::Discriminant;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// More have never been in one cluster.
const HEARD_MAX: usize = 64;

#[derive(Debug, Default)]
pub struct Book {
    heard: Mutex<BTreeMap<ControllerId, String>>,
    /// What each was refused for last.
    refused: Mutex<BTreeMap<ControllerId, Discriminant<HelloRefusal>>>,
    /// Held by who receives a snapshot.
    pub(super) snapshots: tokio::sync::Mutex<()>,
    /// Somebody was heard, from where it was not before or after it was away.
    pub(super) changed: Notify,
    /// Somebody is reached elsewhere than it was heard to be before.
    pub(super) moved: Notify,
}

impl Book {
    /// A controller said hello, and where it is reached.
    pub(super) fn hear(&self, from: ControllerId, address: &str) {
        let mut heard = self.entries();
        let fits = heard.len() < HEARD_MAX || heard.contains_key(&from);
        let is_told = !address.is_empty() && fits;
        let before = is_told.then(|| heard.insert(from, address.to_owned())).flatten();
        drop(heard);
        self.changed.notify_one();
        if is_told && before.as_deref() != Some(address) {
            self.moved.notify_one();
        }
    }

    /// Is this something else than was said of it last?
    pub(super) fn is_news(&self, from: ControllerId, refusal: Option<&HelloRefusal>) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match refusal.map(std::mem::discriminant) {
            None => refused.remove(&from).is_some(),
            Some(kind) if refused.len() < HEARD_MAX || refused.contains_key(&from) => {
                refused.insert(from, kind) != Some(kind)
            }
            Some(_) => false,
        }
    }

    /// Where each was heard to be.
    #[must_use]
    pub fn heard(&self) -> BTreeMap<ControllerId, String> {
        self.entries().clone()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<ControllerId, String>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    /// Whether somebody who waits for a move would go on now.
    fn tells(book: &Book) -> bool {
        pin!(book.moved.notified()).enable()
    }

    #[test]
    fn who_says_hello_from_elsewhere_has_moved_and_who_says_it_again_has_not() {
        let (book, one) = (Book::default(), ControllerId(2));
        book.hear(one, "10.0.0.2:7600");
        assert!(tells(&book), "the log may know it elsewhere");
        book.hear(one, "10.0.0.2:7600");
        book.hear(one, "");
        assert!(!tells(&book));
        book.hear(one, "10.0.0.9:7600");
        assert!(tells(&book));
        assert_eq!(book.heard()[&one], "10.0.0.9:7600");
    }
}
