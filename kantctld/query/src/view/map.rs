//! The cluster as a map: nodes by leaf group, with the jobs of each GPU.

use super::nodes::drain_without_details;
use crate::viewer::Viewer;
use common::id::{JobId, JobKey, NodeName};
use common::node::Contact;
use common::topology::Position;
use common::unit::{Cpus, Gpus};
use common::wire::api::{ClusterMap, MapGroup, MapJob, MapNode};
use state::State;
use state::node::NodeRecord;
use std::collections::BTreeMap;

/// The map. Takes time proportional to the number of nodes and of shares on them.
#[must_use]
pub fn cluster_map(state: &State, viewer: &Viewer) -> ClusterMap {
    let keys = keys_with_resources(state, viewer);
    let (seen, hidden): (Vec<JobKey>, Vec<JobKey>) =
        keys.into_iter().partition(|key| viewer.sees_key(state, *key));
    let mut jobs: Vec<MapJob> = seen.iter().filter_map(|key| map_job(state, *key)).collect();
    let mut places: BTreeMap<JobKey, u32> = jobs.iter().map(|job| job.key).zip(0..).collect();
    if !hidden.is_empty() {
        let place = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        places.extend(hidden.into_iter().map(|key| (key, place)));
        jobs.push(hidden_jobs());
    }
    let topology = state.settings().map(|settings| &settings.topology.0);
    let unknown = Position::default();
    let mut groups: BTreeMap<_, MapGroup> = BTreeMap::new();
    for (name, node) in state.nodes().filter(|(name, _)| viewer.sees_node(state, name)) {
        let position = topology.and_then(|known| known.get(name)).unwrap_or(&unknown);
        let (leaf, spine) = (position.leaf.clone(), position.spine.clone());
        let new = || MapGroup { leaf: leaf.clone(), spine: spine.clone(), nodes: Vec::new() };
        // Nodes without a leaf come last.
        let group = groups.entry((leaf.is_none(), leaf.clone())).or_insert_with(new);
        group.nodes.push(map_node((state, viewer), name, node, &places));
    }
    ClusterMap { as_of: state.now(), groups: groups.into_values().collect(), jobs }
}

/// The jobs on the nodes that the viewer sees.
fn keys_with_resources(state: &State, viewer: &Viewer) -> Vec<JobKey> {
    let nodes = state.ledger().nodes().filter(|(name, _)| viewer.sees_node(state, name));
    let holders = nodes.flat_map(|(_, holdings)| holdings.holders());
    let mut keys: Vec<JobKey> = holders.map(|(id, _)| id.key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn map_job(state: &State, key: JobKey) -> Option<MapJob> {
    let spec = &state.job(key.job)?.spec;
    let (name, user) = (spec.ask.name.clone(), spec.owner.name.clone());
    Some(MapJob { key, name, user, queue: spec.ask.queue.clone() })
}

/// All hidden jobs as one: a number of its own for each would tell them apart.
fn hidden_jobs() -> MapJob {
    let (name, user) = ("private".to_owned(), "others".to_owned());
    MapJob { key: JobKey::single(JobId(0)), name, user, queue: None }
}

fn map_node(
    (state, viewer): (&State, &Viewer),
    name: &NodeName,
    node: &NodeRecord,
    places: &BTreeMap<JobKey, u32>,
) -> MapNode {
    let inventory = &node.inventory.gpus;
    let mut gpus = vec![Vec::new(); inventory.len()];
    let mut others = Vec::new();
    let held = state.ledger().holdings_on(name);
    for (id, share) in held.iter().flat_map(|held| held.holders()) {
        let Some(place) = places.get(&id.key) else { continue };
        if share.gpus.is_empty() {
            others.push(*place);
        }
        for index in &share.gpus {
            // A GPU that was lost leaves a gap in the numbers.
            if let Ok(at) = inventory.binary_search_by_key(index, |gpu| gpu.index) {
                gpus[at].push(*place);
            }
        }
    }
    let cpus_used = Cpus(held.map_or(0, |held| held.cpus().len()));
    let gpus_used = held.map_or(0, |held| held.gpus().len());
    let status = node.status(cpus_used, Gpus(u32::try_from(gpus_used).unwrap_or(u32::MAX)));
    let (problem, cpus) = (problem(viewer, node), node.inventory.cpu_count());
    MapNode { name: name.clone(), status, problem, cpus, cpus_used, gpus, others }
}

fn problem(viewer: &Viewer, node: &NodeRecord) -> Option<String> {
    let drained = || node.drain.clone().map(|drain| drain_without_details(viewer, drain).reason);
    match node.contact {
        Contact::Connected => drained(),
        Contact::Silent { since } => Some(format!("silent since {since}")),
        Contact::Lost { since } => Some(format!("lost, silent since {since}")),
    }
}
