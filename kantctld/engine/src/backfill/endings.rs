//! When running jobs will be over, and when that makes room for a waiting one. Never counts on a
//! job that has no time limit to end.
//!
//! Source: man slurm.conf, SchedulerType=sched/backfill: time limits, not past behaviour, say when
//! a job ends.

use crate::cluster::{Cluster, NodeIndex};
use crate::place::{Placement, place};
use crate::shape::Shape;
use crate::snapshot::Snapshot;
use crate::trial::Trial;
use common::id::{JobKey, NodeName};
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The end of a job without a time limit: after everything else.
pub(crate) const NEVER: Time = Time(u64::MAX);

/// When a job that starts now ends by its time limit, at the latest.
pub(crate) fn ends_by(now: Time, limit: Option<Span>) -> Time {
    limit.map_or(NEVER, |limit| now + limit)
}

/// One job that holds something, and until when.
#[derive(Debug, Clone)]
struct Ending {
    at: Time,
    key: JobKey,
    allocation: Arc<Allocation>,
}

/// The ends of all jobs that hold something, soonest first.
#[derive(Debug, Clone)]
pub(crate) struct Endings {
    list: Vec<Ending>,
}

impl Endings {
    /// The ends of the running jobs. One that is overdue ends now.
    pub fn of(snapshot: &Snapshot, now: Time) -> Self {
        let ending = |job: &crate::snapshot::RunningJob| Ending {
            at: job.ends_by.map_or(NEVER, |at| at.max(now)),
            key: job.key,
            allocation: Arc::clone(&job.allocation),
        };
        let mut list: Vec<Ending> = snapshot.running.iter().map(ending).collect();
        list.sort_by_key(|ending| (ending.at, ending.key));
        Self { list }
    }

    /// A job was started.
    pub fn add(&mut self, at: Time, key: JobKey, allocation: Allocation) {
        let place = self.list.partition_point(|ending| (ending.at, ending.key) < (at, key));
        self.list.insert(place, Ending { at, key, allocation: Arc::new(allocation) });
    }

    /// How much memory of a node comes free by then.
    pub fn memory_freed(&self, node: &NodeName, by: Time) -> Bytes {
        let over = self.list.iter().take_while(|ending| ending.at <= by);
        over.filter_map(|ending| ending.allocation.on(node)).map(|share| share.memory).sum()
    }

    /// The earliest time at which a job of this shape has room, and where; `None`: not even when
    /// all is over. `reserved` is kept out of its sight, whoever ends.
    pub fn make_room(
        &self,
        cluster: &Cluster<'_>,
        trial: &mut Trial,
        shape: &Shape<'_>,
        reserved: &[(NodeIndex, Share)],
        now: Time,
    ) -> Option<(Time, Placement)> {
        let nodes: BTreeSet<NodeIndex> = shape.nodes.usable.iter().copied().collect();
        let mut ends: Vec<(Time, Vec<(NodeIndex, &Share)>)> = Vec::new();
        for ending in &self.list {
            let shares = ending.allocation.shares().iter();
            let found = shares.filter_map(|share| Some((cluster.find(&share.node)?, share)));
            let freed: Vec<_> = found.filter(|(at, _)| nodes.contains(at)).collect();
            if !freed.is_empty() {
                ends.push((ending.at, freed));
            }
        }
        let mut after = |count: usize| {
            let checkpoint = trial.checkpoint();
            for (at, share) in ends[..count].iter().flat_map(|(_, freed)| freed) {
                trial.give_back(cluster, *at, share);
            }
            let mut view = trial.view();
            for (at, share) in reserved {
                view.hold_back(cluster, *at, share);
            }
            let placement = place(cluster, &view, shape);
            trial.roll_back(checkpoint);
            placement
        };
        // The more has ended, the more is free: search for the first count that is enough.
        let mut placement = after(ends.len())?;
        let (mut too_few, mut enough) = (None, ends.len());
        while too_few.map_or(0, |few| few + 1) < enough {
            let low = too_few.map_or(0, |few| few + 1);
            let middle = low + (enough - low) / 2;
            match after(middle) {
                Some(found) => (placement, enough) = (found, middle),
                None => too_few = Some(middle),
            }
        }
        let at = enough.checked_sub(1).map_or(now, |last| ends[last].0);
        Some((at, placement))
    }
}
