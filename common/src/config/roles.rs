//! The `[roles]` table. Names in it are resolved by the controller.

use super::table::config_table;
use serde::{Deserialize, Serialize};

/// What ordinary users do not see of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Private {
    Jobs,
    Usage,
    Nodes,
}

config_table! {
    /// Who has which rights; docs/operating/rights.md lists them. An entry is a user (a name or a
    /// uid) or, with `@`, a group (`@name` or `@gid`). All whose primary or supplementary group in
    /// this host's user database it is are members. The leader asks again after a minute, or after
    /// `kantctl reload`; caches of the host, like sssd's, come on top. Digits are a name if
    /// there is one. At startup, names that do not exist are left out with a warning. Coordinators
    /// are listed at each account and queue.
    pub struct RolesTable {
        /// Operators may do everything. Root and the user that kantctld runs as are always
        /// operators.
        operators: Vec<String> = Vec::new(),
        /// Viewers see all that an operator sees: the scripts and output of all jobs, the audit
        /// log, and what `private` hides. They change nothing but their own jobs.
        viewers: Vec<String> = Vec::new(),
        /// Support sees what viewers see, and may requeue any job.
        support: Vec<String> = Vec::new(),
    }
}
