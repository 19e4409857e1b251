//! What gets a place: the jobs of a gang with their fewest tasks, and how near to each other their
//! nodes are.

use crate::model::job::WaitingJob;
use crate::model::shape::Shape;
use common::topology::Nearness;
use std::sync::Arc;

/// A job and its shape with the fewest tasks.
pub(super) type Sought<'a> = (&'a Arc<WaitingJob>, Shape<'a>);

/// What gets a place: the parts of a gang, and how near to each other their nodes are.
#[derive(Debug, Clone)]
pub(super) struct Wanted<'a> {
    pub parts: Vec<Sought<'a>>,
    pub near: Option<Nearness>,
}
