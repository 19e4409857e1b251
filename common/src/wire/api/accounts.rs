//! Accounts and qualities of service, as they are in force. Never what they have used: reports say.

use crate::policy::account::Account;
use crate::policy::qos::Qos;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Accounts and qualities of service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountList {
    /// As the configuration lists them; none: a job may name any.
    pub accounts: Vec<Account>,
    /// As the configuration lists them.
    pub qos: Vec<Qos>,
    /// The controller's time when it looked.
    pub as_of: Time,
}
