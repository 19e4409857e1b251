//! A token by which a program acts for a user. Only the hash of its secret is stored, so that a
//! reader of the state or a backup cannot use it.

use common::id::{Gid, NodeName, Uid};
use common::time::Time;
use common::token::Scopes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub uid: Uid,
    /// The user's primary group when it was created.
    pub gid: Gid,
    /// Chosen by the user; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub scopes: Scopes,
    pub created: Time,
    /// The time of expiry.
    pub until: Time,
    /// The node through which it was requested; `None` for a controller's own socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<NodeName>,
}
