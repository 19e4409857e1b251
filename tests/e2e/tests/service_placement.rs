//! Where replicas and jobs run, on real daemons: a base that starts as a whole, replicas that keep
//! apart, and nodes that have the data of a job.

use common::job::Phase;
use common::wire::api::{JobList, ServiceList};
use e2e::{Cluster, ClusterOptions, Person, wait_for};
use std::collections::BTreeSet;

const SERVICE: &str = r#"
name = "pair"
base = "gang"

[[role]]
name = "front"
submit = "--cpus-per-task 1 --mem 64M serve.sh"
min = 1

[[role]]
name = "back"
submit = "--cpus-per-task 1 --mem 64M serve.sh"
min = 2
spread_max_per_node = 1
"#;

#[test]
fn a_base_starts_as_a_whole_and_its_replicas_keep_apart() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1", "n2"]))?;
    let (kantctl, operator) = (cluster.kantctl(Person::plain())?, cluster.kantctl(Person::me())?);
    std::fs::write(kantctl.dir().join("serve.sh"), "#!/bin/sh\nexec sleep 1000\n")?;
    std::fs::write(kantctl.dir().join("pair.toml"), SERVICE)?;
    operator.ok(&["drain", "n2", "--reason", "test"])?;
    kantctl.ok(&["service", "deploy", "pair.toml"])?;
    let phases = || {
        let list: JobList = kantctl.json(&["queue"])?;
        anyhow::Ok(list.jobs.iter().map(|job| job.phase).collect::<Vec<_>>())
    };
    wait_for("the whole base to wait", || Ok((phases()? == [Phase::Pending; 3]).then_some(())))?;
    // One node has room for two of the three, and a job of the same size starts there at once.
    kantctl.ok(&["submit", "--wait", "--mem", "64M", "--wrap", "true"])?;
    assert_eq!(phases()?, [Phase::Pending; 3], "no part of the base has nodes");
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.wait_for_nodes()?;
    operator.ok(&["resume", "n2"])?;
    wait_for("the whole base to run", || Ok((phases()? == [Phase::Running; 3]).then_some(())))?;
    let list: ServiceList = kantctl.json(&["service", "show", "pair"])?;
    let back = list.services[0].roles.iter().find(|role| role.name.as_str() == "back");
    let nodes = back.into_iter().flat_map(|role| &role.replicas).flat_map(|one| &one.node);
    let nodes: BTreeSet<&str> = nodes.map(|node| node.as_str()).collect();
    assert_eq!(nodes, BTreeSet::from(["n1", "n2"]));
    Ok(())
}

#[test]
fn a_job_prefers_the_node_that_has_its_data() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions {
        node: Some(|config| {
            if config.name == "n2" {
                let dir = format!("{}-data", config.spool_dir);
                for name in ["llama3", ".half"] {
                    std::fs::create_dir_all(format!("{dir}/{name}")).expect("a directory");
                }
                config.data_dirs = vec![dir];
            }
        }),
        ..ClusterOptions::cpu_nodes(&["n1", "n2"])
    })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let node = wait_for("the data of n2", || {
        let text = kantctl.ok(&["show", "node", "n2"])?;
        Ok(text.contains("llama3").then_some(text))
    })?;
    assert!(!node.contains("half"), "{node}");
    let runs_on = |data: &str| {
        let line = ["submit", "--wait", "--quiet", "--parsable", data, "--wrap", "true"];
        let id = kantctl.ok(&line)?;
        let list: JobList = kantctl.json(&["show", "job", id.trim()])?;
        let shares = list.jobs[0].allocation.iter().flat_map(|allocation| allocation.shares());
        anyhow::Ok(shares.map(|share| share.node.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(runs_on("--data=llama3,imagenet")?, ["n2"]);
    // No node has it, so each is as good.
    assert_eq!(runs_on("--data=imagenet")?, ["n1"]);
    Ok(())
}
