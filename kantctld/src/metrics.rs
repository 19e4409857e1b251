//! The metrics of Kant for users: the cluster now, from the engine's snapshot, and the last day,
//! from the jobs and usage in the state. All formulas are in `engine::measure`.

use common::id::{NodeName, SwitchName};
use common::job::Phase;
use common::resource::{Request, Share};
use common::time::{Span, Time};
use common::unit::{GpuMilli, Gpus, Nodes};
use common::wire::api::{KindUse, MetricsView, SpanBucket, WaitBucket};
use engine::Snapshot;
use engine::measure::{self, GpuTime, JobWaits, KANT_SIZES, LeafSizes, Mean, size_of};
use engine::typical::typical;
use state::State;
use state::charging::running_usage;
use state::job::{Element, Record, Run};
use state::timeline::TimelineEvent;
use state::usage::{Hour, Used};
use std::collections::{BTreeMap, BTreeSet};

/// Jobs that ended earlier do not count.
const WINDOW_HOURS: u64 = 24;

/// The metrics at `now`, for a snapshot of this state. Takes time linear in the number of jobs.
#[must_use]
pub fn metrics(state: &State, snapshot: &Snapshot, now: Time) -> MetricsView {
    let cluster = measure::measure_cluster(snapshot);
    let from = window_from(state, now);
    let mut jobs = Jobs::new(state);
    state.jobs().for_each(|record| jobs.add(record, from));
    let shapes = typical(jobs.requests.iter().copied());
    let there_was = GpuTime::of(GpuMilli::WHOLE.times(cluster.gpus.0), now.since(from));
    let kinds = cluster.kinds.iter().map(|(kind, of_kind)| KindUse {
        kind: kind.clone(),
        gpus: of_kind.gpus,
        used_milli: of_kind.used,
    });
    MetricsView {
        as_of: now,
        gpus: cluster.gpus,
        gpus_used_milli: cluster.used,
        kinds: kinds.collect(),
        gar: cluster.gpu_allocation_rate().unwrap_or(0.0),
        sor: measure::scheduling_occupancy_rate(gpu_time_held(state, from, now), there_was)
            .unwrap_or(0.0),
        sor_from: from,
        gfr: cluster.gpu_fragmentation_rate().unwrap_or(0.0),
        gfr_of_used: cluster.fragmentation_rate_of_used().unwrap_or(0.0),
        fr_8: cluster.fragmentation_ratio_of_8(),
        fgd: measure::fgd_fragmentation(snapshot, &shapes),
        nodes: cluster.nodes,
        nodes_free: cluster.nodes_free,
        leaf_groups: cluster.leaf_groups,
        leaf_groups_free: cluster.leaf_groups_free,
        waits: KANT_SIZES
            .iter()
            .zip(&jobs.of_size)
            .map(|(size, of)| of.wait_bucket(size.name))
            .collect(),
        spans: KANT_SIZES
            .iter()
            .zip(&jobs.of_size)
            .map(|(size, of)| of.span_bucket(size.name))
            .collect(),
    }
}

/// The start of the window: a day ago, at a full hour because usage is kept by the hour. For a
/// newer cluster its first job, or the hour of its first usage if the state has only that.
fn window_from(state: &State, now: Time) -> Time {
    let day = Hour(Hour::of(now).0.saturating_sub(WINDOW_HOURS)).begin();
    let charged = state.usage().iter().filter_map(|(_, hours)| hours.keys().next().copied()).min();
    let submitted = state.jobs().map(|record| record.submitted_at).min().unwrap_or(now);
    let charged = charged.filter(|hour| *hour < Hour::of(submitted)).map(Hour::begin);
    day.max(charged.unwrap_or(submitted))
}

/// GPU-time held by jobs since the start of an hour.
fn gpu_time_held(state: &State, from: Time, now: Time) -> GpuTime {
    let running = running_usage(state, now);
    let all = state.usage().iter().chain(running.iter()).flat_map(|(_, hours)| hours);
    let mut sum = GpuTime::default();
    for (_, Used { gpu_milliseconds, .. }) in all.filter(|(hour, _)| **hour >= Hour::of(from)) {
        sum += GpuTime::of(GpuMilli::WHOLE, Span(*gpu_milliseconds));
    }
    sum
}

/// The jobs of one size class.
#[derive(Default)]
struct OfSize {
    waiting: u32,
    waits: Vec<Span>,
    dev_node: Mean,
    dev_group: Mean,
    time_ratio: Mean,
}

impl OfSize {
    fn wait_bucket(&self, name: &str) -> WaitBucket {
        let waits = JobWaits::of(self.waits.clone());
        WaitBucket {
            gpus: name.to_owned(),
            started: saturating_count(waits.jobs),
            waiting: self.waiting,
            mean_seconds: waits.mean.map(rounded_seconds),
            p50_seconds: waits.p50.map(rounded_seconds),
            p90_seconds: waits.p90.map(rounded_seconds),
            p99_seconds: waits.p99.map(rounded_seconds),
        }
    }

    fn span_bucket(&self, name: &str) -> SpanBucket {
        SpanBucket {
            gpus: name.to_owned(),
            jobs: self.dev_node.count(),
            nodes_ratio: self.dev_node.value(),
            groups_ratio: self.dev_group.value(),
            time_ratio: self.time_ratio.value(),
        }
    }
}

/// All jobs by size class.
struct Jobs<'a> {
    state: &'a State,
    of_size: Vec<OfSize>,
    /// Requests that wait, run or started within the window, with their number of tasks.
    requests: Vec<(&'a Request, usize)>,
    leaf_sizes: LeafSizes,
}

impl<'a> Jobs<'a> {
    fn new(state: &'a State) -> Self {
        let mut sizes: BTreeMap<&SwitchName, Gpus> = BTreeMap::new();
        for (name, node) in state.nodes() {
            if let Some(leaf) = leaf_switch(state, name) {
                *sizes.entry(leaf).or_default() += node.inventory.gpu_count();
            }
        }
        let of_size = KANT_SIZES.iter().map(|_| OfSize::default()).collect();
        let leaf_sizes = LeafSizes::of(sizes.into_values());
        Self { state, of_size, requests: Vec::new(), leaf_sizes }
    }

    fn add(&mut self, record: &'a Record, from: Time) {
        let mut counted = 0;
        for element in record.elements.values() {
            if element.phase == Phase::Pending {
                self.of_size(asked_gpus(&record.spec.ask.request)).waiting += 1;
            }
            let started = first_start(element).filter(|at| *at >= from);
            if let Some(started) = started {
                self.add_start(record, started, element.run.as_deref());
            }
            counted += usize::from(element.phase != Phase::Done || started.is_some());
        }
        if counted > 0 {
            self.requests.push((&record.spec.ask.request, counted));
        }
    }

    /// Adds a job that was started at this time, with its last placement; none while it waits
    /// again.
    fn add_start(&mut self, record: &Record, started: Time, run: Option<&Run>) {
        let shares = run.map_or(&[][..], |run| run.allocation.shares());
        let gpus = match shares {
            [] => asked_gpus(&record.spec.ask.request),
            shares => shares.iter().map(Share::gpus_milli).sum(),
        };
        let ready = record.spec.ask.begin_at.unwrap_or_default().max(record.submitted_at);
        let dev_node = self.node_deviation(shares, gpus);
        let dev_group = dev_node.and_then(|_| self.group_deviation(shares, gpus));
        let of_size = self.of_size(gpus);
        of_size.waits.push(started.since(ready));
        dev_group.into_iter().for_each(|deviation| of_size.dev_group.add(deviation));
        if let Some(deviation) = dev_node {
            of_size.dev_node.add(deviation);
            of_size.time_ratio.add(measure::time_ratio(deviation, dev_group));
        }
    }

    fn node_deviation(&self, shares: &[Share], gpus: GpuMilli) -> Option<f64> {
        let of_node = |share: &Share| Some(self.state.node(&share.node)?.inventory.gpu_count());
        let largest = shares.iter().filter_map(of_node).max()?;
        measure::node_deviation(Nodes(saturating_count(shares.len())), gpus, largest)
    }

    fn group_deviation(&self, shares: &[Share], gpus: GpuMilli) -> Option<f64> {
        let leafs = shares.iter().map(|share| leaf_switch(self.state, &share.node));
        let leafs = leafs.collect::<Option<BTreeSet<&SwitchName>>>()?;
        measure::leaf_group_deviation(saturating_count(leafs.len()), gpus, &self.leaf_sizes)
    }

    fn of_size(&mut self, gpus: GpuMilli) -> &mut OfSize {
        &mut self.of_size[size_of(&KANT_SIZES, gpus)]
    }
}

fn leaf_switch<'a>(state: &'a State, node: &NodeName) -> Option<&'a SwitchName> {
    state.settings()?.topology.0.get(node)?.leaf.as_ref()
}

/// The GPUs that a job asks for in total; on one node if it leaves the number of nodes open.
fn asked_gpus(request: &Request) -> GpuMilli {
    request.total_gpus_milli(request.nodes.unwrap_or(Nodes(1)), request.tasks)
}

/// When it first got nodes, as far as its timeline goes back.
fn first_start(element: &Element) -> Option<Time> {
    let is_start = |what: &TimelineEvent| matches!(what, TimelineEvent::Started { .. });
    element.timeline.iter().find(|line| is_start(&line.what)).map(|line| line.at)
}

/// Rounded seconds; waits are not negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn rounded_seconds(seconds: f64) -> u64 {
    seconds.round() as u64
}

fn saturating_count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
