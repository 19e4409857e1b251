//! Environments of the example spec: job 42 on g1 (two tasks) and g2 (one), one GPU each.

use super::*;
use crate::step::spec::GpuGrant;
use crate::step::spec::tests::{example, example_launch};
use common::gpu::mig::{DeviceNumber, MigDevice};
use common::id::{ArrayIndex, Attempt, Gid, JobId, JobKey, NodeName, Uid};
use common::resource::{Allocation, Share};
use common::time::Span;
use common::unit::{Bytes, Tasks};
use common::wire::node::{ArrayFacts, LaunchOrder, SetComponent, SetFacts};

fn ada() -> Account {
    Account {
        uid: Uid(12_345),
        gid: Gid(12_345),
        groups: vec![],
        name: "ada".into(),
        home: Some("/home/ada".into()),
        shell: None,
    }
}

/// The environment of the last task on a node, started in second 1000.
fn built(launch: LaunchOrder, node: &str) -> BTreeMap<String, String> {
    let spec = example(launch, node).unwrap();
    let task = *spec.tasks().last().unwrap();
    build(&spec, &ada(), task, Time(1_000_000))
}

fn assert_has(environment: &BTreeMap<String, String>, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(environment.get(*name).map(String::as_str), Some(*value), "{name}");
    }
}

#[test]
fn a_batch_script_has_slurms_variables() {
    let environment = built(example_launch(), "g1");
    let expected = [
        ("SLURM_JOB_ID", "42"),
        ("SLURM_JOBID", "42"),
        ("KANT_JOB_ID", "42"),
        ("KANT_STEP", "42.1"),
        ("SLURM_JOB_NAME", "train"),
        ("SLURM_JOB_NODELIST", "g[1-2]"),
        ("SLURM_NNODES", "2"),
        ("SLURM_NTASKS", "3"),
        ("SLURM_TASKS_PER_NODE", "2,1"),
        ("SLURM_JOB_CPUS_PER_NODE", "4,2"),
        ("SLURM_CPUS_ON_NODE", "4"),
        ("SLURM_CPUS_PER_TASK", "2"),
        ("SLURM_MEM_PER_NODE", "512"),
        ("SLURM_PROCID", "0"),
        ("SLURM_LOCALID", "0"),
        ("SLURM_NODEID", "0"),
        ("SLURMD_NODENAME", "g1"),
        ("SLURM_JOB_UID", "12345"),
        ("SLURM_JOB_USER", "ada"),
        ("SLURM_JOB_PARTITION", "batch"),
        ("SLURM_JOB_START_TIME", "1000"),
        ("SLURM_JOB_END_TIME", "1600"),
        ("SLURM_SUBMIT_DIR", "/scratch"),
        ("SLURM_SUBMIT_HOST", "login"),
        ("USER", "ada"),
        ("HOME", "/home/ada"),
        ("SHELL", "/bin/sh"),
        ("PATH", PATH_DEFAULT),
        ("PWD", "/scratch"),
        ("SLURM_GPUS", "2"),
        ("SLURM_JOB_GPUS", "1"),
        ("CUDA_VISIBLE_DEVICES", "GPU-1"),
        ("GPU_DEVICE_ORDINAL", "0"),
    ];
    assert_has(&environment, &expected);
    for absent in ["RANK", "MASTER_ADDR", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"] {
        assert!(!environment.contains_key(absent), "{absent}");
    }
}

#[test]
fn a_component_has_the_others_variables_and_none_of_the_submitting_jobs() {
    let launch = example_launch();
    let component = |job: u32| SetComponent {
        job: JobId(job),
        queue: launch.queue.clone(),
        allocation: launch.allocation.clone(),
        cpus_per_task: 2,
    };
    let set = SetFacts { offset: 1, components: vec![component(41), component(42)] };
    let mut launch = LaunchOrder { set: Some(Box::new(set)), ..launch.clone() };
    launch.environment.insert("KANT_SET_JOB_7".to_owned(), "9".to_owned());
    let environment = built(launch, "g1");
    assert_has(
        &environment,
        &[
            ("SLURM_HET_SIZE", "2"),
            ("KANT_SET_SIZE", "2"),
            ("KANT_SET_COMPONENT", "1"),
            ("SLURM_JOB_ID_HET_GROUP_0", "41"),
            ("KANT_SET_JOB_1", "42"),
            ("SLURM_JOB_NODELIST_HET_GROUP_0", "g[1-2]"),
            ("KANT_SET_NODES_1", "g[1-2]"),
            ("SLURM_JOB_NUM_NODES_HET_GROUP_1", "2"),
            ("SLURM_NTASKS_HET_GROUP_1", "3"),
            ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "2,1"),
            ("SLURM_JOB_PARTITION_HET_GROUP_1", "batch"),
            ("SLURM_JOB_ID", "42"),
        ],
    );
    assert!(!environment.contains_key("KANT_SET_JOB_7"));
    let alone = built(example_launch(), "g1");
    assert!(!alone.contains_key("SLURM_HET_SIZE"));
}

#[test]
fn each_task_has_its_rank_and_the_rendezvous() {
    let launch = LaunchOrder { launch: Launch::PerTask, ..example_launch() };
    let environment = built(launch, "g2");
    let expected = [
        ("SLURM_PROCID", "2"),
        ("SLURM_LOCALID", "0"),
        ("SLURM_NODEID", "1"),
        ("RANK", "2"),
        ("LOCAL_RANK", "0"),
        ("WORLD_SIZE", "3"),
        ("LOCAL_WORLD_SIZE", "1"),
        ("MASTER_ADDR", "10.0.0.1"),
        ("MASTER_PORT", "24242"),
        ("SLURM_STEP_NUM_TASKS", "3"),
        ("SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"),
    ];
    assert_has(&environment, &expected);
    let per_node = built(LaunchOrder { launch: Launch::PerNode, ..example_launch() }, "g2");
    assert_has(&per_node, &[("RANK", "1"), ("WORLD_SIZE", "2"), ("SLURM_TASKS_PER_NODE", "1(x2)")]);
}

#[test]
fn the_size_script_has_the_jobs_values_and_not_the_nodes() {
    let launch = LaunchOrder { launch: Launch::PerTask, ..example_launch() };
    let mut spec = example(launch, "g1").unwrap();
    let before = size_script(&spec, 0);
    let has = |text: &str, line: &str| text.lines().any(|known| known == line);
    for line in [
        "export SLURM_NNODES='2'",
        "export SLURM_NTASKS='3'",
        "export WORLD_SIZE='3'",
        "export SLURM_TASKS_PER_NODE='2,1'",
        "export KANT_RESIZED='0'",
        "unset SLURM_NTASKS_PER_NODE",
    ] {
        assert!(has(&before, line), "{line} in {before}");
    }
    let first = spec.launch.allocation.shares()[..1].to_vec();
    spec.launch.allocation = common::resource::Allocation::new(first).unwrap();
    let after = size_script(&spec, 1);
    for line in [
        "export SLURM_JOB_NODELIST='g1'",
        "export SLURM_NNODES='1'",
        "export WORLD_SIZE='2'",
        "export SLURM_NTASKS_PER_NODE='2'",
        "export SLURM_GPUS='1'",
        "export KANT_RESIZED='1'",
    ] {
        assert!(has(&after, line), "{line} in {after}");
    }
    for own in ["SLURMD_NODENAME", "SLURM_NODEID", "KANT_NODE_RANK", "SLURM_MEM_PER_NODE", "RANK="]
    {
        assert!(!after.contains(&format!("export {own}")), "{own} in {after}");
    }
}

#[test]
fn an_array_task_has_a_unique_id_and_its_index() {
    let mut launch = example_launch();
    launch.id.key = JobKey { job: JobId(42), index: Some(ArrayIndex(7)) };
    launch.id.attempt = Attempt(3);
    let (min, max) = (ArrayIndex(1), ArrayIndex(9));
    launch.array = Some(ArrayFacts { count: 5, min, max, step: 2, number: Some(JobId(46)) });
    let expected = [
        ("SLURM_JOB_ID", "46"),
        ("KANT_JOB_ID", "42_7"),
        ("SLURM_ARRAY_JOB_ID", "42"),
        ("SLURM_ARRAY_TASK_ID", "7"),
        ("SLURM_ARRAY_TASK_COUNT", "5"),
        ("SLURM_ARRAY_TASK_MIN", "1"),
        ("SLURM_ARRAY_TASK_MAX", "9"),
        ("SLURM_ARRAY_TASK_STEP", "2"),
        ("SLURM_RESTART_COUNT", "2"),
        ("KANT_STEP", "42_7.3"),
    ];
    assert_has(&built(launch, "g1"), &expected);
}

#[test]
fn the_submitted_environment_is_kept_without_another_jobs_variables() {
    let mut launch = example_launch();
    for (name, value) in [
        ("VIRTUAL_ENV", "/home/ada/venv"),
        ("HOME", "/scratch/ada"),
        ("USER", "root"),
        ("PWD", "/home/ada/submit"),
        ("SLURM_ARRAY_TASK_ID", "3"),
        ("SLURM_RESTART_COUNT", "3"),
        ("KANT_ARRAY_INDEX", "3"),
        ("KANT_SERVER", "kept"),
        ("MASTER_PORT", "1234"),
        ("BAD=NAME", "x"),
        ("", "x"),
        ("NUL", "a\0b"),
    ] {
        launch.environment.insert(name.into(), value.into());
    }
    launch.launch = Launch::PerNode;
    let environment = built(launch, "g1");
    let expected = [
        ("VIRTUAL_ENV", "/home/ada/venv"),
        ("HOME", "/scratch/ada"),
        ("USER", "ada"),
        ("SLURM_SUBMIT_DIR", "/home/ada/submit"),
        ("PWD", "/scratch"),
        ("KANT_SERVER", "kept"),
        ("MASTER_PORT", "1234"),
    ];
    assert_has(&environment, &expected);
    for absent in
        ["SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "KANT_ARRAY_INDEX", "BAD=NAME", "", "NUL"]
    {
        assert!(!environment.contains_key(absent), "{absent:?}");
    }
}

#[test]
fn a_job_without_gpus_sees_none() {
    let mut launch = example_launch();
    let node = NodeName::new("g1").unwrap();
    let cpus = common::cpuset::CpuSet::first_n(1);
    let share =
        Share { gpu_milli: None, node, tasks: Tasks(1), cpus, memory: Bytes(0), gpus: [].into() };
    launch.allocation = Allocation::new(vec![share]).unwrap();
    launch.time_limit = None::<Span>;
    let environment = built(launch, "g1");
    assert_has(&environment, &[("CUDA_VISIBLE_DEVICES", ""), ("SLURM_GPUS_ON_NODE", "0")]);
    for absent in ["SLURM_JOB_GPUS", "SLURM_GPUS", "SLURM_JOB_END_TIME", "SLURM_MEM_PER_NODE"] {
        assert!(!environment.contains_key(absent), "{absent}");
    }
}

#[test]
fn amds_gpus_are_listed_for_rocr_and_not_for_cuda() {
    let of = |minor: u32, uuid: &str| {
        let launch = example_launch();
        let mut spec = example(launch, "g1").unwrap();
        spec.gpu_minors = [128, 129].into();
        spec.launch.environment.insert("HIP_VISIBLE_DEVICES".into(), "0".into());
        for gpu in &mut spec.gpus {
            (gpu.minor, gpu.uuid) = (minor, uuid.to_owned());
        }
        let task = spec.tasks()[0];
        build(&spec, &ada(), task, Time(1_000_000))
    };
    let amd = of(129, "GPU-00000000000000a7");
    assert_has(&amd, &[("ROCR_VISIBLE_DEVICES", "GPU-00000000000000a7")]);
    assert!(!amd.contains_key("CUDA_VISIBLE_DEVICES") && !amd.contains_key("HIP_VISIBLE_DEVICES"));
    let unnamed = of(129, "AMD-0000:05:00.0");
    assert_has(&unnamed, &[("ROCR_VISIBLE_DEVICES", "0")]);
}

/// The environment of a job with these GPUs; a MIG device's id begins with `MIG-`.
fn with_gpus(uuids: &[&str]) -> BTreeMap<String, String> {
    let mut spec = example(example_launch(), "g1").unwrap();
    let first = spec.gpus[0].clone();
    let mig = |uuid: &str| {
        let capabilities = [12, 13].map(|minor| DeviceNumber { major: 509, minor });
        uuid.starts_with("MIG-").then(|| MigDevice { of: "GPU-a".to_owned(), capabilities })
    };
    let grant =
        |uuid: &&str| GpuGrant { uuid: (*uuid).to_owned(), mig: mig(uuid), ..first.clone() };
    spec.gpus = uuids.iter().map(grant).collect();
    let task = spec.tasks()[0];
    build(&spec, &ada(), task, Time(1_000_000))
}

#[test]
fn cuda_lists_mig_devices_only_if_the_job_has_no_whole_gpu() {
    let cut = with_gpus(&["MIG-1", "MIG-2"]);
    assert_has(&cut, &[("CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2"), ("KANT_NODE_GPUS", "2")]);
    let both = with_gpus(&["MIG-1", "GPU-b", "GPU-c"]);
    assert_has(&both, &[("CUDA_VISIBLE_DEVICES", "GPU-b,GPU-c"), ("KANT_NODE_GPUS", "3")]);
    assert_has(&both, &[("GPU_DEVICE_ORDINAL", "0,1"), ("SLURM_GPUS_ON_NODE", "3")]);
    assert_has(&both, &[("KANT_GPUS", "MIG-1,GPU-b,GPU-c")]);
    assert!(!cut.contains_key("ROCR_VISIBLE_DEVICES"));
}

#[test]
fn a_mig_device_on_a_node_with_amds_gpus_is_listed_by_id_for_rocr() {
    let mut spec = example(example_launch(), "g1").unwrap();
    spec.gpu_minors = [3, 128].into();
    let capabilities = [12, 13].map(|minor| DeviceNumber { major: 509, minor });
    spec.gpus[0].uuid = "MIG-1".to_owned();
    spec.gpus[0].mig = Some(MigDevice { of: "GPU-a".to_owned(), capabilities });
    let environment = build(&spec, &ada(), spec.tasks()[0], Time(1_000_000));
    let expected = [("ROCR_VISIBLE_DEVICES", "MIG-1"), ("CUDA_VISIBLE_DEVICES", "MIG-1")];
    assert_has(&environment, &expected);
}
