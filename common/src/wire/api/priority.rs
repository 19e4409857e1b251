//! Where a waiting job's priority comes from, factor by factor. Never computes one:
//! `engine::order` does.

use crate::id::{JobKey, QueueName};
use crate::policy::Order;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// One part of a multifactor priority: `points = weight * value`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorView {
    /// "age", "size", "queue", "qos", "fair-share"; "nice" has the weight -1.
    pub name: String,
    pub weight: i64,
    /// Between 0 and 1; for "nice" the number itself.
    pub value: f64,
    pub points: i64,
}

/// A waiting job's priority.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorityView {
    /// The job or array task.
    pub key: JobKey,
    pub user: String,
    pub queue: QueueName,
    /// How its queue is ordered. In a FIFO queue factors rank jobs one after the other and
    /// `total` is 0.
    pub order: Order,
    /// The sum of points; higher goes first.
    pub total: i64,
    pub factors: Vec<FactorView>,
    /// Its place among all waiting jobs, from 1, by the last round.
    pub position: Option<u32>,
}

/// The priorities of waiting jobs (GET /v1/priority?job=KEY,KEY).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorityList {
    /// In the order in which they are considered.
    pub jobs: Vec<PriorityView>,
    /// The controller's time when it looked.
    pub as_of: Time,
}

/// Whose priorities: jobs separated by commas, an array's number standing for its waiting tasks;
/// empty: of all that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityQuery {
    /// `42,43_7`.
    pub job: String,
}
