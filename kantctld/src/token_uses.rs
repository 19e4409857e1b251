//! The last use of each token, as far as this controller remembers.
//!
//! It is not in the log: a request that only reads must not write, and the number of entries must
//! not depend on the number of requests. A new leader begins without any.

use common::sync::Mutex;
use common::time::Time;
use common::token::TokenId;
use std::collections::BTreeMap;

/// The number of tokens at which those that no longer exist are dropped.
const TIDY_AT: usize = 1024;

#[derive(Debug, Default)]
pub struct TokenUses(Mutex<BTreeMap<TokenId, Time>>);

impl TokenUses {
    /// Notes a use. `exists` is asked about other tokens from time to time.
    pub fn note(&self, id: TokenId, now: Time, exists: impl Fn(&TokenId) -> bool) {
        let mut uses = self.0.lock();
        if uses.len() >= TIDY_AT && !uses.contains_key(&id) {
            uses.retain(|id, _| exists(id));
        }
        uses.insert(id, now);
    }

    pub fn last_use(&self, id: &TokenId) -> Option<Time> {
        self.0.lock().get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> TokenId {
        TokenId::of_hash(&format!("{number:012x}"))
    }

    #[test]
    fn tokens_that_are_gone_are_forgotten() {
        let uses = TokenUses::default();
        for number in 0..TIDY_AT {
            uses.note(id(number), Time(number as u64), |_| true);
        }
        uses.note(id(7), Time(9000), |_| false);
        assert_eq!(
            (uses.last_use(&id(7)), uses.last_use(&id(0))),
            (Some(Time(9000)), Some(Time(0)))
        );
        uses.note(id(TIDY_AT), Time(9001), |kept| *kept == id(7));
        assert_eq!((uses.last_use(&id(7)), uses.last_use(&id(0))), (Some(Time(9000)), None));
        assert_eq!(uses.0.lock().len(), 2);
    }
}
