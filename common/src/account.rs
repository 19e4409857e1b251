//! An account: who is charged, with which share and bounds. Never sums usage up; the state does.

use crate::id::AccountName;
use crate::policy::Limits;
use serde::{Deserialize, Serialize};

/// An account (man sacctmgr, account).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its name.
    pub name: AccountName,
    /// Its part of the cluster, against the sum over all accounts.
    #[serde(default = "one")]
    pub shares: u32,
    /// Bounds on all its jobs together.
    #[serde(default)]
    pub limits: Limits,
    /// Bounds on its jobs of one user.
    #[serde(default)]
    pub limits_per_user: Limits,
}

const fn one() -> u32 {
    1
}
