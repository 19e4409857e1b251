//! The `[[account]]` tables.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::AccountName;

config_table! {
    /// Use is charged to accounts. An account has a share of the cluster, limits and members. Only
    /// its members may name it (`kantctl submit --account`) and so get access to a queue, QoS or
    /// reservation that is open to the account; operators and root may name any account. Membership
    /// is checked when a job is submitted; later changes do not affect the job. A job that names no
    /// account is charged to the first account in this file of which its user is a member, by name
    /// or by group, or else to none. Accounts have no hierarchy.
    pub struct AccountTable {
        /// The account's name, unique.
        name: Option<AccountName> = None,
        /// The account's share of the cluster, relative to the sum of all accounts. It counts in
        /// the `fair_share` factor of [priority].
        shares: u32 = 1,
        /// The members: users (names or uids). An account with no user and no group is open: every
        /// user may name it, no user is charged to it by default, and it is useless for restricting
        /// access.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose users are members.
        groups: Vec<String> = Vec::new(),
        /// Limits on all running jobs of the account together, e.g. `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same, for the jobs of each user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
