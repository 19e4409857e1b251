//! Tests of step specs, and the example spec that other tests start from.

use super::*;
use crate::cgroup::Kind;
use common::cpuset::CpuSet;
use common::gpu::GpuKind;
use common::id::{Attempt, Gid, JobId, JobKey, QueueName, Uid};
use common::job::{OpenMode, Owner};
use common::resource::Allocation;
use common::time::{Span, Time};
use common::unit::Tasks;
use std::collections::BTreeMap;

/// The launch order of ada's job 42: nodes g1 (two tasks) and g2 (one), one GPU each.
pub(crate) fn example_launch() -> LaunchOrder {
    let share = |node: &str, tasks| Share {
        gpu_milli: None,
        node: NodeName::new(node).unwrap(),
        tasks: Tasks(tasks),
        cpus: CpuSet::first(tasks * 2),
        memory: Bytes::from_mib(512),
        gpus: vec![GpuIndex(1)],
    };
    LaunchOrder {
        id: AttemptId { key: JobKey::single(JobId(42)), attempt: Attempt(1) },
        cluster: "test".into(),
        job_name: "train".into(),
        owner: Owner { uid: Uid(12_345), gid: Gid(12_345), name: "ada".into() },
        queue: QueueName::new("batch").unwrap(),
        account: None,
        script: "#!/bin/sh\ntrue\n".into(),
        args: Vec::new(),
        environment: BTreeMap::new(),
        work_dir: "/scratch".into(),
        stdin: None,
        stdout: "kant-%j.out".into(),
        stderr: None,
        open_mode: OpenMode::Truncate,
        umask: 0o022,
        rlimits: Vec::new(),
        launch: Launch::Once,
        container: None,
        time_limit: Some(Span::from_minutes(10)),
        until_deadline: None,
        warning: None,
        kill_grace: Span::from_seconds(30),
        allocation: Allocation::new(vec![share("g1", 2), share("g2", 1)]).unwrap(),
        addresses: vec!["10.0.0.1".into(), "10.0.0.2".into()],
        resized: 0,
        cpus_per_task: 2,
        submitted_at: Time(0),
        submit_host: "login".into(),
        array: None,
        set: None,
    }
}

fn gpu(index: u16, minor: u32) -> Gpu {
    Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA A40".into(),
        kind: GpuKind("a40".into()),
        memory: Bytes(0),
        minor,
        pci_bus_id: String::new(),
        numa: None,
        cpus: CpuSet::new(),
        mig: None,
    }
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
    shares[0].gpus = vec![GpuIndex(5)];
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
