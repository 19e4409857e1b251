//! The `[[account]]` tables.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::AccountName;

config_table! {
    /// One account: the unit to which use is charged, with its share and limits. Only its members
    /// may name it (`kantctl submit --account`), and so use a queue, QoS or reservation that is
    /// open to its jobs; operators and root may name any. Membership is checked when a job is
    /// submitted and does not affect jobs that wait or run. A job that names no account is charged
    /// to the first account of this file that has its user as a member, by name or group, and
    /// otherwise to none. Accounts are a flat list.
    pub struct AccountTable {
        /// The account's name, unique.
        name: Option<AccountName> = None,
        /// Its part of the cluster, relative to the sum over all accounts.
        shares: u32 = 1,
        /// Its members: users (names or uids). An account with no user and no group is open: every
        /// user may name it, it is no user's default, and it restricts nothing that is open to its
        /// jobs.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members are members of it.
        groups: Vec<String> = Vec::new(),
        /// Limits on all its running jobs together, like `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of each user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
