//! Where replicas are: in their places, on their nodes, and as a base that starts as a whole.

use super::ServiceJudge;
use common::id::{NodeName, Ordinal, Revision, RoleName, ServiceName};
use state::State;
use std::collections::{BTreeMap, BTreeSet};

impl ServiceJudge {
    /// No two unfinished replicas of one revision have the same place.
    pub(super) fn judge_places(&mut self, state: &State, service: &ServiceName) {
        let mut places: BTreeSet<(RoleName, Ordinal, Revision)> = BTreeSet::new();
        for record in state.replicas_of(service) {
            let Some(replica) = record.spec.ask.replica.as_deref() else { continue };
            let place = (replica.role.clone(), replica.ordinal, replica.revision);
            if !places.insert(place) {
                let text = format!("job {} has a place that is taken: {replica}", record.id);
                self.complain("places", text);
            }
        }
    }

    /// No node has more replicas of a role than the role permits.
    pub(super) fn judge_nodes(&mut self, state: &State) {
        for service in state.services() {
            let mut counts: BTreeMap<(&str, &NodeName), u32> = BTreeMap::new();
            for record in state.replicas_of(&service.name) {
                let Some((group, most)) = record.spec.ask.request.per_node_max() else { continue };
                let runs = record.elements.iter().filter_map(|(_, element)| element.run.as_ref());
                let shares = runs.flat_map(|run| run.allocation.shares().iter().zip(&run.shares));
                for (share, _) in shares.filter(|(_, phase)| !phase.is_over()) {
                    let count = counts.entry((group, &share.node)).or_default();
                    *count += 1;
                    if *count > most {
                        let text = format!("{} has over {most} replicas of {group}", share.node);
                        self.complain("nodes", text);
                    }
                }
            }
        }
    }

    /// The components of a base that has not started as a whole have nodes together, or none has.
    pub(super) fn judge_bases(&mut self, state: &State) {
        let mut has_nodes = BTreeMap::new();
        let services = state.services().map(|service| &service.name);
        for record in services.flat_map(|service| state.replicas_of(service)) {
            let Some(set) = record.set else { continue };
            let is_placed = record.elements.iter().any(|(_, element)| element.run.is_some());
            if *has_nodes.entry(set.first).or_insert(is_placed) != is_placed {
                let text = format!("a base has nodes only in part, at job {}", record.id);
                self.complain("base", text);
            }
        }
    }
}
