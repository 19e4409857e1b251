//! Tokens: how they are created and listed. A secret is in one answer only.

use super::enrolment::Secret;
use crate::id::{NodeName, Uid};
use crate::serde_skip::is_default;
use crate::time::{Span, Time};
use crate::token::{Scopes, TokenId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request for a token of the user who makes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRequest {
    /// For the user's own list; may be empty.
    #[serde(default)]
    pub name: String,
    pub scopes: Scopes,
    pub lifespan: Span,
}

/// A new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenAnswer {
    pub secret: Secret,
    pub token: TokenView,
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    pub id: TokenId,
    #[serde(default)]
    pub name: String,
    pub uid: Uid,
    pub scopes: Scopes,
    pub created: Time,
    pub until: Time,
    /// The node through which it was requested; `None` for a controller's own socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
    /// The last use that the leader remembers. It forgets them when it stops leading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_use: Option<Time>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenQuery {
    /// Those of all users; for operators.
    #[serde(default, skip_serializing_if = "is_default")]
    pub all: bool,
}

/// Valid tokens, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenList {
    pub as_of: Time,
    pub tokens: Vec<TokenView>,
}
