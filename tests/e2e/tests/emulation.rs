//! Emulated nodes over the real protocol: jobs start, run, end and fail on them, and the nodes are
//! recognizable as emulated.

use common::job::{Outcome, Phase};
use common::node::Contact;
use e2e::{Cluster, ClusterOptions, Daemon, Kantctl, Machine, Person};

fn cluster(nodes: Vec<(&'static str, Machine)>, emulated: bool) -> anyhow::Result<Cluster> {
    let controller: Option<fn(&mut common::config::ControllerConfig)> =
        if emulated { Some(|config| config.emulated = true) } else { None };
    Cluster::start(ClusterOptions { nodes, controller, ..ClusterOptions::default() })
}

fn wait_for_nodes(kantctl: &Kantctl, emulator: &mut Daemon, count: usize) -> anyhow::Result<()> {
    e2e::wait_for("emulated nodes", || {
        if let Some(status) = emulator.ended()? {
            anyhow::bail!("the emulator ended with {status}:\n{}", emulator.log());
        }
        let nodes = kantctl.nodes()?.nodes;
        let connected = nodes.iter().filter(|node| node.contact == Contact::Connected).count();
        Ok((connected == count).then_some(()))
    })
}

#[test]
fn fifty_emulated_nodes_run_jobs_as_real_ones_would() -> anyhow::Result<()> {
    let cluster = cluster(vec![], true)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let machine = cluster.dir().join("machine.toml");
    std::fs::write(&machine, "gpus = 4\ngpu_model = \"A100\"\n")?;
    let words = ["--nodes", "50", "--machine", &machine.display().to_string()];
    let mut emulator = cluster.emulate(&words)?;
    wait_for_nodes(&kantctl, &mut emulator, 50)?;
    let shown = kantctl.ok(&["nodes"])?;
    assert_eq!(shown.matches("emulated").count(), 50, "{shown}");

    // A job that ends at once, one that exits with 3, one on all nodes, and a long one.
    let instant = kantctl.submit(&["--array=1-500", "--gpus=1"], "#!/bin/sh\ntrue\n")?;
    let failing = kantctl.submit(&["--gpus=1"], "#!/bin/sh\nsleep 0.1\nexit 3\n")?;
    let gang = kantctl.submit(&["-N", "50", "--gpus-per-node=4"], "#!/bin/sh\nsleep 0.1\n")?;
    kantctl.ok(&["wait", &instant])?;
    assert_eq!(kantctl.finished(&failing)?.exit.map(|exit| exit.code), Some(3));
    kantctl.completed(&gang)?;
    let long = kantctl.submit(&["--gpus=4"], "#!/bin/sh\nsleep 1h\n")?;
    kantctl.until(&long, Phase::Running)?;
    let output = kantctl.run(&["logs", &long])?;
    assert!(output.stderr.contains("emulated"), "{output:?}");
    kantctl.ok(&["cancel", &long])?;
    assert_eq!(kantctl.finished(&long)?.outcome, Some(Outcome::Cancelled));
    Ok(())
}

#[test]
fn a_node_after_a_power_failure_returns_without_jobs() -> anyhow::Result<()> {
    let cluster = cluster(vec![], true)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let _emulator = cluster.emulate(&["--nodes", "3", "--fail-node", "em2=2s+1s"])?;
    e2e::wait_for("the second boot", || {
        let nodes = kantctl.nodes()?.nodes;
        let boot = |name: &str| {
            let node = nodes.iter().find(|node| node.name.as_str() == name);
            node.map(|node| node.inventory.boot_id.clone()).unwrap_or_default()
        };
        let came_back = boot("em2") == "emulated 2";
        assert!(!came_back || boot("em1") == "emulated 1", "only the named node is cut off");
        Ok(came_back.then_some(()))
    })
}

#[test]
fn a_cluster_has_either_emulated_or_real_nodes() -> anyhow::Result<()> {
    let real = cluster(vec![("n1", Machine::cpu())], false)?;
    let kantctl = real.kantctl(Person::plain())?;
    let _emulator = real.emulate(&["--nodes", "1"])?;
    let refused = |cluster: &Cluster, words: &str| {
        e2e::wait_for(words, || Ok(cluster.controller_log().contains(words).then_some(())))
    };
    refused(&real, "it is emulated, and this cluster has real nodes")?;
    assert_eq!(kantctl.nodes()?.nodes.len(), 1);

    let mut made_up = cluster(vec![], true)?;
    made_up.add_node("n1", Machine::cpu(), common::config::CgroupMode::Off)?;
    refused(&made_up, "it is a real node, and this cluster has only emulated ones")?;
    assert_eq!(made_up.kantctl(Person::plain())?.nodes()?.nodes.len(), 0);
    Ok(())
}
