//! The scopes of tokens: what a program may do for its user. The set is closed, so that the rights
//! of a token can be read from its list of scopes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A part of the rights of a user.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    JobsRead,
    JobsSubmit,
    JobsManage,
    ClusterRead,
    ServicesRead,
    ServicesManage,
    Admin,
}

/// The scopes of one token.
pub type Scopes = BTreeSet<Scope>;

/// The text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a scope: use {}", Scope::names())]
pub struct ScopeError {
    text: String,
}

impl Scope {
    pub const ALL: [Self; 7] = [
        Self::JobsRead,
        Self::JobsSubmit,
        Self::JobsManage,
        Self::ClusterRead,
        Self::ServicesRead,
        Self::ServicesManage,
        Self::Admin,
    ];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::JobsRead => "jobs:read",
            Self::JobsSubmit => "jobs:submit",
            Self::JobsManage => "jobs:manage",
            Self::ClusterRead => "cluster:read",
            Self::ServicesRead => "services:read",
            Self::ServicesManage => "services:manage",
            Self::Admin => "admin",
        }
    }

    /// What it allows, for the reference page.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::JobsRead => "see jobs, their timelines, explanations, output and accounting",
            Self::JobsSubmit => "submit jobs",
            Self::JobsManage => "cancel, hold, release, requeue, change and signal jobs",
            Self::ClusterRead => "see nodes, queues, shares, reservations and controllers",
            Self::ServicesRead => "see services and their endpoints",
            Self::ServicesManage => "deploy, scale, roll back, pause and stop services",
            Self::Admin => {
                "drain and resume nodes, change reservations, and use the role of the user \
                 (operator, viewer, support, coordinator) in the token's other scopes; only for \
                 users with a role"
            }
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let found = Self::ALL.into_iter().find(|scope| scope.word() == text);
        found.ok_or_else(|| ScopeError { text: text.to_owned() })
    }
}

impl TryFrom<String> for Scope {
    type Error = ScopeError;

    fn try_from(text: String) -> Result<Self, ScopeError> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.word().to_owned()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_is_read_back_and_another_word_is_refused_with_the_list() {
        for scope in Scope::ALL {
            assert_eq!(scope.word().parse(), Ok(scope));
        }
        let error = "jobs".parse::<Scope>().unwrap_err().to_string();
        assert!(error.contains("`jobs`") && error.contains("jobs:read, jobs:submit"), "{error}");
    }
}
