//! The cluster, from the replicated state: jobs, nodes, GPUs and queues.

use super::QUEUES_MAX;
use super::series::{Series, label};
use common::node::NodeStatus;
use common::policy::Amounts;
use common::policy::queue::Queue;
use common::unit::GpuMilli;
use common::wire::api::{ClusterMap, MapNode, MetricsView, QueueHeld, QueueList};
use query::view;
use state::State;

pub fn add(series: &mut Series, state: &State) {
    let counts = view::counts(state);
    let active = counts.jobs_pending + counts.jobs_running;
    series.gauge("slurm_jobs", "Jobs that have not ended.", active);
    series.gauge("slurm_jobs_pending", "Waiting jobs.", counts.jobs_pending);
    series.gauge("slurm_jobs_running", "Jobs with an allocation.", counts.jobs_running);
    series.gauge("kant_jobs_done", "Finished jobs that are kept.", counts.jobs_done);
    series.gauge("kant_nodes_connected", "Nodes with a session.", counts.nodes_connected);
    let map = view::cluster_map(state, &query::viewer::Viewer::ALL);
    add_nodes(series, &map);
    add_gpus(series, &map);
    add_queues(series, &view::queue_list(state));
    let tokens = state.tokens().count() as f64;
    series.gauge("kant_tokens", "Valid tokens of programs.", tokens);
}

const STATUSES: [NodeStatus; 6] = [
    NodeStatus::Idle,
    NodeStatus::Mixed,
    NodeStatus::Allocated,
    NodeStatus::Draining,
    NodeStatus::Drained,
    NodeStatus::Down,
];

fn all_nodes(map: &ClusterMap) -> impl Iterator<Item = &MapNode> {
    map.groups.iter().flat_map(|group| &group.nodes)
}

fn add_nodes(series: &mut Series, map: &ClusterMap) {
    let with = |status| all_nodes(map).filter(|node| node.status == status).count() as f64;
    series.gauge("slurm_nodes", "Nodes.", all_nodes(map).count() as f64);
    series.gauge("slurm_nodes_idle", "Idle nodes.", with(NodeStatus::Idle));
    series.gauge("slurm_nodes_alloc", "Fully used nodes.", with(NodeStatus::Allocated));
    series.gauge("slurm_nodes_mixed", "Partly used nodes.", with(NodeStatus::Mixed));
    series.gauge("slurm_nodes_down", "Nodes that are down.", with(NodeStatus::Down));
    let by_state = STATUSES.map(|status| (label("state", status.word()), with(status)));
    series.gauges("kant_nodes", "Nodes by state.", by_state);
}

/// GPUs count as used, or as what their node is.
fn add_gpus(series: &mut Series, map: &ClusterMap) {
    let (mut used, mut free, mut drained, mut down) = (0_u32, 0_u32, 0_u32, 0_u32);
    for node in all_nodes(map) {
        for jobs in &node.gpus {
            match node.status {
                NodeStatus::Down => down += 1,
                _ if !jobs.is_empty() => used += 1,
                NodeStatus::Draining | NodeStatus::Drained => drained += 1,
                _ => free += 1,
            }
        }
    }
    series.gauge("slurm_nodes_gpus_total", "GPUs.", used + free + drained + down);
    series.gauge("slurm_nodes_gpus_alloc", "GPUs in use.", used);
    let by_state = [("used", used), ("free", free), ("drained", drained), ("down", down)];
    let by_state = by_state.map(|(state, count)| (label("state", state), f64::from(count)));
    series.gauges("kant_gpus", "GPUs by state.", by_state);
}

fn add_queues(series: &mut Series, list: &QueueList) {
    let nothing = QueueHeld::default();
    let shown = || list.queues.iter().take(QUEUES_MAX);
    let held = |queue: &Queue| list.held.get(&queue.name).unwrap_or(&nothing);
    let of_jobs = shown().map(|queue| {
        let jobs = held(queue).running + held(queue).waiting;
        (label("partition", &queue.name), f64::from(jobs))
    });
    series.gauges("slurm_partition_jobs", "Jobs of a queue and those below it.", of_jobs);
    let by_state = shown().flat_map(|queue| {
        let held = held(queue);
        [("running", held.running), ("waiting", held.waiting)].map(|(state, jobs)| {
            let labels = [label("queue", &queue.name), label("state", state)].concat();
            (labels, f64::from(jobs))
        })
    });
    series.gauges("kant_queue_jobs", "Jobs of a queue and those below it, by state.", by_state);
    let used = shown().map(|queue| {
        let milli: u64 = held(queue).gpus_milli.values().map(|one| u64::from(one.0)).sum();
        (label("queue", &queue.name), milli as f64 / f64::from(GpuMilli::WHOLE.0))
    });
    series.gauges("kant_queue_gpus_used", "GPUs of a queue and those below it.", used);
    let quotas = shown()
        .filter_map(|queue| Some((label("queue", &queue.name), total_gpus(&queue.quota.amounts)?)));
    series.gauges("kant_queue_gpus_quota", "Guaranteed GPUs, where a quota names them.", quotas);
    let cut = list.queues.len().saturating_sub(QUEUES_MAX) as f64;
    series.gauge("kant_queues_not_shown", "Queues without series, for their number.", cut);
}

/// The GPUs of all kinds, if the amounts name any.
fn total_gpus(amounts: &Amounts) -> Option<f64> {
    let of_kinds = amounts.gpus.values().map(|gpus| f64::from(gpus.0)).reduce(|one, two| one + two);
    amounts.gpus_any.map(|gpus| f64::from(gpus.0)).or(of_kinds)
}

/// The metrics of Kant, which the leader computes.
pub fn add_kant(series: &mut Series, view: &MetricsView) {
    series.gauge("kant_gar", "GPU allocation ratio.", view.gar);
    series.gauge("kant_sor", "Scheduling occupancy rate of the last day.", view.sor);
    series.gauge("kant_gfr", "GPU node fragmentation ratio.", view.gfr);
    series.gauge("kant_fr_8", "Free GPUs that no 8-GPU job can use, of all free.", view.fr_8);
    if let Some(fgd) = view.fgd {
        series.gauge("kant_fgd", "Free GPUs that the typical job cannot use, of all free.", fgd);
    }
    let size = |bucket: &str| label("gpus", bucket);
    let waits = view.waits.iter();
    let waits = waits.filter_map(|of| Some((size(&of.gpus), of.p90_seconds? as f64)));
    series.gauges("kant_wait_p90_seconds", "Waits of the last day by size of job.", waits);
    let spans = || view.spans.iter();
    let nodes = spans().filter_map(|of| Some((size(&of.gpus), of.nodes_ratio?)));
    series.gauges("kant_jtted_nodes_ratio", "Nodes of jobs to the fewest possible.", nodes);
    let groups = spans().filter_map(|of| Some((size(&of.gpus), of.groups_ratio?)));
    series.gauges("kant_jtted_groups_ratio", "Leaf groups to the fewest possible.", groups);
}
