//! The check of users and groups against the host's user database, on the controller and again on
//! the node.

use common::config::{ControllerConfig, NodeConfig};
use common::job::Phase;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, is_root};
use std::os::unix::process::CommandExt as _;

fn only_known(config: &mut ControllerConfig) {
    config.allow_unknown_users = false;
    config.allow_root_jobs = true;
}

fn only_known_here(config: &mut NodeConfig) {
    config.allow_unknown_users = false;
}

/// The standard error of a refused submission.
fn refused(kantctl: &Kantctl, gid: u32) -> anyhow::Result<String> {
    let mut command = kantctl.command();
    let output = command.gid(gid).args(["submit", "--hold", "--wrap", "true"]).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(output.status.code() == Some(1), "{}: {stderr}", output.status);
    Ok(stderr)
}

#[test]
fn a_controller_refuses_unknown_users_system_users_and_foreign_groups() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can submit as another user");
        return Ok(());
    }
    let controller = Some(only_known as fn(&mut ControllerConfig));
    let cluster = Cluster::start(ClusterOptions { controller, ..ClusterOptions::default() })?;
    for (uid, gid, words) in [
        (23_001, 23_001, ["uid 23001", "allow_unknown_users"]),
        (1, 1, ["uid 1 ", "uid_min"]),
        (65_534, 65_534, ["uid 65534", "uid_min"]),
        (0, 23_001, ["group 23001", "`id`"]),
    ] {
        let stderr = refused(&cluster.kantctl(Person { uid })?, gid)?;
        assert!(words.iter().all(|word| stderr.contains(word)), "{uid}:{gid}: {stderr}");
    }
    cluster.kantctl(Person::me())?.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}

#[test]
fn a_controller_that_allows_unknown_users_refuses_foreign_groups() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can submit as another user");
        return Ok(());
    }
    let cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    assert!(refused(&kantctl, 0)?.contains("group 0"));
    kantctl.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}

#[test]
fn a_node_that_does_not_know_a_user_returns_the_job_and_is_drained_after_two() -> anyhow::Result<()>
{
    let Some(other) = Person::other() else { return Ok(()) };
    let cluster = Cluster::start(ClusterOptions {
        nodes: vec![("n1", Machine::cpu())],
        node: Some(only_known_here),
        ..ClusterOptions::default()
    })?;
    let operator = cluster.kantctl(Person::me())?;
    let drain = || -> anyhow::Result<Option<String>> {
        let nodes = operator.nodes()?.nodes;
        Ok(nodes.into_iter().find_map(|node| node.drain).map(|drain| drain.reason))
    };
    for (person, is_last) in [(Person::plain(), false), (other, true)] {
        let kantctl = cluster.kantctl(person)?;
        let id = kantctl.submit(&[], "#!/bin/sh\ntouch ran\n")?;
        let words = ["node n1".to_owned(), format!("jobs of uid {}", person.uid)];
        let job = e2e::wait_for("the fault of its start", || {
            let job = kantctl.job(&id)?;
            anyhow::ensure!(job.outcome.is_none(), "it is over: {job:?}");
            let says = |text: &str| words.iter().all(|word| text.contains(word));
            Ok(job.timeline.iter().any(|line| says(&line.text)).then_some(job))
        })?;
        assert_eq!(job.phase, Phase::Pending, "the job waits for another node: {job:?}");
        assert!(!kantctl.dir().join("ran").exists());
        assert_eq!(drain()?.is_some(), is_last, "{:?}", drain()?);
    }
    assert!(drain()?.is_some_and(|reason| reason.contains("user database")));
    Ok(())
}
