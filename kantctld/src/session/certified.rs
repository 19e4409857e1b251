//! A node as its certificate names it.

use common::id::NodeName;

/// The name and the number of the enrolment.
#[derive(Debug, Clone)]
pub struct Certified {
    pub name: NodeName,
    pub enrolment: u32,
}
