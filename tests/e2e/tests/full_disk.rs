//! A controller whose disk is full acknowledges nothing, answers readers, and goes on by itself
//! when there is room again. Needs root, for a small file system of its own.

use common::config::ControllerConfig;
use common::job::Outcome;
use common::wire::api::JobList;
use e2e::{Cluster, ClusterOptions, Machine, Person, SmallDisk, wait_for};
use std::process::Stdio;

#[test]
fn a_full_disk_acknowledges_nothing_loses_nothing_and_heals_by_itself() -> anyhow::Result<()> {
    if Person::other().is_none() {
        eprintln!("skipped: only root can mount a small file system");
        return Ok(());
    }
    let dir = tempfile::Builder::new().prefix("kant-full-").tempdir()?;
    let disk = SmallDisk::mount(&dir.path().join("state"), "80m")?;
    let nodes = vec![("n1", Machine::cpu())];
    // To the last byte: what is kept free is another test's matter.
    let to_the_last = |config: &mut ControllerConfig| config.disk_reserve_mib = 0;
    let options =
        ClusterOptions { nodes, controller: Some(to_the_last), ..ClusterOptions::default() };
    let mut cluster = Cluster::start_in(dir.path(), options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let ballast = disk.fill("ballast")?;

    // Scripts of 3 MiB use up the segments made ahead; then a submit hangs, unacknowledged.
    let script = kantctl.dir().join("large.sh");
    let mut acknowledged: Vec<String> = Vec::new();
    let stuck = loop {
        anyhow::ensure!(acknowledged.len() < 40, "the disk never got full");
        // Different each time, or the state would keep one text for all.
        let text = format!("#!/bin/sh\n#{}{}\n", "x".repeat(3 << 20), acknowledged.len());
        std::fs::write(&script, text)?;
        let mut command = kantctl.command();
        command.args(["submit", "--parsable", "--hold", "large.sh"]).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let full = || {
            cluster
                .controller_log()
                .contains("all changes wait until there is free space")
                .then_some(true)
        };
        let is_full = wait_for("an answer, or a full disk", || {
            Ok(child.try_wait()?.map(|_| false).or_else(full))
        })?;
        if is_full && child.try_wait()?.is_none() {
            break child;
        }
        let output = child.wait_with_output()?;
        anyhow::ensure!(output.status.success(), "a submit failed before the disk was full");
        acknowledged.push(String::from_utf8(output.stdout)?.trim().to_owned());
    };
    let list: JobList = kantctl.json(&["queue"])?;
    assert_eq!(list.jobs.len(), acknowledged.len(), "readers are served; nothing unsaid is there");

    std::fs::remove_file(&ballast)?;
    let output = stuck.wait_with_output()?;
    assert!(output.status.success(), "the stuck submit is acknowledged once there is room");
    acknowledged.push(String::from_utf8(output.stdout)?.trim().to_owned());

    cluster.kill_controller()?;
    cluster.start_controller()?;
    for id in &acknowledged {
        assert_eq!(kantctl.job(id)?.key.to_string(), *id);
    }
    kantctl.ok(&["release", &acknowledged[0]])?;
    assert_eq!(kantctl.finished(&acknowledged[0])?.outcome, Some(Outcome::Completed));
    cluster.wind_down()?;
    drop(cluster);
    drop(disk);
    Ok(())
}
