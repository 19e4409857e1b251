//! The `[[qos]]` tables. Names in them are resolved by `config::policy`.

use super::limits::LimitsTable;
use super::table::config_table;
use crate::id::{AccountName, QosName};

config_table! {
    /// A QoS is a priority and a set of limits. A job may choose one (`kantctl submit --qos`),
    /// whatever its queue.
    pub struct QosTable {
        /// The QoS's name, unique.
        name: Option<QosName> = None,
        /// Among jobs whose queues have equal priority, those with a QoS of higher priority are
        /// considered first. In a queue with `order = "multifactor"`, it is only one factor of the
        /// job's priority ([priority]).
        priority: i32 = 0,
        /// Users (names or uids) who may use the QoS. If no user, group or account is listed, all
        /// users may use it.
        users: Vec<String> = Vec::new(),
        /// Groups (names or gids) whose members may use it.
        groups: Vec<String> = Vec::new(),
        /// Accounts whose jobs may use it. Caution: every user may name an account that has no
        /// `users` and no `groups`, and may then use the QoS.
        accounts: Vec<AccountName> = Vec::new(),
        /// `true`: its jobs may be preempted. `false`: they may not, with the exception at
        /// `queue.preemptible`. `--preemptible` or `--no-preemptible` of a job overrides this key.
        /// Not set: as configured for the queue.
        preemptible: Option<bool> = None,
        /// The longest time limit that a job with this QoS may request. Empty: no limit.
        time_limit_max: String = String::new(),
        /// Limits on all running jobs with this QoS together, e.g. `{ jobs = 10, gpus = 64 }`.
        limits: LimitsTable = LimitsTable::default(),
        /// Limits, as in `limits`, on the running jobs of each user.
        limits_per_user: LimitsTable = LimitsTable::default(),
    }
}
