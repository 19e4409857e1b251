//! An error as programs get it over HTTP.
//! Source: RFC 9457.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error, with the members of RFC 9457 and two of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Always `about:blank`: there is no page about each kind.
    pub r#type: String,
    /// The text of the status.
    pub title: String,
    pub status: u16,
    /// What failed, and on what, in a sentence.
    pub detail: String,
    /// The stable name of the kind, for programs.
    pub code: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
