//! The users that a node may vouch for: users on the node, but not operators unless the
//! configuration allows it.

use common::config::{ControllerConfig, VouchedFor};
use e2e::{Cluster, ClusterOptions, Controllers, Person, is_root, wait_for};
use net::{Client, ClusterKeys, Endpoint, Identity};
use serde_json::Value;
use std::path::Path;

fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The default, also without root.
fn users(config: &mut ControllerConfig) {
    config.nodes_may_vouch_for = VouchedFor::Users;
    config.roles.operators = vec!["23002".to_owned()];
}

fn operators(config: &mut ControllerConfig) {
    config.nodes_may_vouch_for = VouchedFor::Operators;
    config.allow_root_jobs = true;
}

fn with(controller: fn(&mut ControllerConfig)) -> ClusterOptions {
    ClusterOptions { controller: Some(controller), ..ClusterOptions::cpu_nodes(&["n1"]) }
}

#[test]
fn a_node_may_not_vouch_for_root_or_operators() -> anyhow::Result<()> {
    let cluster = Cluster::start(with(users))?;
    let node = cluster.node_socket("n1");
    // The user of this test is an operator: root, or the user of the daemons.
    for operator in [Some(Person::me()), Person::other()].into_iter().flatten() {
        for words in
            [&["drain", "n1", "--reason", "x"][..], &["queue"], &["submit", "--wrap", "id"]]
        {
            let answer = cluster.kantctl(operator)?.on(&node).run(words)?;
            assert_eq!(answer.code, 1, "{words:?}: {answer:?}");
            for part in ["node n1 may not act for", "kantctld's own socket", "nodes_may_vouch_for"]
            {
                assert!(answer.stderr.contains(part), "{words:?}: {}", answer.stderr);
            }
        }
        let log = cluster.dir().join("state/audit.log");
        let is_it = |line: &Value| line["verb"] == "nodes/drain" && line["uid"] == operator.uid;
        let refused =
            wait_for("the line of the refusal", || Ok(lines(&log)?.into_iter().find(is_it)))?;
        let path =
            ["via", "result", "code"].map(|field| refused[field].as_str().unwrap_or_default());
        assert_eq!(path, ["node n1", "refused", "voucher_refused"], "{refused}");
        cluster.kantctl(operator)?.ok(&["drain", "n1", "--reason", "x"])?;
        cluster.kantctl(operator)?.ok(&["resume", "n1"])?;
    }
    if is_root() {
        let user = cluster.kantctl(Person::plain())?.on(&node);
        let id = user.submit(&[], "#!/bin/sh\ntrue\n")?;
        user.finished(&id)?;
        user.refused(&["drain", "n1", "--reason", "x"], "not an operator")?;
    }
    Ok(())
}

#[test]
fn a_node_vouches_for_operators_if_the_configuration_allows_it() -> anyhow::Result<()> {
    let cluster = Cluster::start(with(operators))?;
    let by_node = cluster.kantctl(Person::me())?.on(&cluster.node_socket("n1"));
    by_node.ok(&["drain", "n1", "--reason", "x"])?;
    by_node.ok(&["resume", "n1"])?;
    Ok(())
}

#[test]
fn the_leader_applies_its_own_rule_to_forwarded_requests() -> anyhow::Result<()> {
    let mut controllers = Controllers::new()?;
    controllers.add("a")?;
    controllers.reconfigure("a", |config| config.nodes_may_vouch_for = VouchedFor::Users)?;
    controllers.start("a")?;
    // A controller with another configuration, which never leads.
    controllers.add("b")?;
    controllers.verb("b", &["join", "--learner", "--invitation", &controllers.invite("a")?])?;
    controllers.start("b")?;
    let at_b = controllers.kantctl("b")?;
    wait_for("b to pass on", || Ok((at_b.run(&["nodes"])?.code == 0).then_some(())))?;
    let key = ClusterKeys::load(Path::new(&controllers.config("a")?.cluster_key))?.issuing;
    let identity = Identity::emulated_node(&key, "n1")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let drain = || {
        axum::http::Request::post("/v1/nodes/n1/drain")
            .header(net::USER_HEADER, "0:0")
            .header("content-type", "application/json")
            .body("{\"reason\":\"x\"}".into())
    };
    runtime.block_on(async {
        let at_b = Endpoint::Tls { addr: controllers.address("b"), identity };
        let client = Client::new(at_b).with_answer_limit(Some(e2e::DEADLINE));
        let answer = client.send(drain()?).await?;
        let (head, body) = answer.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await?;
        assert_eq!(head.status, 403, "{}", String::from_utf8_lossy(&body));
        anyhow::Ok(())
    })?;
    let log = Path::new(&controllers.config("a")?.state_dir).join("audit.log");
    let is_it = |line: &Value| line["verb"] == "nodes/drain";
    let refused = wait_for("the leader's line", || Ok(lines(&log)?.into_iter().find(is_it)))?;
    let path = ["via", "through", "code"].map(|field| refused[field].as_str().unwrap_or_default());
    assert_eq!(path, ["node n1", "controller 2", "voucher_refused"], "{refused}");
    Ok(())
}

#[test]
fn a_node_may_not_vouch_for_foreign_groups() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can submit with a group of others");
        return Ok(());
    }
    use std::os::unix::process::CommandExt as _;
    let cluster = Cluster::start(with(users))?;
    let by_node = cluster.kantctl(Person::plain())?.on(&cluster.node_socket("n1"));
    let mut command = by_node.command();
    let output = command.gid(0).args(["submit", "--hold", "--wrap", "true"]).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && stderr.contains("group 0"), "{stderr}");
    Ok(())
}
