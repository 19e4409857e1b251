//! Reloading the configuration of a running controller: the next round uses the new one, an invalid
//! one changes nothing, and nothing is restarted.

use anyhow::Context as _;
use common::config::{ControllerConfig, QueueTable, read};
use common::id::{NodeName, QueueName};
use common::job::Phase;
use common::policy::{Behind, Placement, QuotaMode};
use common::unit::Gpus;
use common::wire::api::{QueueList, ReloadAnswer};
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, UNTIL_ENOUGH};
use nix::sys::signal::Signal;
use std::path::PathBuf;

fn two_nodes_one_queue() -> anyhow::Result<Cluster> {
    let nodes = vec![("n1", Machine::cpu()), ("n2", Machine::cpu())];
    let one_queue = |config: &mut ControllerConfig| {
        let name = QueueName::new("main").ok();
        config.queue = vec![QueueTable { name, nodes: "n1".to_owned(), ..QueueTable::default() }];
    };
    let controller = Some(one_queue as fn(&mut ControllerConfig));
    Cluster::start(ClusterOptions { nodes, controller, ..ClusterOptions::default() })
}

fn file(cluster: &Cluster) -> PathBuf {
    cluster.dir().join("kantctld.toml")
}

/// Changes the file without a reload.
fn change(cluster: &Cluster, change: impl FnOnce(&mut ControllerConfig)) -> anyhow::Result<()> {
    let mut config = read("kantctld.toml", &std::fs::read_to_string(file(cluster))?)?;
    change(&mut config);
    Ok(std::fs::write(file(cluster), toml::to_string(&config)?)?)
}

#[test]
fn the_round_after_a_reload_uses_the_new_configuration_without_a_restart() -> anyhow::Result<()> {
    let mut cluster = two_nodes_one_queue()?;
    let pid = cluster.controller()?.pid();
    let (kantctl, operator) = (cluster.kantctl(Person::plain())?, cluster.kantctl(Person::me())?);
    let first = kantctl.submit(&["--exclusive"], UNTIL_ENOUGH)?;
    kantctl.until(&first, Phase::Running)?;
    let second = kantctl.submit(&["--exclusive"], UNTIL_ENOUGH)?;
    let waits = || Ok(kantctl.job(&second)?.reason.is_some().then_some(()));
    e2e::wait_for("a round to set the second job's wait reason", waits)?;

    change(&cluster, |config| {
        config.queue[0].nodes = "n[1-2]".to_owned();
        config.snapshot_every_entries = 77;
    })?;
    assert_eq!(
        kantctl.job(&second)?.phase,
        Phase::Pending,
        "a changed file is not read without a reload"
    );
    let answer = operator.run(&["reload"])?;
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains("queue.main.nodes: \"n1\" -> \"n[1-2]\""), "{answer:?}");
    assert!(answer.stderr.contains("`snapshot_every_entries` has changed"), "{answer:?}");
    kantctl.until(&second, Phase::Running)?;
    let allocation = kantctl.job(&second)?.allocation.context("it runs somewhere")?;
    assert_eq!(allocation.shares()[0].node.as_str(), "n2");

    kantctl.touch("enough")?;
    for job in [first, second] {
        kantctl.completed(&job)?;
    }
    assert_eq!(cluster.controller()?.pid(), pid);
    assert!(cluster.controller()?.ended()?.is_none());
    Ok(())
}

#[test]
fn an_invalid_configuration_is_refused_as_a_whole_and_the_old_one_stays() -> anyhow::Result<()> {
    let cluster = two_nodes_one_queue()?;
    let operator = cluster.kantctl(Person::me())?;
    let good = std::fs::read_to_string(file(&cluster))?;
    let before: QueueList = operator.json(&["queues"])?;
    for (bad, words) in [
        ("[[queue]]\nname = \"b\"\nplaceemnt = \"spread\"\n", &["line 3", "placeemnt"][..]),
        (
            "[[queue]]\nname = \"a\"\nparent = \"b\"\n[[queue]]\nname = \"b\"\nparent = \"a\"\n",
            &["line 3", "form a cycle, a -> b -> a"],
        ),
        (
            "[roles]\noperators = [\"no-such-user\"]\n",
            &["roles.operators: user `no-such-user` does not exist"],
        ),
        ("[roles]\nsupport = [\"@no-such\"]\n", &["group `no-such` does not exist"]),
        ("listen = \"nowhere\"\n", &["`nowhere` is not HOST:PORT"]),
        ("topology_file = \"none.csv\"\n", &["none.csv", "No such file"]),
    ] {
        std::fs::write(file(&cluster), bad)?;
        let answer = operator.run(&["reload"])?;
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(words.iter().all(|word| answer.stderr.contains(word)), "{words:?}: {answer:?}");
    }
    std::fs::remove_file(file(&cluster))?;
    operator.refused(&["reload"], "No such file")?;
    assert_eq!(operator.json::<QueueList>(&["queues"])?, before);
    std::fs::write(file(&cluster), good)?;
    let answer: ReloadAnswer = operator.json(&["reload"])?;
    assert_eq!(answer.changed, Vec::<String>::new());
    Ok(())
}

#[test]
fn sighup_reloads_the_configuration_and_logs_the_changes() -> anyhow::Result<()> {
    let mut cluster = two_nodes_one_queue()?;
    let operator = cluster.kantctl(Person::me())?;
    change(&cluster, |config| config.queue[0].priority = 7)?;
    cluster.controller()?.signal(Signal::SIGHUP)?;
    e2e::wait_for("the new priority", || {
        let list: QueueList = operator.json(&["queues"])?;
        Ok(list.queues.iter().any(|queue| queue.priority == 7).then_some(()))
    })?;
    e2e::wait_for("the log", || {
        Ok(cluster.controller_log().contains("queue.main.priority: 0 -> 7").then_some(()))
    })?;
    std::fs::write(file(&cluster), "x = [\n")?;
    cluster.controller()?.signal(Signal::SIGHUP)?;
    e2e::wait_for("the complaint", || {
        Ok(cluster
            .controller_log()
            .contains("the configuration was not reloaded, the old one stays")
            .then_some(()))
    })?;
    assert!(cluster.controller()?.ended()?.is_none());
    Ok(())
}

#[test]
fn only_operators_reload_and_a_reload_can_add_an_operator() -> anyhow::Result<()> {
    let Some(other) = Person::other() else { return Ok(()) };
    let cluster = two_nodes_one_queue()?;
    let (theirs, operator) = (cluster.kantctl(other)?, cluster.kantctl(Person::me())?);
    theirs.refused(&["reload"], "not an operator")?;
    change(&cluster, |config| config.roles.operators = vec![other.uid.to_string()])?;
    operator.ok(&["reload"])?;
    theirs.ok(&["reload"])?;
    Ok(())
}

/// Two GPU nodes and two queues: a strict one that spreads, and a small isolated one. There are no
/// periodic rounds: a change that took effect only in the next periodic round would fail the test.
fn strict_spread_and_isolated() -> anyhow::Result<Cluster> {
    let nodes = vec![("g1", Machine::with_gpus("pcie-2")), ("g2", Machine::with_gpus("pcie-2"))];
    let two_queues = |config: &mut ControllerConfig| {
        let queue = |name| QueueTable { name: QueueName::new(name).ok(), ..QueueTable::default() };
        let mut small = queue("small");
        small.quota_mode = QuotaMode::Isolated;
        small.quota.0.gpus_any = Some(Gpus(1));
        let (behind, placement) = (Behind::Wait, Placement::Spread);
        config.queue = vec![QueueTable { behind, placement, ..queue("main") }, small];
        config.round_period_seconds = 3600;
    };
    let controller = Some(two_queues as fn(&mut ControllerConfig));
    Cluster::start(ClusterOptions { nodes, controller, ..ClusterOptions::default() })
}

/// Changes the file and reloads it; the answer must name the changed key.
fn switch(
    cluster: &Cluster,
    changed_key: &str,
    new: impl FnOnce(&mut ControllerConfig),
) -> anyhow::Result<()> {
    change(cluster, new)?;
    let answer: ReloadAnswer = cluster.kantctl(Person::me())?.json(&["reload"])?;
    assert_eq!((answer.changed, answer.restart), (vec![changed_key.to_owned()], vec![]));
    Ok(())
}

/// Waits until the job runs and returns its node.
fn runs_on(kantctl: &Kantctl, id: &str) -> anyhow::Result<NodeName> {
    kantctl.until(id, Phase::Running)?;
    let allocation = kantctl.job(id)?.allocation.context("it runs somewhere")?;
    assert_eq!(allocation.shares().len(), 1, "{allocation:?}");
    Ok(allocation.shares()[0].node.clone())
}

/// Waits until a round has set this wait reason, as a Slurm name.
fn waits_for(kantctl: &Kantctl, id: &str, code: &str) -> anyhow::Result<()> {
    let last = e2e::wait_for(&format!("job {id} to wait for {code}"), || {
        Ok(kantctl.job(id)?.reason.filter(|reason| reason.code == code).map(|_| ()))
    });
    last.with_context(|| format!("it waits for {:?}", kantctl.job(id).map(|job| job.reason)))
}

const ONE_GPU: [&str; 3] = ["--gpus=1", "--mem=16M", "--time=10"];

fn placement_switches(cluster: &Cluster, kantctl: &Kantctl) -> anyhow::Result<()> {
    let first = kantctl.submit(&ONE_GPU, UNTIL_ENOUGH)?;
    let home = runs_on(kantctl, &first)?;
    let spread = kantctl.submit(&ONE_GPU, UNTIL_ENOUGH)?;
    assert_ne!(runs_on(kantctl, &spread)?, home, "spread: the empty node");
    kantctl.ok(&["cancel", &spread])?;
    kantctl.finished(&spread)?;
    let change = "queue.main.placement: \"spread\" -> \"ebinpack\"";
    switch(cluster, change, |config| config.queue[0].placement = Placement::EBinpack)?;
    let packed = kantctl.submit(&ONE_GPU, UNTIL_ENOUGH)?;
    assert_eq!(runs_on(kantctl, &packed)?, home, "ebinpack: the node in use");
    kantctl.ok(&["cancel", &first, &packed])?;
    kantctl.finished(&first)?;
    kantctl.finished(&packed)?;
    Ok(())
}

fn order_switches(cluster: &Cluster, kantctl: &Kantctl) -> anyhow::Result<Vec<String>> {
    let long = kantctl.submit(&["--gpus=1", "--mem=16M", "--time=1-0"], UNTIL_ENOUGH)?;
    let there = format!("--nodelist={}", runs_on(kantctl, &long)?);
    let head = kantctl.submit(&[&there, "--gpus=2", "--mem=16M"], "#!/bin/sh\ntrue\n")?;
    let small = kantctl.submit(&ONE_GPU, UNTIL_ENOUGH)?;
    waits_for(kantctl, &head, "Resources")?;
    waits_for(kantctl, &small, "Priority")?;
    let change = "queue.main.behind: \"wait\" -> \"backfill\"";
    switch(cluster, change, |config| config.queue[0].behind = Behind::Backfill)?;
    runs_on(kantctl, &small)?;
    assert_eq!(kantctl.job(&head)?.phase, Phase::Pending, "another job passed it");
    Ok(vec![long, head, small])
}

fn quota_switches(cluster: &Cluster, kantctl: &Kantctl) -> anyhow::Result<Vec<String>> {
    let in_small = ["-psmall", "--gpus=1", "--mem=16M", "--time=10"];
    let first = kantctl.submit(&in_small, UNTIL_ENOUGH)?;
    runs_on(kantctl, &first)?;
    let second = kantctl.submit(&in_small, UNTIL_ENOUGH)?;
    waits_for(kantctl, &second, "AssocGrpGRES")?;
    let change = "queue.small.quota.gpus: 1 -> 2";
    switch(cluster, change, |config| config.queue[1].quota.0.gpus_any = Some(Gpus(2)))?;
    runs_on(kantctl, &second)?;
    Ok(vec![first, second])
}

#[test]
fn placement_queue_policy_and_quota_switch_while_the_cluster_runs() -> anyhow::Result<()> {
    let mut cluster = strict_spread_and_isolated()?;
    let pids = |cluster: &mut Cluster| -> anyhow::Result<[u32; 3]> {
        Ok([cluster.controller()?.pid(), cluster.node("g1")?.pid(), cluster.node("g2")?.pid()])
    };
    let before = pids(&mut cluster)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    placement_switches(&cluster, &kantctl)?;
    let mut jobs = order_switches(&cluster, &kantctl)?;
    jobs.extend(quota_switches(&cluster, &kantctl)?);

    kantctl.touch("enough")?;
    for job in jobs {
        let job = kantctl.completed(&job)?;
        assert_eq!(job.attempt, 1, "{job:?}");
    }
    assert_eq!(pids(&mut cluster)?, before);
    for daemon in [cluster.controller()?.ended()?, cluster.node("g1")?.ended()?] {
        assert!(daemon.is_none());
    }
    Ok(())
}
