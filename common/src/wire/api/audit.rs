//! The audit log of one controller, as operators read it.

use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to read (GET /v1/audit). Each controller answers from its own file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditQuery {
    /// Lines from this time on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// A user's name or uid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// A verb, or its beginning: `jobs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The origin, or a part of it: `node g-012`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Only requests that were refused.
    pub refused: bool,
    /// The last lines of those that match.
    pub limit: u32,
    /// Check that no line was changed, inserted or removed.
    pub verify: bool,
}

/// The lines that match, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// The file on the controller.
    pub file: String,
    pub lines: Vec<AuditView>,
    /// The outcome of a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<AuditCheck>,
}

/// The outcome of a check of the chain of lines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditCheck {
    pub lines: u64,
    /// Numbers of lines that do not follow from the line before, from 1; at most 100 of them.
    pub breaks: Vec<u64>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditView {
    /// RFC 3339, in UTC.
    pub at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub via: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    pub verb: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    pub result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}
