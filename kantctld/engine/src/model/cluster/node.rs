//! One node: what it has, and which jobs hold what of it until when.

use crate::model::cluster::class::Class;
use crate::model::cluster::free::Free;
use crate::model::cluster::group::{Counted, GroupIndex};
use crate::model::job::RunningJob;
use crate::model::node_snapshot::{NodeSnapshot, Unusable};
use common::id::{DataName, JobKey, NodeName};
use common::resource::Share;
use common::time::Time;
use common::topology::Position;
use common::unit::{Bytes, Cpus, GpuMilli};
use std::sync::Arc;

/// The end of a job without a time limit: after everything else.
pub(crate) const NEVER: Time = Time(u64::MAX);

/// A job that holds nodes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HoldingJob {
    pub key: JobKey,
    /// Its latest end by its time limit; [`NEVER`] without one.
    pub until: Time,
    /// What it holds on each of them.
    pub shares: Arc<[Share]>,
    pub whole_node: bool,
    /// The group from whose other jobs it keeps apart.
    pub group: Option<Arc<str>>,
}

/// One job on one node. What rounds read of thousands of holders is not behind a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    job: Arc<HoldingJob>,
    pub key: JobKey,
    pub until: Time,
    /// Which of its shares is on the node.
    rank: u32,
    /// The number of CPUs in that share.
    pub cpus: Cpus,
    pub memory: Bytes,
    /// The positions of its GPUs, since it was put on the node.
    pub gpus: u128,
    /// The fraction that it holds of each GPU; zero: all of it.
    pub part: GpuMilli,
}

impl HoldingJob {
    /// A running job with these shares.
    pub fn new(job: &RunningJob, shares: Arc<[Share]>) -> Self {
        Self {
            key: job.key,
            until: job.ends_by.unwrap_or(NEVER),
            shares,
            whole_node: job.whole_nodes,
            group: job.group.clone(),
        }
    }

    /// The job on each of its nodes, in rank order.
    pub fn holders(self) -> impl Iterator<Item = Holder> {
        let job = Arc::new(self);
        (0..job.shares.len()).map(move |rank| {
            let share = &job.shares[rank];
            Holder {
                key: job.key,
                until: job.until,
                rank: u32::try_from(rank).unwrap_or(u32::MAX),
                cpus: Cpus(share.cpus.len()),
                memory: share.memory,
                gpus: 0,
                part: share.gpu_milli.unwrap_or(GpuMilli::ZERO),
                job: job.clone(),
            }
        })
    }
}

impl Holder {
    /// Its share of the node.
    pub fn share(&self) -> &Share {
        &self.job.shares[self.rank as usize]
    }

    /// The same on a node of this class.
    pub fn for_class(self, class: &Class) -> Self {
        Self { gpus: class.mask(&self.share().gpus), ..self }
    }
}

impl std::ops::Deref for Holder {
    type Target = HoldingJob;

    fn deref(&self) -> &HoldingJob {
        &self.job
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub name: NodeName,
    pub class: Arc<Class>,
    pub unusable: Option<Unusable>,
    /// The data that it has, in ascending order.
    pub data: Arc<[DataName]>,
    pub position: Position,
    pub group: GroupIndex,
    pub holders: Vec<Holder>,
    pub free: Free,
}

impl Node {
    pub fn new(node: &NodeSnapshot, class: Arc<Class>) -> Self {
        Self {
            name: node.name.clone(),
            unusable: node.unusable,
            data: node.data.clone(),
            position: Position::default(),
            group: GroupIndex(0),
            holders: Vec::new(),
            free: Free::of_idle_node(&class),
            class,
        }
    }

    /// The node as a snapshot lists it.
    pub fn snapshot(&self) -> NodeSnapshot {
        NodeSnapshot {
            name: self.name.clone(),
            inventory: self.class.inventory.clone(),
            unusable: self.unusable,
            data: self.data.clone(),
        }
    }

    /// The earliest end, at the latest, of a job here; [`NEVER`] if there is none.
    pub fn first_end(&self) -> Time {
        self.holders.first().map_or(NEVER, |first| first.until)
    }

    /// Whether jobs may start here.
    pub const fn is_usable(&self) -> bool {
        self.unusable.is_none()
    }

    pub fn change(&mut self, node: &NodeSnapshot, class: Arc<Class>) {
        (self.unusable, self.data) = (node.unusable, node.data.clone());
        self.class = class;
        for holder in &mut self.holders {
            *holder = holder.clone().for_class(&self.class);
        }
        self.recount_free();
    }

    pub fn add(&mut self, holder: Holder) {
        if self.holders.iter().any(|other| other.key == holder.key) {
            self.remove(holder.key);
        }
        let holder = holder.for_class(&self.class);
        self.free.take(&self.class, &holder);
        let order = |other: &Holder| (other.until, other.key) < (holder.until, holder.key);
        let at = self.holders.partition_point(order);
        self.holders.insert(at, holder);
    }

    pub fn remove(&mut self, key: JobKey) {
        self.holders.retain(|other| other.key != key);
        self.recount_free();
    }

    /// Computes what is free from the holders, so that it is exact whatever happened before.
    fn recount_free(&mut self) {
        let mut free = Free::of_idle_node(&self.class);
        for holder in &self.holders {
            free.take(&self.class, holder);
        }
        self.free = free;
    }

    /// What the sums of its group count of it.
    pub fn to_counted(&self) -> Counted<'_> {
        Counted { usable: self.is_usable(), free: &self.free }
    }
}
