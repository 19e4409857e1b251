//! The `[[account]]` tables.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::AccountName;

config_table! {
    /// A job is charged to one account, or to none. An account can be named with `kantctl submit
    /// --account` by its members, by operators and by root; if it lists no members, by every user.
    /// A job that names no account is charged to the first account in this file that has its user
    /// as a member; if there is none, to no account. Membership is checked when a job is submitted
    /// or updated, and when a finished job is requeued. It is not checked while a job waits or
    /// runs. Accounts have no hierarchy.
    pub struct AccountTable {
        /// The account's name, unique.
        name: Option<AccountName> = None,
        /// The account's share of the cluster, relative to the shares of the other accounts. It is
        /// used only for multifactor priority (`fair_share` in [priority]).
        shares: u32 = 1,
        /// The members: users (names or uids). If neither users nor groups are listed, every user
        /// may name the account, but none is charged to it by default.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids); their users are members of the account.
        groups: Vec<String> = Vec::new(),
        /// Coordinators: they may cancel, hold, release and requeue the account's jobs, and change
        /// how these jobs are scheduled (docs/operating/rights.md). Entries as in [roles].
        coordinators: Vec<String> = Vec::new(),
        /// Limits on all running jobs of the account together, e.g. `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// Limits, as in `limits`, on the running jobs of each user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
