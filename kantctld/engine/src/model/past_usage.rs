//! Past GPU use of accounts, users and queues by hour, from which fair shares are computed.

use common::id::{AccountName, QueueName, Uid};
use serde::{Deserialize, Serialize};

/// GPU time used in one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Hours since 1970-01-01T00:00Z.
    pub hour: u64,
    /// GPU-milliseconds: one GPU for one hour is 3,600,000.
    pub gpu_ms: u64,
}

/// The use of one user, charged to one account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedBy {
    /// The account, if one was named.
    #[serde(default)]
    pub account: Option<AccountName>,
    pub user: Uid,
    /// By hour, in any order.
    pub hours: Vec<Bucket>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usage {
    /// Entries of the same account and user add up.
    pub entries: Vec<UsedBy>,
}

/// The GPU time that the jobs of a queue used, without its descendants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueUse {
    pub queue: QueueName,
    /// By hour, in any order.
    pub hours: Vec<Bucket>,
}
