//! The `[[qos]]` tables. Never resolves a name; `config::policy` does.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::{AccountName, QosName};

config_table! {
    /// One quality of service: a priority and bounds that jobs choose across queues.
    pub struct QosTable {
        /// Its name, none twice.
        name: Option<QosName> = None,
        /// Higher goes first, within the queue's priority.
        priority: i32 = 0,
        /// Users (names or uids) who may use it. With no user, group or account: everybody.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members may use it.
        groups: Vec<String> = Vec::new(),
        /// Accounts whose jobs may use it: a lock where each has `users` or `groups` in its
        /// [[account]] table.
        accounts: Vec<AccountName> = Vec::new(),
        /// `true`: its jobs may be made to yield; `false`: never. None: as the queue says.
        preemptible: Option<bool> = None,
        /// The longest time limit a job of it may ask for. Empty: no bound.
        time_limit_max: String = String::new(),
        /// Bounds on all its running jobs together, like `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// The same for the jobs of one user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
