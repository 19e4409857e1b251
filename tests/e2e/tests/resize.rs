//! `kantctl resize` on real daemons: a job gives up a node, continues, and is notified exactly
//! once, also if daemons are killed meanwhile.

use common::config::{ControllerConfig, QosTable, QueueTable};
use common::id::{QosName, QueueName};
use common::job::Phase;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};

/// A script that records its resize notifications and its SIGTERM, and runs until a file exists.
const SCRIPT: &str = "#!/bin/sh\n\
    trap '. \"$KANT_ENV_FILE\"\n\
    echo \"$SLURM_NNODES $SLURM_NTASKS $SLURM_JOB_NODELIST $KANT_RESIZED\" >> told-$KANT_NODE' USR1\n\
    trap 'echo ended >> left-$KANT_NODE; exit 7' TERM\n\
    . \"$KANT_ENV_FILE\"\n\
    echo \"$SLURM_NNODES $SLURM_NTASKS $SLURM_JOB_NODELIST $KANT_RESIZED\" > began-$KANT_NODE\n\
    while [ ! -e enough ]; do sleep 0.1; done\n";

const FLAGS: [&str; 7] = [
    "-N",
    "1-2",
    "--launch=per-node",
    "--resize-signal=USR1",
    "--gpus-per-node=2",
    "--mem=16M",
    "--time=1:00:00",
];

fn two_nodes() -> ClusterOptions {
    ClusterOptions::gpu_nodes(&["g1", "g2"], "pcie-2")
}

fn runs_on_two(kantctl: &Kantctl) -> anyhow::Result<String> {
    let id = kantctl.submit(&FLAGS, SCRIPT)?;
    kantctl.until(&id, Phase::Running)?;
    for node in ["g1", "g2"] {
        let began = format!("began-{node}");
        wait_for("its script to begin", || Ok(kantctl.said(&began)))?;
        assert_eq!(kantctl.said(&began).as_deref(), Some("2 2 g[1-2] 0"));
    }
    Ok(id)
}

#[test]
fn a_job_gives_up_a_node_to_a_waiting_job_and_continues() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = runs_on_two(&kantctl)?;
    let flags = ["--gpus-per-node=2", "--mem=16M", "--time=10"];
    let next = kantctl.submit(&flags, "#!/bin/sh\necho $KANT_NODE > next\n")?;
    kantctl.refused(&["resize", &id, "--nodes=3"], "not enlarged")?;
    let refused = kantctl.run(&["resize", &id, "--tasks=0"])?;
    assert_eq!(refused.code, 2, "{refused:?}");
    if let Some(other) = Person::other() {
        cluster.kantctl(other)?.refused(&["resize", &id, "--nodes=1"], "belongs to")?;
    }
    kantctl.ok(&["resize", &id, "--tasks=1"])?;
    kantctl.completed(&next)?;
    assert_eq!(kantctl.said("next").as_deref(), Some("g2"));
    assert_eq!(kantctl.said("left-g2").as_deref(), Some("ended"), "it got SIGTERM");
    wait_for("it to be told", || Ok(kantctl.said("told-g1")))?;
    assert_eq!(kantctl.said("told-g1").as_deref(), Some("1 1 g1 1"));
    let job = kantctl.job(&id)?;
    assert_eq!((job.phase, job.gpus.0), (Phase::Running, 2), "{job:?}");
    kantctl.touch("enough")?;
    let job = kantctl.completed(&id)?;
    assert_eq!(job.attempt, 1, "{job:?}");
    Ok(())
}

#[test]
fn a_job_gives_up_a_node_to_a_job_of_higher_priority_and_continues() -> anyhow::Result<()> {
    let policy = |config: &mut ControllerConfig| {
        let name = QueueName::new("main").ok();
        let (preempt_by_priority, preemptible) = (true, true);
        let queue = QueueTable { name, preempt_by_priority, preemptible, ..Default::default() };
        config.queue = vec![queue];
        let name = QosName::new("urgent").ok();
        config.qos = vec![QosTable { name, priority: 10, ..QosTable::default() }];
    };
    let controller = Some(policy as fn(&mut ControllerConfig));
    let cluster = Cluster::start(ClusterOptions { controller, ..two_nodes() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = runs_on_two(&kantctl)?;
    let flags = ["--qos=urgent", "--gpus-per-node=2", "--mem=16M", "--time=10"];
    let next = kantctl.submit(&flags, "#!/bin/sh\necho $KANT_NODE > next\n")?;
    kantctl.completed(&next)?;
    assert_eq!(kantctl.said("next").as_deref(), Some("g2"));
    assert_eq!(kantctl.said("left-g2").as_deref(), Some("ended"), "it got SIGTERM");
    wait_for("it to be told", || Ok(kantctl.said("told-g1")))?;
    assert_eq!(kantctl.said("told-g1").as_deref(), Some("1 1 g1 1"));
    let explanation = kantctl.ok(&["explain", &id])?;
    assert!(explanation.contains("it has 1 of 2 tasks, and needs at least 1"), "{explanation}");
    kantctl.touch("enough")?;
    let job = kantctl.completed(&id)?;
    assert_eq!(job.attempt, 1, "{job:?}");
    Ok(())
}

#[test]
fn killed_daemons_neither_lose_nor_repeat_a_resize() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = runs_on_two(&kantctl)?;
    // Both nodes are down, and the controller that decided the resize is killed.
    cluster.kill_node("g1")?;
    cluster.kill_node("g2")?;
    kantctl.ok(&["resize", &id, "--nodes=1"])?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    let job = kantctl.job(&id)?;
    assert_eq!((job.phase, job.leaving.len()), (Phase::Running, 1), "{job:?}");
    assert_eq!((kantctl.said("told-g1"), kantctl.said("left-g2")), (None, None));
    cluster.start_node("g1")?;
    wait_for("it to be told", || Ok(kantctl.said("told-g1")))?;
    cluster.start_node("g2")?;
    wait_for("the other node to end its tasks", || {
        Ok(kantctl.job(&id)?.leaving.is_empty().then_some(()))
    })?;
    assert_eq!(kantctl.said("left-g2").as_deref(), Some("ended"));
    cluster.kill_node("g1")?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.start_node("g1")?;
    cluster.wait_for_nodes()?;
    kantctl.touch("enough")?;
    let job = kantctl.completed(&id)?;
    assert_eq!(job.attempt, 1, "{job:?}");
    assert_eq!(kantctl.said("told-g1").as_deref(), Some("1 1 g1 1"), "once");
    Ok(())
}
