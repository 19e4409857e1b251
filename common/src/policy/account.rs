//! An account: who is charged, with which share and bounds, and who may charge it.
//! Never sums usage up; the state does. Never stands above another: accounts are a flat list.

use crate::id::AccountName;
use crate::policy::{Access, Limits};
use serde::{Deserialize, Serialize};

/// An account (man sacctmgr, account).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub name: AccountName,
    /// Its part of the cluster, against the sum over all accounts.
    #[serde(default = "one")]
    pub shares: u32,
    /// Its members, who may charge jobs to it: users and groups, never accounts. None: everybody.
    #[serde(default)]
    pub access: Access,
    /// Bounds on all its jobs together.
    #[serde(default)]
    pub limits: Limits,
    /// Bounds on its jobs of one user.
    #[serde(default)]
    pub limits_per_user: Limits,
}

impl Account {
    /// May anybody charge jobs to it? Then it keeps nobody out of what is open to its jobs.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.access.is_open()
    }
}

const fn one() -> u32 {
    1
}
