//! Reading tokens.

use super::State;
use crate::token::Token;
use common::hex::is_hex;
use common::time::Time;
use common::token::TokenId;

impl State {
    /// The token with this hash of its secret; `None` if it has expired at `now`, or by the time of
    /// the last command.
    #[must_use]
    pub fn token(&self, hash: &str, now: Time) -> Option<&Token> {
        self.tokens.get(hash).filter(|token| token.until > now.max(self.now))
    }

    /// The token with this id, and the hash of its secret.
    #[must_use]
    pub fn token_by_id(&self, id: &TokenId) -> Option<(&str, &Token)> {
        let start = id.to_string();
        let (hash, token) = self.tokens.range(start.clone()..).next()?;
        let is_valid = hash.starts_with(&start) && token.until > self.now;
        is_valid.then_some((hash.as_str(), token))
    }

    /// All valid tokens with their ids.
    pub fn tokens(&self) -> impl Iterator<Item = (TokenId, &Token)> {
        let valid = self.tokens.iter().filter(|(_, token)| token.until > self.now);
        valid.map(|(hash, token)| (TokenId::of_hash(hash), token))
    }

    /// Removes all tokens. For a state restored from a backup, after which some may have been
    /// revoked.
    pub fn revoke_tokens(&mut self) {
        self.tokens.clear();
    }

    /// Whether this is the hex form of a hash.
    pub(crate) fn is_hash(text: &str) -> bool {
        text.len() == 64 && is_hex(text)
    }
}
