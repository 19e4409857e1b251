//! A node with a health problem is drained with the reason, and returns to service when the problem
//! is gone or an operator resumes it.

use common::health::{Check, DrainCause};
use common::job::Phase;
use common::node::NodeStatus;
use common::wire::api::NodeView;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};

fn node(kantctl: &Kantctl, name: &str) -> anyhow::Result<NodeView> {
    let node = kantctl.nodes()?.nodes.into_iter().find(|node| node.name.as_str() == name);
    node.ok_or_else(|| anyhow::anyhow!("no node {name}"))
}

/// Changes the machine that a node's simulated NVML shows.
fn change(cluster: &Cluster, node: &str, change: impl FnOnce(&mut toml::Table)) {
    let file = cluster.dir().join(format!("machine-{node}.toml"));
    let text = std::fs::read_to_string(&file).expect("the cluster wrote it");
    let mut machine: toml::Table = toml::from_str(&text).expect("it is TOML");
    change(&mut machine);
    let new = file.with_extension("new");
    std::fs::write(&new, machine.to_string()).expect("there is room");
    std::fs::rename(&new, &file).expect("same directory");
}

fn drained_for(kantctl: &Kantctl, name: &str, check: Check) -> anyhow::Result<NodeView> {
    wait_for(&format!("{name} drained for {}", check.word()), || {
        let node = node(kantctl, name)?;
        let cause = node.drain.as_ref().map(|drain| drain.cause);
        Ok((cause == Some(DrainCause::Health(check))).then_some(node))
    })
}

#[test]
fn broken_gpus_drain_their_nodes_with_the_reason_and_jobs_start_elsewhere() -> anyhow::Result<()> {
    let options = ClusterOptions::gpu_nodes(&["g1", "g2", "g3"], "pcie-2");
    let cluster = Cluster::start(options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let running =
        kantctl.submit(&["-w", "g1"], "#!/bin/sh\nuntil [ -e over ]; do sleep 0.1; done\n")?;
    kantctl.until(&running, Phase::Running)?;

    change(&cluster, "g1", |machine| {
        let xid = "gpu = 1\ncode = 79".parse().expect("it is TOML");
        machine.insert("xid".into(), toml::Value::Array(vec![toml::Value::Table(xid)]));
    });
    let g1 = drained_for(&kantctl, "g1", Check::GpuXid)?;
    let reason = g1.drain.map(|drain| drain.reason).unwrap_or_default();
    assert!(reason.starts_with("gpu_xid: GPU 1 (GPU-"), "{reason}");
    assert!(reason.ends_with("XID 79: fallen off the bus"), "{reason}");
    assert_eq!(g1.status, NodeStatus::Draining);
    assert_eq!(kantctl.job(&running)?.phase, Phase::Running, "a running job is not disturbed");

    change(&cluster, "g2", |machine| {
        let every = machine["every_gpu"].as_table_mut().expect("a table");
        let ecc = "volatile.uncorrected = 2".parse().expect("it is TOML");
        every.insert("ecc".into(), toml::Value::Table(ecc));
    });
    let g2 = drained_for(&kantctl, "g2", Check::GpuEcc)?;
    assert_eq!(g2.status, NodeStatus::Drained);
    let listed = kantctl.ok(&["nodes"])?;
    assert!(listed.contains("gpu_ecc: GPU "), "{listed}");
    let shown = kantctl.ok(&["show", "node", "g2"])?;
    assert!(shown.contains("uncorrectable memory error (2 times)"), "{shown}");

    let next = kantctl.submit(&["-o", "where"], "#!/bin/sh\necho $SLURM_JOB_NODELIST\n")?;
    kantctl.finished(&next)?;
    assert_eq!(kantctl.read("where")?, "g3\n");
    kantctl.touch("over")?;
    kantctl.finished(&running)?;

    // The GPU was replaced and the operator resumes the node: old errors do not drain it again.
    cluster.kantctl(Person::me())?.ok(&["resume", "g1"])?;
    assert_eq!(node(&kantctl, "g1")?.status, NodeStatus::Idle);
    let next = kantctl.submit(&["-w", "g1"], "#!/bin/sh\ntrue\n")?;
    kantctl.finished(&next)?;

    // The problem returns.
    change(&cluster, "g1", |machine| {
        let xids = machine["xid"].as_array_mut().expect("a list");
        xids.extend(xids.first().cloned());
    });
    let g1 = drained_for(&kantctl, "g1", Check::GpuXid)?;
    let reason = g1.drain.map(|drain| drain.reason).unwrap_or_default();
    assert!(reason.ends_with("XID 79: fallen off the bus (2 times)"), "{reason}");
    Ok(())
}
