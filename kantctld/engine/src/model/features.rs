//! Which nodes satisfy the feature constraints of jobs, computed once per round for each
//! constraint.

use crate::model::cluster::ClusterIndex;
use common::job::Constraint;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The constraints met in a round.
#[derive(Debug, Default)]
pub(crate) struct Featured<'a>(BTreeMap<&'a Constraint, Rc<[bool]>>);

impl<'a> Featured<'a> {
    /// Whether each node, by position, satisfies the constraint.
    pub fn nodes_satisfying(
        &mut self,
        cluster: &ClusterIndex,
        constraint: &'a Constraint,
    ) -> Rc<[bool]> {
        self.0.entry(constraint).or_insert_with(|| nodes_with(cluster, constraint)).clone()
    }
}

pub(crate) fn nodes_with(cluster: &ClusterIndex, constraint: &Constraint) -> Rc<[bool]> {
    cluster.nodes().map(|(_, node)| constraint.holds(&node.class.inventory.features)).collect()
}
