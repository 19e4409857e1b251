//! Which users a node speaks for: for those who ask there, and not for those who operate the
//! cluster, unless the configuration says so.

use common::config::{ControllerConfig, VouchedFor};
use e2e::{Cluster, ClusterOptions, Machine, Person, is_root};

/// As it is by default, also where this is not root.
fn users(config: &mut ControllerConfig) {
    config.nodes_may_vouch_for = VouchedFor::Users;
    config.admins = vec!["23002".to_owned()];
}

fn operators(config: &mut ControllerConfig) {
    config.nodes_may_vouch_for = VouchedFor::Operators;
    config.allow_root_jobs = true;
}

fn with(controller: fn(&mut ControllerConfig)) -> ClusterOptions {
    let nodes = vec![("n1", Machine::cpu())];
    ClusterOptions { nodes, controller: Some(controller), ..ClusterOptions::default() }
}

#[test]
fn a_node_speaks_for_no_root_and_no_operator() -> anyhow::Result<()> {
    let cluster = Cluster::start(with(users))?;
    let node = cluster.node_socket("n1");
    // Who runs this operates the cluster: root, or the user of its daemons.
    for operator in [Some(Person::me()), Person::other()].into_iter().flatten() {
        for words in
            [&["drain", "n1", "--reason", "x"][..], &["queue"], &["submit", "--wrap", "id"]]
        {
            let answer = cluster.kantctl(operator)?.on(&node).run(words)?;
            assert_eq!(answer.code, 1, "{words:?}: {answer:?}");
            for part in
                ["node n1 may not speak for", "kantctld's own socket", "nodes_may_vouch_for"]
            {
                assert!(answer.stderr.contains(part), "{words:?}: {}", answer.stderr);
            }
        }
        cluster.kantctl(operator)?.ok(&["drain", "n1", "--reason", "x"])?;
        cluster.kantctl(operator)?.ok(&["resume", "n1"])?;
    }
    if is_root() {
        let user = cluster.kantctl(Person::plain())?.on(&node);
        let id = user.submit(&[], "#!/bin/sh\ntrue\n")?;
        user.finished(&id)?;
        let answer = user.run(&["drain", "n1", "--reason", "x"])?;
        assert!(answer.code == 1 && answer.stderr.contains("no operator"), "{answer:?}");
    }
    Ok(())
}

#[test]
fn a_node_speaks_for_operators_where_the_configuration_says_so() -> anyhow::Result<()> {
    let cluster = Cluster::start(with(operators))?;
    let by_node = cluster.kantctl(Person::me())?.on(&cluster.node_socket("n1"));
    by_node.ok(&["drain", "n1", "--reason", "x"])?;
    by_node.ok(&["resume", "n1"])?;
    Ok(())
}

#[test]
fn a_node_gives_no_user_a_group_of_others() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can submit with a group of others");
        return Ok(());
    }
    use std::os::unix::process::CommandExt as _;
    let cluster = Cluster::start(with(users))?;
    let by_node = cluster.kantctl(Person::plain())?.on(&cluster.node_socket("n1"));
    let mut command = by_node.command();
    let output = command.gid(0).args(["submit", "--hold", "--wrap", "true"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("group 0"), "{said}");
    Ok(())
}
