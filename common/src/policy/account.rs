//! Accounts, which jobs are charged to: their shares, limits and members. Accounts form a flat list
//! without a hierarchy.

use crate::id::AccountName;
use crate::policy::{Access, Limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account (man sacctmgr, account).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    pub name: AccountName,
    /// Its share of the cluster, relative to the sum over all accounts.
    #[serde(default = "one")]
    pub shares: u32,
    /// Its members, users and groups, who may charge jobs to it; all users if empty.
    #[serde(default)]
    pub access: Access,
    /// Limits on all its jobs together.
    #[serde(default)]
    pub limits: Limits,
    /// Limits on each user's jobs in it.
    #[serde(default)]
    pub limits_per_user: Limits,
}

impl Account {
    /// May any user charge jobs to it? Such an account restricts no access.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.access.is_open()
    }
}

const fn one() -> u32 {
    1
}
