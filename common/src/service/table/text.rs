//! Texts of a routing table that are checked when they are read.

use crate::hex::hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The text does not have the form that the table needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("`{0}` is not a header name: write letters, digits and `-`, such as x-session-id")]
    FieldName(String),
    /// Without the text, which may be the token itself.
    #[error("the token is not a SHA-256 hash: write 64 hexadecimal digits")]
    TokenHash,
}

/// The name of a header field, in lower case.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct FieldName(String);

/// The SHA-256 hash of an access token: 64 hexadecimal digits in JSON. A table has no tokens, so
/// that its readers cannot use the service.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct TokenHash([u8; 32]);

impl FieldName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`TextError::FieldName`] if it is not a token of HTTP (RFC 9110, section 5.6.2).
    pub fn new(text: &str) -> Result<Self, TextError> {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        let is_name = (1..=128).contains(&text.len()) && text.bytes().all(is_token);
        if is_name {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(TextError::FieldName(text.to_owned()))
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TokenHash {
    #[must_use]
    pub fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Is this the token? The time does not depend on where the hashes differ.
    #[must_use]
    pub fn matches(&self, token: &[u8]) -> bool {
        let given = Self::of(token);
        let pairs = self.0.iter().zip(&given.0);
        let difference = pairs.fold(0, |all, (a, b)| core::hint::black_box(all | (a ^ b)));
        core::hint::black_box(difference) == 0
    }
}

impl TryFrom<String> for FieldName {
    type Error = TextError;
    fn try_from(text: String) -> Result<Self, TextError> {
        Self::new(&text)
    }
}

impl From<FieldName> for String {
    fn from(name: FieldName) -> String {
        name.0
    }
}

impl TryFrom<String> for TokenHash {
    type Error = TextError;
    fn try_from(text: String) -> Result<Self, TextError> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(TextError::TokenHash);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = core::str::from_utf8(pair).map_err(|_| TextError::TokenHash)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| TextError::TokenHash)?;
        }
        Ok(Self(bytes))
    }
}

impl From<TokenHash> for String {
    fn from(hash: TokenHash) -> String {
        hex(&hash.0)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}
