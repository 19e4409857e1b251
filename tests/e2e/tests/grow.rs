//! A growing job on real daemons: it starts on one node, takes others as they become free, is
//! notified, starts programs on them, and gives them up for new jobs.

use common::config::{ControllerConfig, QosTable, QueueTable};
use common::id::{QosName, QueueName};
use common::job::Phase;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, wait_for};

/// A script that records its resize notifications and runs until a file exists.
const SCRIPT: &str = "#!/bin/sh\n\
    trap '. \"$KANT_ENV_FILE\"\n\
    echo \"$SLURM_NNODES $SLURM_NTASKS $SLURM_JOB_NODELIST $KANT_RESIZED\" >> told' USR1\n\
    . \"$KANT_ENV_FILE\"\n\
    echo \"$SLURM_NNODES $SLURM_NTASKS $SLURM_JOB_NODELIST $KANT_RESIZED\" > began\n\
    while [ ! -e enough ]; do sleep 0.1; done\n";

const GROWS: [&str; 7] = [
    "-N",
    "1-3",
    "--grow",
    "--resize-signal=B:USR1",
    "--gpus-per-node=2",
    "--mem=16M",
    "--time=1:00:00",
];

/// A job on a whole node that runs until the file of its name exists.
const HOLDS: [&str; 3] = ["--gpus-per-node=2", "--mem=16M", "--time=30"];

fn three_nodes() -> ClusterOptions {
    let policy = |config: &mut ControllerConfig| {
        let name = QueueName::new("main").ok();
        let (preempt_by_priority, preemptible) = (true, true);
        let queue = QueueTable { name, preempt_by_priority, preemptible, ..Default::default() };
        config.queue = vec![queue];
        let name = QosName::new("urgent").ok();
        config.qos = vec![QosTable { name, priority: 10, ..QosTable::default() }];
    };
    let nodes = ["g1", "g2", "g3"].map(|name| (name, Machine::with_gpus("pcie-2")));
    ClusterOptions {
        nodes: nodes.to_vec(),
        controller: Some(policy as fn(&mut ControllerConfig)),
        ..ClusterOptions::default()
    }
}

/// Starts a job that holds a whole node until this file exists.
fn holds(kantctl: &Kantctl, until: &str, flags: &[&str]) -> anyhow::Result<String> {
    let script = format!("#!/bin/sh\nwhile [ ! -e {until} ]; do sleep 0.1; done\n");
    let id = kantctl.submit(&[&HOLDS[..], flags].concat(), &script)?;
    Ok(id)
}

/// Starts a growing job on the one node that two other jobs leave free.
fn runs_on_one(kantctl: &Kantctl, flags: &[&str]) -> anyhow::Result<String> {
    for (until, node) in [("free-2", "g2"), ("free-3", "g3")] {
        let id = holds(kantctl, until, &["--nodelist", node])?;
        kantctl.until(&id, Phase::Running)?;
    }
    let id = kantctl.submit(&[&GROWS[..], flags].concat(), SCRIPT)?;
    kantctl.until(&id, Phase::Running)?;
    wait_for("its script to begin", || Ok(kantctl.said("began")))?;
    assert_eq!(kantctl.said("began").as_deref(), Some("1 1 g1 0"));
    Ok(id)
}

fn wait_until_notified(kantctl: &Kantctl, lines: &[&str]) -> anyhow::Result<()> {
    let expected = lines.join("\n");
    wait_for(&format!("the notifications {expected:?}"), || {
        Ok((kantctl.said("told").as_deref() == Some(&expected)).then_some(()))
    })
}

#[test]
fn a_job_grows_onto_free_nodes_and_gives_them_up_again() -> anyhow::Result<()> {
    let cluster = Cluster::start(three_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    kantctl.refused(&["submit", "--wrap", "true", "--grow"], "--nodes=1-4")?;
    let id = runs_on_one(&kantctl, &[])?;
    kantctl.touch("free-3")?;
    wait_until_notified(&kantctl, &["2 2 g[1,3] 1"])?;
    let job = kantctl.job(&id)?;
    assert_eq!((job.phase, job.gpus.0, job.joining.len()), (Phase::Running, 4, 0), "{job:?}");
    // A program on the added node.
    let there = kantctl.ok(&["launch", "--job", &id, "g3", "echo $KANT_NODE $SLURM_NNODES"])?;
    assert_eq!(there.trim(), "g3 2");
    kantctl.touch("free-2")?;
    wait_until_notified(&kantctl, &["2 2 g[1,3] 1", "3 3 g[1,3,2] 2"])?;

    let urgent = holds(&kantctl, "free-4", &["--qos=urgent"])?;
    kantctl.until(&urgent, Phase::Running)?;
    wait_until_notified(&kantctl, &["2 2 g[1,3] 1", "3 3 g[1,3,2] 2", "2 2 g[1,3] 3"])?;
    // A node that the job gave up is not added again.
    kantctl.touch("free-4")?;
    kantctl.completed(&urgent)?;
    let shown = kantctl.ok(&["show", "job", &id])?;
    assert!(shown.contains("gets g3 in addition"), "{shown}");
    assert!(shown.contains("grew to 2 tasks on g[1,3], with g3"), "{shown}");
    kantctl.touch("enough")?;
    let job = kantctl.completed(&id)?;
    assert_eq!(job.attempt, 1, "{job:?}");
    Ok(())
}

#[test]
fn killed_daemons_neither_lose_nor_repeat_the_growth_of_a_job() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(three_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = runs_on_one(&kantctl, &[])?;
    // The job's first node is down; then the controller is killed as well.
    cluster.kill_node("g1")?;
    kantctl.touch("free-3")?;
    wait_for("g3 to run it", || {
        let job = kantctl.job(&id)?;
        Ok((job.gpus.0 == 4 && job.joining.is_empty()).then_some(()))
    })?;
    assert_eq!(kantctl.said("told"), None);
    cluster.kill_node("g3")?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.start_node("g3")?;
    cluster.start_node("g1")?;
    wait_until_notified(&kantctl, &["2 2 g[1,3] 1"])?;
    kantctl.touch("enough")?;
    let job = kantctl.completed(&id)?;
    assert_eq!(job.attempt, 1, "{job:?}");
    wait_until_notified(&kantctl, &["2 2 g[1,3] 1"])?;
    Ok(())
}
