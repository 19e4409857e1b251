//! The enrolment of a node: the right of one key to speak for the node's name. A node that is
//! enrolled again, or revoked, makes the certificates of its earlier enrolments invalid.

use common::id::Uid;
use common::time::Time;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolment {
    /// Counts the enrolments of this name, from 1.
    pub number: u32,
    /// The public key of its first certificate, in hex: a repeated request is recognized by it.
    pub key: String,
    /// The hash of the invitation by which it joined.
    pub invitation: String,
    /// The operator who invited the node.
    pub by: Uid,
    pub at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Revoked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    pub by: Uid,
    pub at: Time,
}

/// Why a certificate that an authority of the cluster signed is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    Revoked(Revoked),
    /// The node was enrolled again, with this number.
    Superseded(u32),
}
