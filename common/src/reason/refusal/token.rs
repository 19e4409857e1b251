//! Reasons why a token is not created or revoked.

use crate::token::TokenId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "token", rename_all = "snake_case")]
pub enum TokenRefusal {
    /// Also if it belongs to another user.
    #[error("you have no token {id}, or it has expired")]
    Unknown { id: TokenId },
    #[error("you already have {limit} tokens")]
    TooMany { limit: usize },
    #[error("only a user with a role can have a token with the scope admin")]
    AdminScope,
    /// Two secrets have the same id.
    #[error("the id of the new token is taken by another token")]
    SameId,
}

impl TokenRefusal {
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_token",
            Self::TooMany { .. } => "too_many_tokens",
            Self::AdminScope => "admin_scope",
            Self::SameId => "token_exists",
        }
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "see `kantctl token list`",
            Self::TooMany { .. } => "revoke some: `kantctl token list`, `kantctl token revoke ID`",
            Self::AdminScope => "leave the scope admin out",
            Self::SameId => "try again: each token gets a new id",
        }
    }
}
