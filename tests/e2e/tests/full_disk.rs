//! A controller with a full disk acknowledges nothing, answers queries, and continues by itself
//! when there is space again. Needs root, to mount a small file system.

use common::config::ControllerConfig;
use common::job::Outcome;
use common::wire::api::JobList;
use e2e::{Cluster, ClusterOptions, Person, SmallDisk, wait_for};
use std::process::Stdio;

#[test]
fn with_a_full_disk_nothing_is_acknowledged_or_lost_and_service_resumes_by_itself()
-> anyhow::Result<()> {
    let Some(_) = Person::other() else { return Ok(()) };
    let dir = tempfile::Builder::new().prefix("kant-full-").tempdir()?;
    let disk = SmallDisk::mount(&dir.path().join("state"), "80m")?;
    // Without a reserve: another test covers the reserve.
    let to_the_last = |config: &mut ControllerConfig| config.disk_reserve_mib = 0;
    let options =
        ClusterOptions { controller: Some(to_the_last), ..ClusterOptions::cpu_nodes(&["n1"]) };
    let mut cluster = Cluster::start_in(dir.path(), options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let ballast = disk.fill("ballast")?;

    // Scripts of 3 MiB use up the preallocated segments; then a submission blocks unacknowledged.
    let script = kantctl.dir().join("large.sh");
    let mut acknowledged: Vec<String> = Vec::new();
    let stuck = loop {
        anyhow::ensure!(acknowledged.len() < 40, "the disk never got full");
        // Different each time, since the state stores equal scripts once.
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
    assert_eq!(
        list.jobs.len(),
        acknowledged.len(),
        "queries are answered, and no unacknowledged job exists"
    );

    std::fs::remove_file(&ballast)?;
    let output = stuck.wait_with_output()?;
    assert!(output.status.success(), "the blocked submission is acknowledged once there is space");
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
