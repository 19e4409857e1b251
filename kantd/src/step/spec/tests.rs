//! Tests of step specs, and the example spec that other tests start from.

use super::*;
use crate::cgroup::Kind;
use common::id::{Gid, QueueName, Uid};
use common::job::Owner;
use common::resource::Allocation;
use common::time::Span;
use common::unit::Tasks;

/// The launch order of ada's job 42: nodes g1 (two tasks) and g2 (one), one GPU each.
pub(crate) fn example_launch() -> LaunchOrder {
    let share = |node: &str, tasks| Share {
        tasks: Tasks(tasks),
        memory: Bytes::from_mib(512),
        ..testkit::share(node, 0, tasks * 2, &[1])
    };
    LaunchOrder {
        job_name: "train".into(),
        owner: Owner { uid: Uid(12_345), gid: Gid(12_345), name: "ada".into() },
        queue: QueueName::new("batch").unwrap(),
        script: "#!/bin/sh\ntrue\n".into(),
        work_dir: "/scratch".into(),
        stdout: "kant-%j.out".into(),
        time_limit: Some(Span::from_minutes(10)),
        kill_grace: Span::from_seconds(30),
        allocation: Allocation::new(vec![share("g1", 2), share("g2", 1)]).unwrap(),
        addresses: vec!["10.0.0.1".into(), "10.0.0.2".into()],
        cpus_per_task: 2,
        ..testkit::launch_order(testkit::attempt(42, 1), "g1")
    }
}

fn gpu(index: u16, minor: u32) -> Gpu {
    Gpu { minor, ..testkit::gpu(index) }
}

/// A node's part in a launch order; the node has GPUs 0 and 1, with minors 7 and 3.
pub(crate) fn example(launch: LaunchOrder, node: &str) -> Result<StepSpec, SpecError> {
    let place = CgroupParent { kind: Kind::None, root: "kant".into() };
    let gpus = [gpu(0, 7), gpu(1, 3)];
    StepSpec::new(launch, &NodeName::new(node).unwrap(), &gpus, place, false)
}

#[test]
fn a_node_finds_its_share_and_its_gpus() {
    let spec = example(example_launch(), "g2").unwrap();
    assert_eq!((spec.rank, spec.share.tasks), (1, Tasks(1)));
    assert_eq!(spec.gpus[0].uuid, "GPU-1");
    let limits = spec.limits(None);
    assert_eq!(limits.gpu_minors, BTreeSet::from([3]));
    assert_eq!(limits.known_gpu_minors, BTreeSet::from([3, 7]));
}

#[test]
fn an_order_for_another_node_or_missing_gpus_is_refused() {
    let stranger = example(example_launch(), "g3").unwrap_err().to_string();
    assert!(stranger.contains("does not name node g3"), "{stranger}");
    let mut launch = example_launch();
    let mut shares = launch.allocation.shares().to_vec();
    shares[0].gpus = [GpuIndex(5)].into();
    launch.allocation = Allocation::new(shares).unwrap();
    let lost = example(launch, "g1").unwrap_err().to_string();
    assert!(lost.contains("no GPU 5"), "{lost}");
}

#[test]
fn each_launch_mode_has_its_tasks() {
    let ranks = |launch, node| {
        let spec = example(LaunchOrder { launch, ..example_launch() }, node).unwrap();
        spec.tasks().iter().map(|t| (t.rank, t.local)).collect::<Vec<_>>()
    };
    assert_eq!(ranks(Launch::Once, "g1"), [(0, 0)]);
    assert_eq!(ranks(Launch::Once, "g2"), []);
    assert_eq!(ranks(Launch::PerNode, "g2"), [(1, 0)]);
    assert_eq!(ranks(Launch::PerTask, "g1"), [(0, 0), (1, 1)]);
    assert_eq!(ranks(Launch::PerTask, "g2"), [(2, 0)]);
}

/// A node with a GPU divided into two MIG devices, 0 and 1, and a whole GPU.
fn cut_gpus() -> [Gpu; 3] {
    let mig = |index: u16, minors: [u32; 2]| {
        let capabilities = minors.map(|minor| DeviceNumber { major: 509, minor });
        let mig = Some(MigDevice { of: "GPU-a".to_owned(), capabilities });
        Gpu { uuid: format!("MIG-{index}"), mig, ..gpu(index, 7) }
    };
    [mig(0, [12, 13]), mig(1, [21, 22]), gpu(2, 3)]
}

#[test]
fn a_job_with_a_mig_device_may_open_its_devices_and_no_others() {
    let place = CgroupParent { kind: Kind::None, root: "kant".into() };
    let node = NodeName::new("g1").unwrap();
    let spec = StepSpec::new(example_launch(), &node, &cut_gpus(), place, false).unwrap();
    assert_eq!(spec.gpus[0].uuid, "MIG-1");
    let limits = spec.limits(None);
    assert_eq!(limits.gpu_minors, BTreeSet::from([7]), "the device of the whole GPU");
    let devices = |minors: &[u32]| -> BTreeSet<DeviceNumber> {
        minors.iter().map(|minor| DeviceNumber { major: 509, minor: *minor }).collect()
    };
    assert_eq!(limits.mig_devices, devices(&[21, 22]));
    assert_eq!(limits.known_mig_devices, devices(&[12, 13, 21, 22]));
    let text = serde_json::to_vec(&spec).unwrap();
    assert_eq!(serde_json::from_slice::<StepSpec>(&text).unwrap(), spec);
}
