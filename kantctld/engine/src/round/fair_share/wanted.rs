//! What gets a place: the jobs of a gang with their fewest tasks, and how near to each other their
//! nodes are.

use crate::model::cluster::ClusterIndex;
use crate::model::cluster::switches::SwitchIndex;
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

impl Wanted<'_> {
    /// What a gang avoids so that its nodes are near to each other: all nodes that are not under
    /// one switch. Empty: nothing.
    pub fn fences(&self, cluster: &ClusterIndex) -> Vec<Vec<bool>> {
        let Some(near) = self.near else { return vec![Vec::new()] };
        let switches = cluster.switches();
        let all = (0..switches.count(near.level)).filter_map(|at| u32::try_from(at).ok());
        let off = |switch: u32| {
            let is_there =
                |at| switches.switch_of_node(near.level, at) == Some(SwitchIndex(switch));
            cluster.nodes().map(|(at, _)| !is_there(at)).collect()
        };
        all.map(off).chain((!near.required).then(Vec::new)).collect()
    }
}
