//! Who runs and may be asked to yield, alike jobs together, so that whom a quota could take back
//! from is asked once for all of them. Made once a round, when somebody first asks. Never says who
//! yields to whom.
//!
//! Source: ours; it gives the same candidates as asking for each running job, in the same order.

use super::Tier;
use crate::books::{Claim, KindIndex, QueueIndex};
use crate::desk::Desk;
use crate::floor::NodeIndex;
use crate::snapshot::RunningJob;
use common::id::QueueName;
use common::queue::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One running job.
pub(super) struct Member<'a> {
    pub job: &'a Arc<RunningJob>,
    pub claim: &'a Claim,
    pub tier: Tier,
    /// Thousandths of GPUs times milliseconds that it has run for.
    pub lost: u128,
    /// Where it holds something.
    pub nodes: Vec<NodeIndex>,
}

/// Jobs of one queue that hold something of the same resources.
pub(super) struct Group<'a> {
    pub queue: Option<&'a Queue>,
    /// What one of them holds: which resources, not how much, decides about taking back.
    pub claim: &'a Claim,
    pub members: Vec<Member<'a>>,
}

/// Queue by name and in the books; kinds of GPUs; others, CPUs, memory: is there any?
type Key<'a> = (&'a QueueName, Option<QueueIndex>, Vec<KindIndex>, [bool; 3]);

/// All that run and are not on their way out.
pub(crate) struct Crowd<'a>(BTreeMap<Key<'a>, Group<'a>>);

impl<'a> Crowd<'a> {
    pub fn of(desk: &Desk<'a>) -> Self {
        let snapshot = desk.snapshot;
        let mut groups: BTreeMap<Key<'a>, Group<'a>> = BTreeMap::new();
        for job in snapshot.running.values().filter(|job| !job.ending) {
            let Some(claim) = snapshot.claim_of(job.key) else { continue };
            let queue = desk.queues.get(&job.queue).copied();
            let tier = Tier::new(&snapshot.policy, queue, job.qos.as_ref(), job.nice);
            let ran = u128::from(desk.now.since(job.started_at).0);
            let lost = u128::from(claim.gpu_milli()) * ran;
            let shares = job.allocation.shares().iter();
            let nodes = shares.filter_map(|share| snapshot.floor.find(&share.node)).collect();
            let group = groups.entry(key(job, claim)).or_insert_with(|| {
                let members = Vec::new();
                Group { queue, claim, members }
            });
            group.members.push(Member { job, claim, tier, lost, nodes });
        }
        Self(groups)
    }

    pub fn groups(&self) -> impl Iterator<Item = &Group<'a>> {
        self.0.values()
    }
}

fn key<'a>(job: &'a RunningJob, claim: &Claim) -> Key<'a> {
    let mut kinds: Vec<KindIndex> = claim.kinds().iter().map(|(kind, _)| *kind).collect();
    kinds.sort_unstable();
    let named: u64 = claim.kinds().iter().map(|(_, amount)| amount).sum();
    let has = [claim.gpu_milli() > named, claim.cpus.0 > 0, claim.memory.0 > 0];
    (&job.queue, claim.who.queue, kinds, has)
}
