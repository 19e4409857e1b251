//! The invariants of sums: the ledger agrees with the current allocations, and the texts with the
//! jobs that refer to them. All sums are recomputed here.

use crate::job::SharePhase;
use crate::state::State;
use common::blob::BlobHash;
use common::cpuset::CpuSet;
use common::id::{AttemptId, GpuIndex, JobKey, NodeName, Uid};
use common::job::Phase;
use common::resource::Share;
use common::unit::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A share, and whether it wants the node exclusively.
type Taken<'a> = BTreeMap<(&'a NodeName, AttemptId), (&'a Share, bool)>;

/// Every share that a node still holds, according to the jobs.
fn held_shares(state: &State) -> Taken<'_> {
    let mut taken = Taken::new();
    for record in state.jobs() {
        let exclusive = record.spec.ask.request.exclusive;
        for (index, element) in &record.elements {
            let Some(run) = element.run.as_ref().filter(|_| element.phase != Phase::Done) else {
                continue;
            };
            let key = JobKey { job: record.id, index: *index };
            let id = AttemptId { key, attempt: element.attempt };
            for (share, phase) in run.allocation.shares().iter().zip(&run.shares) {
                if *phase < SharePhase::Succeeded {
                    taken.insert((&share.node, id), (share, exclusive));
                }
            }
        }
    }
    taken
}

/// The running counts agree with a new count.
pub(super) fn check_counts(state: &State, wrong: &mut Vec<String>) {
    let phases = || state.jobs().flat_map(|record| record.elements.values()).map(|e| e.phase);
    let count = |is: fn(Phase) -> bool| phases().filter(|phase| is(*phase)).count();
    let made = [
        count(|phase| phase == Phase::Pending),
        count(Phase::holds_resources),
        count(|phase| phase == Phase::Done),
    ];
    let standing = state.living.phase_counts();
    let kept = [standing.pending, standing.active, standing.done].map(|count| count as usize);
    if kept != made {
        wrong.push(format!("{kept:?} jobs wait, hold nodes, are done by count, really {made:?}"));
    }
}

pub(super) fn check_ledger(state: &State, wrong: &mut Vec<String>) {
    let taken = held_shares(state);
    let mut seen = BTreeSet::new();
    for (node, holdings) in state.ledger().nodes() {
        if state.node(node).is_none() {
            wrong.push(format!("the ledger has a node {node} that does not exist"));
        }
        for (id, held) in holdings.holders() {
            seen.insert((node, id));
            let Some((share, exclusive)) = taken.get(&(node, id)) else {
                wrong.push(format!("{id} holds something on {node} and does not live there"));
                continue;
            };
            let mut gpus = share.gpus.clone();
            gpus.sort_unstable();
            let gpus_same = held.gpus == gpus && held.gpu_milli == share.gpu_milli;
            let same = held.cpus == share.cpus && held.memory == share.memory && gpus_same;
            if !same || held.exclusive != *exclusive {
                wrong.push(format!("{id} holds something else on {node} than it was given"));
            }
        }
    }
    for (node, id) in taken.keys().filter(|place| !seen.contains(*place)) {
        wrong.push(format!("{id} lives on {node} and holds nothing there"));
    }
    check_nodes(state, &taken, wrong);
}

/// No resource is held twice on a node, and the ledger's totals are correct.
fn check_nodes(state: &State, taken: &Taken<'_>, wrong: &mut Vec<String>) {
    let mut nodes: BTreeMap<&NodeName, Vec<(AttemptId, &Share, bool)>> = BTreeMap::new();
    for ((node, id), (share, exclusive)) in taken {
        nodes.entry(node).or_default().push((*id, share, *exclusive));
    }
    for (node, holders) in nodes {
        let (mut cpus, mut gpus, mut memory) = (CpuSet::new(), BTreeMap::new(), Bytes::ZERO);
        for (id, share, exclusive) in &holders {
            if cpus.intersects(&share.cpus) {
                wrong.push(format!("{id} holds CPUs of {node} that are held already"));
            }
            cpus = cpus.union(&share.cpus);
            for gpu in &share.gpus {
                let part = share.gpu_milli.map_or(1000, |part| part.0);
                let sum: &mut u32 = gpus.entry(*gpu).or_default();
                *sum += part;
                if *sum > 1000 || part == 0 {
                    wrong.push(format!("{id} holds GPU {gpu} of {node}, which is held already"));
                }
            }
            memory += share.memory;
            if *exclusive && holders.len() > 1 {
                wrong.push(format!("{id} wanted {node} for itself and has company"));
            }
        }
        let on = state.ledger().holdings_on(node);
        let known: Vec<GpuIndex> = gpus.keys().copied().collect();
        let sums = on.map(|held| (held.cpus(), held.memory(), held.gpus()));
        let part = |gpu| on.map_or(0, |held| held.gpu_milli(gpu).0);
        let parts = gpus.iter().all(|(gpu, sum)| part(*gpu) == *sum);
        if sums != Some((&cpus, memory, &known[..])) || !parts {
            wrong.push(format!("the totals of {node} are not the sums"));
        }
    }
}

pub(super) fn check_blobs(state: &State, wrong: &mut Vec<String>) {
    let mut named: BTreeMap<BlobHash, u32> = BTreeMap::new();
    for record in state.jobs().filter(|record| !state.is_textless(record.id)) {
        for hash in [record.spec.script, record.spec.environment] {
            *named.entry(hash).or_insert(0) += 1;
        }
    }
    for service in state.services() {
        for hash in service.revisions.values().flat_map(|spec| spec.blob_hashes()) {
            *named.entry(hash).or_insert(0) += 1;
        }
    }
    let kept: BTreeMap<BlobHash, u32> = state.blobs().uses().map(|(h, n)| (*h, n)).collect();
    for (hash, uses) in &named {
        if kept.get(hash) != Some(uses) {
            wrong.push(format!("text {hash} is named {uses} times, kept {:?}", kept.get(hash)));
        }
        if state.blobs().get(hash).is_none_or(|text| BlobHash::of(text) != *hash) {
            wrong.push(format!("text {hash} is another text"));
        }
    }
    for hash in kept.keys().filter(|hash| !named.contains_key(hash)) {
        wrong.push(format!("text {hash} is kept for no job"));
    }
}

/// The finished tasks and the bytes of texts of each user agree with sums made here.
pub(super) fn check_footprint(state: &State, wrong: &mut Vec<String>) {
    let mut made: BTreeMap<Uid, [u64; 3]> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for record in state.jobs() {
        let (uid, args) = (record.spec.owner.uid, &record.spec.ask.args);
        let is_over = record.elements.values().all(|element| element.phase == Phase::Done);
        let [living, over, tasks] = made.entry(uid).or_default();
        *tasks += if is_over { record.elements.len() as u64 } else { 0 };
        if state.is_textless(record.id) {
            if !is_over {
                wrong.push(format!("job {} is to run and has lost its script", record.id));
            }
            continue;
        }
        let sum = if is_over { over } else { living };
        *sum += args.iter().map(|arg| arg.len() as u64 + 1).sum::<u64>();
        for hash in [record.spec.script, record.spec.environment] {
            if seen.insert((uid, is_over, hash)) {
                *sum += state.blobs().get(&hash).map_or(0, |text| text.len() as u64);
            }
        }
    }
    let kept: BTreeMap<Uid, [u64; 3]> = state.footprint.sums().collect();
    if kept != made {
        wrong.push(format!("users' texts take {kept:?} by count, really {made:?}"));
    }
}
