//! Tests of the metrics on a state that is driven by commands.

use super::*;
use common::gpu_parts::GpuParts;
use common::job::{Ask, EndCause};
use common::resource::GpuRequest;
use common::unit::Tasks;
use common::wire::node::StepPhase;
use state::snapshot::snapshot;
use state::{Command, Settings, Target};
use testkit::{TestCluster, USER, ended, inventory, name, running, settings, share};

/// Nodes g1 and g2 with 8 CPUs and 4 GPUs each.
fn cluster() -> TestCluster {
    TestCluster::of_nodes(&["g1", "g2"], &inventory(8, 64, 4))
}

fn exited(code: u8) -> StepPhase {
    ended(EndCause::Exited, code)
}

fn shown(cluster: &TestCluster) -> MetricsView {
    metrics(&cluster.state, &snapshot(&cluster.state), cluster.now)
}

fn waits<'a>(view: &'a MetricsView, gpus: &str) -> &'a WaitBucket {
    view.waits.iter().find(|bucket| bucket.gpus == gpus).unwrap()
}

fn spans<'a>(view: &'a MetricsView, gpus: &str) -> &'a SpanBucket {
    view.spans.iter().find(|bucket| bucket.gpus == gpus).unwrap()
}

/// A request for this many GPUs on each of this many nodes.
fn gpus(nodes: u32, gpus: u32) -> Ask {
    let (tasks, nodes) = (Tasks(nodes), Some(Nodes(nodes)));
    let gpus = Some(GpuRequest::PerNode(Gpus(gpus)));
    Ask { request: Request { tasks, nodes, gpus, ..Request::default() }, ..Ask::default() }
}

#[test]
fn an_unused_cluster_has_only_its_capacity() {
    let view = shown(&cluster());
    assert_eq!((view.gpus, view.nodes, view.nodes_free), (Gpus(8), Nodes(2), Nodes(2)));
    assert_eq!((view.gar, view.sor, view.gfr, view.fr_8), (0.0, 0.0, 0.0, 1.0));
    assert_eq!((view.fgd, view.sor_from), (None, view.as_of));
    let sizes: Vec<&str> = view.waits.iter().map(|bucket| bucket.gpus.as_str()).collect();
    let all = ["0", "<1", "1", "2-7", "8", "9-63", "64-255", "256-1023", ">=1024"];
    assert_eq!(sizes, all);
    assert!(view.waits.iter().all(|bucket| bucket.started == 0 && bucket.p50_seconds.is_none()));
}

#[test]
fn occupancy_is_the_gpu_time_held_since_the_first_job() {
    let mut cluster = cluster();
    let (key, begin) = (cluster.job_of(gpus(1, 3)), cluster.now);
    cluster.job_of(gpus(2, 4));
    cluster.job_of(gpus(2, 4));
    cluster.wait(60);
    let id = cluster.start(key, vec![share("g1", 0, 1, &[0, 1, 2])]);
    cluster.report("g1", id, running());
    cluster.wait(540);
    let view = shown(&cluster);
    assert_eq!((view.gar, view.gfr, view.gfr_of_used), (0.375, 0.5, 1.0));
    assert_eq!((view.gpus_used_milli, view.kinds[0].used_milli), (GpuMilli(3000), GpuMilli(3000)));
    assert_eq!((view.sor, view.sor_from), (3.0 * 540.0 / (8.0 * 600.0), begin));
    let lost = view.fgd.unwrap();
    assert!((lost - 0.2).abs() < 1e-12, "of 5 free GPUs, g1's last one fits no job: {lost}");
    assert_eq!((waits(&view, "8").waiting, waits(&view, "2-7").waiting), (2, 0));

    cluster.report("g1", id, exited(0));
    cluster.wait(600);
    let view = shown(&cluster);
    assert_eq!((view.gar, view.sor), (0.0, 3.0 * 540.0 / (8.0 * 1200.0)));
    assert_eq!(waits(&view, "2-7").p50_seconds, Some(60));
}

#[test]
fn the_window_is_the_last_day() {
    let mut cluster = cluster();
    let key = cluster.job_of(gpus(1, 4));
    let id = cluster.start(key, vec![share("g1", 0, 1, &[0, 1, 2, 3])]);
    cluster.report("g1", id, running());
    cluster.wait(12 * 3600);
    cluster.report("g1", id, exited(0));
    let day = 24 * 3_600_000;
    cluster.now = Time(day + 6 * 3_600_000 + 5);
    let view = shown(&cluster);
    assert_eq!(view.sor_from, Time(6 * 3_600_000));
    // From hour 6 to 12 h after 1000 s, 4 GPUs of 8, of the 24 h and 5 ms since hour 6.
    let held = 4.0 * (6.0 * 3_600_000.0 + 1_000_000.0);
    assert!((view.sor - held / (8.0 * (24.0 * 3_600_000.0 + 5.0))).abs() < 1e-9, "{}", view.sor);
    assert_eq!(waits(&view, "2-7").started, 0, "it started before the window");
}

#[test]
fn a_wait_lasts_from_the_earliest_start_to_the_first_start() {
    let mut cluster = cluster();
    let begin_at = Some(cluster.now + Span::from_seconds(3600));
    let key = cluster.job_of(Ask { begin_at, ..gpus(1, 1) });
    cluster.wait(3605);
    let id = cluster.start(key, vec![share("g1", 0, 1, &[0])]);
    cluster.report("g1", id, running());
    cluster.wait(1000);
    cluster.apply(Command::RequeueJob { actor: USER, target: Target { key } });
    cluster.report("g1", id, exited(1));
    let view = shown(&cluster);
    let bucket = waits(&view, "1");
    assert_eq!((bucket.started, bucket.waiting), (1, 1));
    assert_eq!((bucket.mean_seconds, bucket.p99_seconds), (Some(5), Some(5)));
    cluster.start(key, vec![share("g2", 0, 1, &[0])]);
    assert_eq!(waits(&shown(&cluster), "1").p50_seconds, Some(5), "a second start does not count");
}

#[test]
fn a_part_of_a_gpu_has_its_own_size_class() {
    let mut cluster = cluster();
    let mut settings = settings();
    settings.queues[0].share_gpus = true;
    cluster.apply(Command::Configure(settings));
    let mut ask = gpus(1, 1);
    ask.request.gpus = Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(250))));
    let key = cluster.job_of(ask.clone());
    cluster.job_of(ask);
    cluster.job_of(Ask::default());
    let part = Share { gpu_milli: Some(GpuMilli(250)), ..share("g1", 0, 1, &[0]) };
    cluster.start(key, vec![part]);
    let view = shown(&cluster);
    let bucket = waits(&view, "<1");
    assert_eq!((bucket.started, bucket.waiting, waits(&view, "0").waiting), (1, 1, 1));
    assert_eq!(view.gpus_used_milli, GpuMilli(250));
    assert_eq!(spans(&view, "<1").nodes_ratio, None, "it has no choice of nodes");
}

#[test]
fn jobs_that_are_spread_out_show_in_their_size_class() {
    let mut cluster = cluster();
    let mut topology = common::topology::Topology::default();
    for (node, leaf) in [("g1", "l1"), ("g2", "l2")] {
        let position = topology.0.entry(name(node)).or_default();
        position.leaf = SwitchName::new(leaf).ok();
    }
    cluster.apply(Command::Configure(Settings { topology, ..settings() }));
    let (near, far) = (cluster.job_of(gpus(1, 2)), cluster.job_of(gpus(2, 1)));
    cluster.start(near, vec![share("g1", 0, 1, &[0, 1])]);
    cluster.start(far, vec![share("g1", 2, 1, &[2]), share("g2", 2, 1, &[2])]);
    let view = shown(&cluster);
    assert_eq!((view.leaf_groups, view.leaf_groups_free), (2, 0));
    let bucket = spans(&view, "2-7");
    assert_eq!((bucket.jobs, bucket.nodes_ratio, bucket.groups_ratio), (2, Some(1.5), Some(1.5)));
    assert!((bucket.time_ratio.unwrap() - 1.075).abs() < 1e-12);
}
