//! The priority of waiting jobs, factor by factor.

use crate::id::{JobKey, QueueName};
use crate::policy::Order;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One part of a multifactor priority: `points = weight * value`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorView {
    /// "age", "size", "queue", "qos", "fair-share"; "nice" has the weight -1.
    pub name: String,
    pub weight: i64,
    /// Between 0 and 1; for "nice" the number itself.
    pub value: f64,
    pub points: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityView {
    pub key: JobKey,
    pub user: String,
    pub queue: QueueName,
    /// The order of its queue. In a FIFO queue factors are compared one after the other, and
    /// `total` is 0.
    pub order: Order,
    /// The sum of points; higher goes first.
    pub total: i64,
    pub factors: Vec<FactorView>,
    /// Its position among all waiting jobs in the last round, from 1.
    pub position: Option<u32>,
}

/// The priorities of waiting jobs (GET /v1/priority?job=KEY,KEY).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityList {
    /// In the order in which they are considered.
    pub jobs: Vec<PriorityView>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

/// A selection of waiting jobs, separated by commas; an array's id selects its waiting tasks;
/// empty: all waiting jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PriorityQuery {
    /// `42,43_7`.
    pub job: String,
}
