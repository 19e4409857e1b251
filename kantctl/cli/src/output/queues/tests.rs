//! Tests of the queues' table and a queue's record.

use super::*;
use common::gpu::GpuKind;
use common::id::{NodeName, QueueName};
use common::policy::{Backfill, Order};
use common::time::Span;
use common::unit::Cpus;
use std::collections::BTreeMap;

fn name(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

fn below(parent: &str, child: &str) -> Queue {
    Queue { parent: Some(name(parent)), ..Queue::with_defaults(name(child)) }
}

fn h100() -> GpuKind {
    GpuKind("h100".to_owned())
}

fn list(queues: Vec<Queue>) -> QueueList {
    QueueList { queues, held: BTreeMap::new() }
}

/// Queues in two levels, with every column filled.
fn cluster() -> QueueList {
    let mut research = Queue::with_defaults(name("research"));
    research.quota.amounts.gpus = BTreeMap::from([(h100(), Gpus(16))]);
    research.limits.jobs = Some(100);
    let mut vision = below("research", "vision");
    vision.default = true;
    vision.priority = 10;
    vision.order = Order::Multifactor;
    vision.backfill = Backfill { depth: 8, ..Backfill::default() };
    vision.quota.mode = QuotaMode::Isolated;
    vision.quota.amounts.cpus = Some(Cpus(64));
    vision.limits_per_user.gpus = Some(Gpus(8));
    vision.time_limit_max = Some(Span::from_minutes(90));
    let mut debug = Queue::with_defaults(name("debug"));
    debug.behind = Behind::Wait;
    debug.nodes = ["g1", "g2"].map(|n| NodeName::new(n).unwrap()).to_vec();
    let held = |running, gpus| QueueHeld {
        running,
        waiting: 3,
        gpus_milli: BTreeMap::from([(h100(), GpuMilli(gpus))]),
        cpus: Cpus(12),
        ..QueueHeld::default()
    };
    let held = BTreeMap::from([(name("research"), held(4, 12_500)), (name("debug"), held(1, 500))]);
    QueueList { held, ..list(vec![vision, research, debug]) }
}

#[test]
fn queues_are_a_tree_with_policy_quota_and_limits() {
    let expected = "\
QUEUE      PRIO  POLICY                   PLACEMENT  QUOTA                LIMITS       RUN  WAIT      \
TIME  NODES
research      0  backfill/fifo            ebinpack   12.5/16 h100         100 jobs       4     3         \
-  all
  vision*    10  backfill(8)/multifactor  ebinpack   0/64 CPUs, isolated  user 8 GPUs    0     0  \
01:30:00  all
debug         0  wait/fifo                ebinpack   0.5/- GPUs           -              1     3         \
-  g[1-2]
";
    assert_eq!(table(&cluster()).render(None, false), expected);
}

#[test]
fn the_table_fits_a_hundred_columns_and_keeps_the_important_ones() {
    let text = table(&cluster()).render(Some(100), false);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    for kept in ["  vision*", "12.5/16 h100", "isolated", "user 8 GPUs", "bf(8)/multi"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn every_queue_is_shown_once_whatever_its_parent() {
    let queues = vec![below("b", "a"), below("a", "b"), below("gone", "c"), below("c", "d")];
    let list = list(queues);
    let shown: Vec<(usize, &str)> =
        tree(&list.queues).into_iter().map(|(depth, queue)| (depth, queue.name.as_str())).collect();
    assert_eq!(shown, [(0, "c"), (1, "d"), (0, "a"), (0, "b")]);
}

#[test]
fn a_queues_record_is_complete() {
    let list = cluster();
    let vision = &list.queues[0];
    let text = record(vision, &list.held[&name("research")]);
    let text = anstream::adapter::strip_str(&text).to_string();
    for line in [
        "queue       vision (the default)\n",
        "parent      research\n",
        "policy      backfill(8)/multifactor\n",
        "users       all\n",
        "quota       12/64 CPUs, isolated\n",
        "per user    8 GPUs\n",
        "time limit  default -, at most 01:30:00\n",
        "jobs        4 running, 3 waiting\n",
        "allocated   12.5 h100, 12 CPUs, 0B memory\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
