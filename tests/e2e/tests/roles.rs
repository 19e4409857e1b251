//! Roles by user and by group, and what each may do to jobs of others.

use common::config::{AccountTable, ControllerConfig, QueueTable, VouchedFor, read};
use common::id::{AccountName, QueueName};
use common::job::Phase;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, UNTIL_ENOUGH, is_root, wait_for};
use serde_json::Value;
use std::path::Path;

/// A user of the queues below `lab` and of no other.
const COORDINATOR: Person = Person { uid: 23_003 };
/// The user daemon, whose group has the role.
const SUPPORT: Person = Person { uid: 1 };
/// The user bin, likewise.
const VIEWER: Person = Person { uid: 2 };

fn queue(name: &str, parent: Option<&str>, coordinators: &[&str]) -> QueueTable {
    QueueTable {
        name: QueueName::new(name).ok(),
        parent: parent.and_then(|name| QueueName::new(name).ok()),
        coordinators: coordinators.iter().map(|name| (*name).to_owned()).collect(),
        ..QueueTable::default()
    }
}

fn roles(config: &mut ControllerConfig) {
    config.queue = vec![
        queue("main", None, &[]),
        queue("lab", None, &["23003"]),
        queue("team", Some("lab"), &[]),
    ];
    config.account = vec![AccountTable {
        name: AccountName::new("vision").ok(),
        coordinators: vec!["23003".to_owned()],
        ..AccountTable::default()
    }];
    config.nodes_may_vouch_for = VouchedFor::Users;
    config.roles.support = vec!["@daemon".to_owned()];
    config.roles.viewers = vec!["@bin".to_owned()];
}

/// `None` without root, which alone can act as several users.
fn cluster() -> anyhow::Result<Option<Cluster>> {
    if !is_root() {
        eprintln!("skipped: only root can act as several users");
        return Ok(None);
    }
    let controller = Some(roles as fn(&mut ControllerConfig));
    Cluster::start(ClusterOptions { controller, ..ClusterOptions::cpu_nodes(&["n1"]) }).map(Some)
}

fn change(cluster: &Cluster, change: impl FnOnce(&mut ControllerConfig)) -> anyhow::Result<()> {
    let file = cluster.dir().join("kantctld.toml");
    let mut config = read("kantctld.toml", &std::fs::read_to_string(&file)?)?;
    change(&mut config);
    std::fs::write(file, toml::to_string(&config)?)?;
    cluster.kantctl(Person::me())?.ok(&["reload"])?;
    Ok(())
}

fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Waits for the audit line of a refused request.
fn audited(cluster: &Cluster, verb: &str, uid: u32, code: &str) -> anyhow::Result<()> {
    let log = cluster.dir().join("state/audit.log");
    let is_it = |line: &Value| {
        line["verb"] == verb
            && line["uid"] == uid
            && line["code"] == code
            && line["result"] == "refused"
    };
    wait_for(&format!("the line of {verb} by {uid}"), || {
        Ok(lines(&log)?.iter().any(is_it).then_some(()))
    })
}

fn held(kantctl: &Kantctl, flags: &[&str]) -> anyhow::Result<String> {
    kantctl.submit(&[&["--hold"], flags].concat(), "#!/bin/sh\necho secret\n")
}

#[test]
fn a_coordinator_manages_the_jobs_of_their_queues_and_account_alone() -> anyhow::Result<()> {
    let Some(cluster) = cluster()? else { return Ok(()) };
    let owner = cluster.kantctl(Person::plain())?;
    let coordinator = cluster.kantctl(COORDINATOR)?;
    let in_team = held(&owner, &["--queue=team"])?;
    let in_account = held(&owner, &["--queue=main", "--account=vision"])?;
    let in_main = held(&owner, &["--queue=main"])?;
    let refusal = "only they, coordinators of its queue or account, and operators";
    coordinator.refused(&["cancel", &in_main], refusal)?;
    audited(&cluster, "jobs/cancel", COORDINATOR.uid, "not_yours")?;
    coordinator.ok(&["update", &in_team, "--time=5"])?;
    coordinator.refused(&["update", &in_team, "--queue=main"], "that you do not coordinate")?;
    coordinator.ok(&["hold", &in_team])?;
    owner.refused(&["release", &in_team], "a coordinator holds job")?;
    coordinator.ok(&["cancel", &in_team, &in_account])?;
    for id in [&in_team, &in_account] {
        owner.until(id, Phase::Done)?;
    }
    // On a node the role does not count: root there can name anyone.
    let at_node = coordinator.on(&cluster.node_socket("n1"));
    let in_lab = held(&owner, &["--queue=lab"])?;
    at_node.refused(&["cancel", &in_lab], refusal)?;
    // Only operators drain.
    coordinator.refused(&["drain", "n1", "--reason", "x"], "not an operator")?;
    coordinator.refused(&["audit"], "neither an operator nor a viewer nor support")?;

    change(&cluster, |config| config.queue[1].coordinators.clear())?;
    coordinator.refused(&["cancel", &in_lab], refusal)?;
    change(&cluster, |config| config.roles.operators = vec!["23003".to_owned()])?;
    coordinator.ok(&["cancel", &in_lab, &in_main])?;
    Ok(())
}

#[test]
fn support_requeues_and_a_viewer_reads_everything_and_changes_nothing() -> anyhow::Result<()> {
    let Some(cluster) = cluster()? else { return Ok(()) };
    let owner = cluster.kantctl(Person::plain())?;
    let (support, viewer) = (cluster.kantctl(SUPPORT)?, cluster.kantctl(VIEWER)?);
    let id = owner.submit(&[], UNTIL_ENOUGH)?;
    owner.until(&id, Phase::Running)?;
    for reader in [&support, &viewer] {
        reader.refused(&["cancel", &id], "only they, coordinators")?;
        reader.refused(&["drain", "n1", "--reason", "x"], "not an operator")?;
        reader.ok(&["audit"])?;
        reader.ok(&["logs", &id])?;
        reader.ok(&["admin", "node", "list"])?;
    }
    let other = cluster.kantctl(Person { uid: 23_002 })?;
    other.refused(&["logs", &id], "only they, support, viewers and operators")?;
    viewer
        .refused(&["requeue", &id], "only they, coordinators of its queue or account, support")?;
    audited(&cluster, "jobs/requeue", VIEWER.uid, "not_yours")?;
    audited(&cluster, "jobs/cancel", SUPPORT.uid, "not_yours")?;
    support.ok(&["requeue", &id])?;
    wait_for("the second attempt", || {
        let job = owner.job(&id)?;
        Ok((job.attempt == 2 && job.phase == Phase::Running).then_some(()))
    })?;
    owner.touch("enough")?;
    owner.completed(&id)?;

    // A group takes its role away from its members.
    change(&cluster, |config| config.roles.support.clear())?;
    support
        .refused(&["requeue", &id], "only they, coordinators of its queue or account, support")?;
    support.refused(&["audit"], "neither an operator nor a viewer nor support")?;
    Ok(())
}
