//! The accounts and qualities of service in force.

use crate::policy::account::Account;
use crate::policy::qos::Qos;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AccountList {
    /// In the configuration's order. If empty, a job may name any account.
    pub accounts: Vec<Account>,
    /// In the configuration's order.
    pub qos: Vec<Qos>,
    /// The controller's time of the answer.
    pub as_of: Time,
}
