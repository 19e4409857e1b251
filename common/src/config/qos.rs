//! The `[[qos]]` tables. Names in them are resolved by `config::policy`.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::{AccountName, QosName};

config_table! {
    /// One quality of service: a priority and limits that a job may choose in any queue.
    pub struct QosTable {
        /// The QoS's name, unique.
        name: Option<QosName> = None,
        /// A higher priority goes first, among jobs of equal queue priority.
        priority: i32 = 0,
        /// Users (names or uids) who may use it. With no user, group and account, it is open to
        /// all.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members may use it.
        groups: Vec<String> = Vec::new(),
        /// Accounts whose jobs may use it. This restricts use only if each account has `users` or
        /// `groups` in its [[account]] table.
        accounts: Vec<AccountName> = Vec::new(),
        /// `true`: its jobs may be preempted; `false`: never. Not set: as the queue says.
        preemptible: Option<bool> = None,
        /// The longest time limit that a job with it may have. Empty: no bound.
        time_limit_max: String = String::new(),
        /// Limits on all its running jobs together, like `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of each user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
