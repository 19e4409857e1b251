//! What queues hold, want and are entitled to of one resource under fair sharing, computed for the
//! judge from jobs, quotas and weights. It uses integers only, and no code of the fair shares that
//! it verifies.

use super::Judge;
use crate::model::job::WaitingJob;
use crate::model::node_snapshot::NodeSnapshot;
use common::gpu_parts::{GpuParts, PartSize};
use common::id::QueueName;
use common::policy::queue::Queue;
use common::policy::{Amounts, QuotaMode};
use common::resource::{Request, Share};
use common::unit::{GpuMilli, Nodes, Tasks};
use std::collections::BTreeMap;

/// Thousandths of GPUs, or of CPUs.
pub(super) type Milli = u128;

pub(super) const ENDLESS: Milli = Milli::MAX;

/// The resources that are judged. Memory is not: a request does not determine how much it will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Gpus,
    Cpus,
}

impl Of {
    pub const BOTH: [Self; 2] = [Self::Gpus, Self::Cpus];

    /// The smallest part of a surplus that is handed out.
    pub const fn unit(self) -> Milli {
        match self {
            Self::Gpus => 1000,
            Self::Cpus => 1,
        }
    }

    /// The amount that is named of it; `None`: none is.
    fn named_amount(self, amounts: &Amounts) -> Option<Milli> {
        let kinds = || amounts.gpus.values().map(|gpus| Milli::from(gpus.0)).sum::<Milli>();
        let whole = match self {
            Self::Gpus => {
                let any = amounts.gpus_any.map(|gpus| Milli::from(gpus.0));
                any.or_else(|| (!amounts.gpus.is_empty()).then(kinds))
            }
            Self::Cpus => amounts.cpus.map(|cpus| Milli::from(cpus.0)),
        };
        whole.map(|whole| whole * 1000)
    }

    /// Whether the queue's quota names the resource.
    pub fn is_in_quota(self, queue: &Queue) -> bool {
        self.named_amount(&queue.quota.amounts).is_some()
    }

    /// The guaranteed amount. GPUs that are not named are not guaranteed, CPUs are without bound.
    pub fn owed(self, queue: &Queue) -> Milli {
        let unnamed = if self == Self::Gpus { 0 } else { ENDLESS };
        self.named_amount(&queue.quota.amounts).unwrap_or(unnamed)
    }

    pub fn held(self, shares: &[Share]) -> Milli {
        let of = |share: &Share| match self {
            Self::Gpus => Milli::from(share.gpus_milli().0),
            Self::Cpus => Milli::from(share.cpus.len()) * 1000,
        };
        shares.iter().map(of).sum()
    }
}

/// The sums of one resource, each queue with its descendants.
#[derive(Debug)]
pub(super) struct Sums {
    pub of: Of,
    pub held: BTreeMap<QueueName, Milli>,
    pub wants: BTreeMap<QueueName, Milli>,
    pub due: BTreeMap<QueueName, Milli>,
    /// The most that each queue may hold.
    pub most: BTreeMap<QueueName, Milli>,
    /// Past use, in millionths of all; taken from the round.
    pub used: BTreeMap<QueueName, Milli>,
    /// The strength of past use, in hundredths.
    pub strength: Milli,
}

/// The sum of one queue.
pub(super) fn sum(sums: &BTreeMap<QueueName, Milli>, queue: &Queue) -> Milli {
    sums.get(&queue.name).copied().unwrap_or_default()
}

impl Judge<'_> {
    /// What the job asks for with all its tasks, or with its minimum. If GPUs are asked for by the
    /// node without a number of nodes, each task may get its own node.
    pub(super) fn requested_amount(&self, of: Of, job: &WaitingJob, is_least: bool) -> Milli {
        let request = &job.request;
        let tasks = request.tasks_min.filter(|_| is_least).unwrap_or(request.tasks);
        if of == Of::Cpus {
            return Milli::from(request.cpus_per_task.0) * Milli::from(tasks.0) * 1000;
        }
        if request.exclusive {
            return self.requested_whole_nodes(job, tasks);
        }
        if let Some(parts) = request.gpu_parts() {
            return self.requested_gpu_parts(job, parts);
        }
        let nodes = request.nodes.unwrap_or(Nodes(tasks.0));
        Milli::from(request.total_gpus_milli(nodes, tasks).0)
    }

    /// The components that ask together with this one; a job without components asks alone. Empty:
    /// components in several queues, or of which one may not start, have no share.
    pub(super) fn jobs_requesting_together<'j>(
        &'j self,
        job: &'j WaitingJob,
    ) -> Vec<&'j WaitingJob> {
        let Some(first) = job.together else { return vec![job] };
        let all: Vec<&WaitingJob> =
            self.snapshot.wait_queue.components_with(first).map(|one| &**one).collect();
        let may =
            |one: &&WaitingJob| one.queue == job.queue && self.snapshot.class_of(one.key).is_some();
        if all.iter().all(may) { all } else { Vec::new() }
    }

    /// Parts by memory: at most the part of the smallest sufficient GPU on the nodes that the job
    /// may use, up or down.
    fn requested_gpu_parts(&self, job: &WaitingJob, parts: GpuParts) -> Milli {
        let queue = self.queues.get(&job.queue).copied();
        let may = |node: &NodeSnapshot| {
            let up = NodeSnapshot { unusable: None, ..node.clone() };
            queue.is_some_and(|queue| self.rules_against_node(job, queue, &up).is_empty())
        };
        let mut most = None;
        for node in self.snapshot.nodes().into_iter().filter(|node| may(node)) {
            let gpus = node.inventory.gpus.iter();
            let accepted = gpus.filter(|gpu| job.request.accepts(&gpu.kind));
            let Some(smallest) = accepted.map(|gpu| gpu.memory).min() else { continue };
            most = most.max(
                Some(parts.each.gpu_fraction(smallest)).filter(|part| *part <= GpuMilli::WHOLE),
            );
        }
        let each = match (most, parts.each) {
            (_, PartSize::Milli(part)) | (Some(part), _) => part,
            (None, PartSize::Memory(_)) => GpuMilli::WHOLE,
        };
        Milli::from(each.0) * Milli::from(parts.devices.0)
    }

    /// Whole nodes: all GPUs of the smallest nodes that are up, times the number needed of the
    /// largest.
    fn requested_whole_nodes(&self, job: &WaitingJob, tasks: Tasks) -> Milli {
        let request: &Request = &job.request;
        let Some(queue) = self.queues.get(&job.queue).copied() else { return 0 };
        let has_kind = |node: &crate::model::node_snapshot::NodeSnapshot| {
            let gpus = &node.inventory.gpus;
            request.gpus.is_none()
                || (request.gpu_kind.is_none() && gpus.is_empty())
                || gpus.iter().any(|gpu| request.accepts(&gpu.kind))
        };
        let may =
            self.snapshot.nodes().into_iter().filter(|node| {
                self.rules_against_node(job, queue, node).is_empty() && has_kind(node)
            });
        let size = |node: crate::model::node_snapshot::NodeSnapshot| {
            let cores = node.inventory.cores.iter().map(common::cpuset::CpuSet::len);
            (cores.map(Milli::from).sum::<Milli>(), node.inventory.gpus.len() as Milli)
        };
        let sizes: Vec<(Milli, Milli)> = may.map(size).collect();
        let most =
            |of: fn(&(Milli, Milli)) -> Milli| sizes.iter().map(of).max().unwrap_or(1).max(1);
        let in_all =
            |nodes: Nodes| Milli::from(request.total_gpus_milli(nodes, tasks).0).div_ceil(1000);
        let per_node = request.tasks_per_node.map_or(Milli::MAX, |tasks| Milli::from(tasks.0));
        let cpus = Milli::from(request.cpus_per_task.0) * Milli::from(tasks.0);
        let by_size =
            cpus.div_ceil(most(|one| one.0)).max(in_all(Nodes(1)).div_ceil(most(|one| one.1)));
        let by_task = Milli::from(tasks.0).div_ceil(per_node.max(1));
        // An elastic job is counted task by task.
        let is_elastic = request.tasks_min.is_some();
        let fewest = if is_elastic { Milli::from(tasks.0) } else { by_size.max(by_task).max(1) };
        let nodes = request.nodes.map_or(fewest, |nodes| Milli::from(nodes.0));
        let each = in_all(Nodes(u32::try_from(nodes).unwrap_or(u32::MAX))).div_ceil(nodes.max(1));
        let suits = sizes.iter().map(|(_, gpus)| *gpus).filter(|gpus| *gpus >= each);
        nodes * suits.min().unwrap_or(each) * 1000
    }

    /// Amounts as a bound. One that names only some kinds of GPU allows all GPUs of the others.
    pub(super) fn bound_from_amounts(&self, of: Of, amounts: &Amounts) -> Milli {
        if of == Of::Cpus || amounts.gpus_any.is_some() || amounts.gpus.is_empty() {
            return of.named_amount(amounts).unwrap_or(ENDLESS);
        }
        let nodes = self.snapshot.nodes();
        let gpus = nodes.iter().flat_map(|node| &node.inventory.gpus);
        let others = gpus.filter(|gpu| !amounts.gpus.contains_key(&gpu.kind)).count();
        of.named_amount(amounts).unwrap_or(0) + others as Milli * 1000
    }

    pub(super) fn add(
        &self,
        sums: &mut BTreeMap<QueueName, Milli>,
        queue: &QueueName,
        amount: Milli,
    ) {
        for queue in self.bounds.path(queue) {
            *sums.entry(queue.name.clone()).or_default() += amount;
        }
    }

    /// The sums of the snapshot, with the jobs that start before any preemption of this round.
    pub(super) fn sums(&self, of: Of) -> Sums {
        let none = BTreeMap::new;
        let policy = self.snapshot.policy();
        // Past use of CPUs does not count.
        let used = Some(crate::policy::sharing::past::used_ppm(self.snapshot, self.now));
        let used = used.filter(|_| of == Of::Gpus).unwrap_or_default().into_iter().map(Milli::from);
        let mut sums = Sums {
            of,
            held: none(),
            wants: none(),
            due: none(),
            most: none(),
            used: policy.queues.iter().map(|queue| queue.name.clone()).zip(used).collect(),
            strength: Milli::from(policy.factors.past_use_percent),
        };
        for queue in &policy.queues {
            let amounts = match queue.quota.mode {
                QuotaMode::Isolated => &queue.quota.amounts,
                QuotaMode::Shared => &queue.quota.at_most,
            };
            sums.most.insert(queue.name.clone(), self.bound_from_amounts(of, amounts));
        }
        for job in self.snapshot.all_running().filter(|job| !job.ending) {
            self.add(&mut sums.held, &job.queue, of.held(job.staying_shares()));
            self.add(&mut sums.wants, &job.queue, of.held(job.staying_shares()));
        }
        // A job that is moved holds its new place.
        for job in self.snapshot.all_running().filter(|job| job.ending) {
            if let Some(again) = self.snapshot.restarts_elsewhere(job.key, self.now) {
                self.add(&mut sums.held, &job.queue, self.requested_amount(of, again, true));
                self.add(&mut sums.wants, &job.queue, self.requested_amount(of, again, false));
            }
        }
        for job in self.snapshot.all_waiting() {
            if self.snapshot.class_of(job.key).is_none()
                || self.jobs_requesting_together(job).is_empty()
            {
                continue;
            }
            let is_kept = self.has_room_kept(job.key);
            let granted = self.granted.get(&job.key);
            if let Some(allocation) = granted.filter(|_| is_kept) {
                // It started before the plan was made, which counted what the job got.
                self.add(&mut sums.wants, &job.queue, of.held(allocation.shares()));
                self.add(&mut sums.held, &job.queue, of.held(allocation.shares()));
                continue;
            }
            self.add(&mut sums.wants, &job.queue, self.requested_amount(of, job, false));
            let starts = || self.started.contains(&job.key);
            if is_kept || starts() && !self.starts_behind.contains(&job.key) {
                self.add(&mut sums.held, &job.queue, self.requested_amount(of, job, true));
            }
        }
        let up = self.snapshot.nodes().into_iter().filter(|node| node.unusable.is_none());
        let total: Milli = up
            .map(|node| match of {
                Of::Gpus => node.inventory.gpus.len() as Milli,
                Of::Cpus => {
                    let cores = node.inventory.cores.iter();
                    cores.map(|core| Milli::from(core.len())).sum()
                }
            })
            .sum();
        self.divide_among_children(None, total * 1000, &mut sums);
        sums
    }
}
