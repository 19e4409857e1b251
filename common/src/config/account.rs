//! The `[[account]]` tables. Never knows what an account has used.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::AccountName;

config_table! {
    /// One account: who is charged, with which share and bounds. Its members alone may name it
    /// (`kantctl submit --account`), and so get into a queue, QoS or reservation that lets its jobs
    /// in; operators and root may name any. Asked when a job is submitted: one that waits or runs
    /// already goes on. A job that names none is charged to the first account of this file of which
    /// its user is a member by name or group, else to none. Accounts are a flat list.
    pub struct AccountTable {
        /// Its name, none twice.
        name: Option<AccountName> = None,
        /// Its part of the cluster, against the sum over all accounts.
        shares: u32 = 1,
        /// Its members: users (names or uids). With no user and no group it is open: everybody may
        /// name it, it is nobody's default, and it is no lock for what is open to its jobs.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members are members of it.
        groups: Vec<String> = Vec::new(),
        /// Bounds on all its running jobs together, like `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of one user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
