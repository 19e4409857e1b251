//! Which nodes satisfy the feature constraints of jobs, computed once per round for each
//! constraint, and which data they lack.

use crate::model::cluster::ClusterIndex;
use common::id::DataName;
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

/// How many of these names each node lacks, by position.
pub(crate) fn data_lacked(cluster: &ClusterIndex, data: &[DataName]) -> Rc<[u32]> {
    let lacks = |has: &[DataName]| {
        let lacked = data.iter().filter(|name| has.binary_search(name).is_err());
        u32::try_from(lacked.count()).unwrap_or(u32::MAX)
    };
    cluster.nodes().map(|(_, node)| lacks(&node.data)).collect()
}

pub(crate) fn nodes_with(cluster: &ClusterIndex, constraint: &Constraint) -> Rc<[bool]> {
    cluster.nodes().map(|(_, node)| constraint.holds(&node.class.inventory.features)).collect()
}
