//! Tokens for programs that use the HTTP listener, and their scopes. The scope that a route needs
//! is in [`crate::route`].

mod scope;

use crate::hex::is_hex;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

pub use scope::{Scope, ScopeError, Scopes};

/// The beginning of each token, by which people and secret scanners recognize one.
pub const TOKEN_PREFIX: &str = "kant-token-";
/// The environment variable in which programs keep their token. It does not become part of a job.
pub const TOKEN_VARIABLE: &str = "KANT_TOKEN";
/// The most tokens of one user that have not expired.
pub const TOKENS_EACH: usize = 50;
/// The longest time that a token is valid.
pub const LIFESPAN_MAX: Span = Span::from_seconds(366 * 86_400);
/// The longest name of a token, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

const ID_DIGITS: usize = 12;

/// The variable of Slurm's commands for a JSON Web Token, which a site may accept here too.
const JWT_VARIABLE: &str = "SLURM_JWT";

/// Whether this environment variable holds a token, by its name or by its value.
#[must_use]
pub fn is_token_variable(name: &str, value: &str) -> bool {
    name == TOKEN_VARIABLE || name == JWT_VARIABLE || value.trim_start().starts_with(TOKEN_PREFIX)
}

/// The text is no id of a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the id of a token: see `kantctl token list`")]
pub struct TokenIdError(String);

/// The public name of a token: the first digits of the hash of its secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct TokenId(String);

impl TokenId {
    /// The id of the token with this hash, in hex.
    #[must_use]
    pub fn of_hash(hash: &str) -> Self {
        Self(hash.chars().take(ID_DIGITS).collect())
    }
}

impl FromStr for TokenId {
    type Err = TokenIdError;

    fn from_str(text: &str) -> Result<Self, TokenIdError> {
        match text.len() == ID_DIGITS && is_hex(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(TokenIdError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for TokenId {
    type Error = TokenIdError;

    fn try_from(text: String) -> Result<Self, TokenIdError> {
        text.parse()
    }
}

impl From<TokenId> for String {
    fn from(id: TokenId) -> Self {
        id.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_with_a_token_is_recognized_by_its_name_or_its_value() {
        let secret = format!("{TOKEN_PREFIX}00");
        assert!(is_token_variable("KANT_TOKEN", "") && is_token_variable("API_KEY", &secret));
        assert!(!is_token_variable("PATH", "/bin") && !is_token_variable("NOTE", "kant-token"));
    }

    #[test]
    fn an_id_is_the_beginning_of_a_hash_and_nothing_else() {
        let id = TokenId::of_hash(&"0123456789abcdef".repeat(4));
        assert_eq!(id.to_string(), "0123456789ab");
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "0123456789a", "0123456789abc", "0123456789aX", "kant-token-0"] {
            assert!(text.parse::<TokenId>().is_err(), "{text}");
        }
    }
}
