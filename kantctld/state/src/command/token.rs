//! What a new token is made of, besides its user.

use common::id::{Gid, NodeName};
use common::time::Span;
use common::token::Scopes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewToken {
    /// SHA-256 of the secret, in hex.
    pub hash: String,
    pub gid: Gid,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub scopes: Scopes,
    pub lifespan: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
}
