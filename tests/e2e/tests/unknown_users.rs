//! Whose jobs are taken: of users that are in the host's user database, with groups that it gives
//! them, on the controller and again on the node.

use common::config::{ControllerConfig, NodeConfig};
use common::job::Outcome;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, is_root};
use std::os::unix::process::CommandExt as _;

fn only_known(config: &mut ControllerConfig) {
    config.allow_unknown_users = false;
    config.allow_root_jobs = true;
}

fn only_known_here(config: &mut NodeConfig) {
    config.allow_unknown_users = false;
}

/// What a submission says that is refused.
fn refused(kantctl: &Kantctl, gid: u32) -> anyhow::Result<String> {
    let mut command = kantctl.command();
    let output = command.gid(gid).args(["submit", "--hold", "--wrap", "true"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(output.status.code() == Some(1), "{}: {said}", output.status);
    Ok(said)
}

#[test]
fn a_controller_refuses_unknown_and_system_users_and_groups_of_others() -> anyhow::Result<()> {
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
        let said = refused(&cluster.kantctl(Person { uid })?, gid)?;
        assert!(words.iter().all(|word| said.contains(word)), "{uid}:{gid}: {said}");
    }
    cluster.kantctl(Person::me())?.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}

#[test]
fn a_controller_that_allows_unknown_users_gives_them_no_group_of_others() -> anyhow::Result<()> {
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
fn a_node_does_not_run_jobs_of_users_that_it_does_not_know() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can submit as another user");
        return Ok(());
    }
    let cluster = Cluster::start(ClusterOptions {
        nodes: vec![("n1", Machine::cpu())],
        node: Some(only_known_here),
        ..ClusterOptions::default()
    })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&[], "#!/bin/sh\ntouch ran\n")?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::LaunchFailed), "{job:?}");
    let message = job.message.unwrap_or_default();
    for word in ["node n1", "uid 23001", "allow_unknown_users"] {
        assert!(message.contains(word), "{message}");
    }
    assert!(!kantctl.dir().join("ran").exists());
    assert!(cluster.kantctl(Person::me())?.ok(&["nodes"])?.contains("idle"), "no fault of n1");
    Ok(())
}
