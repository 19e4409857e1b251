//! The `[[account]]` tables. Never knows what an account has used.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::AccountName;

config_table! {
    /// One account: who is charged, with which share and bounds. It has no members yet: any user
    /// may name it, and so get into a queue or QoS that lets its jobs in.
    pub struct AccountTable {
        /// Its name, none twice.
        name: Option<AccountName> = None,
        /// Its part of the cluster, against the sum over all accounts.
        shares: u32 = 1,
        /// Bounds on all its running jobs together, like `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of one user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
