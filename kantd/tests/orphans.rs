//! What a node says of processes that a job left and whose record is gone. As root, with the
//! cgroups that the machine has.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod stand;

use common::health::{Check, Response};
use common::unit::Bytes;
use kantd::config::HealthSettings;
use kantd::health::{Findings, Watched, watch};
use nix::sys::signal::{Signal, kill};
use node::HealthPolicy;
use stand::{PATIENCE, Stand, is_alive};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// How orphans are spoken of, once there are as many signs as this.
async fn until_told(findings: &mut Findings, count: usize) -> Vec<String> {
    let found = findings.wait_for(|found| found.as_ref().is_some_and(|f| f.len() == count));
    let found = tokio::time::timeout(PATIENCE, found).await.unwrap().unwrap().clone().unwrap();
    let well = found.iter().all(|f| (f.check, f.response) == (Check::Orphans, Response::Drain));
    assert!(well, "{found:?}");
    found.into_iter().map(|finding| finding.says).collect()
}

#[tokio::test]
async fn processes_of_a_job_whose_record_was_lost_are_told_and_not_touched() {
    needs_root!();
    let mut stand = Stand::new().await;
    let settings = HealthSettings {
        period: Some(Duration::from_millis(50)),
        script: None,
        script_limit: PATIENCE,
        disk_free_min: Bytes(1),
        policy: HealthPolicy::default(),
    };
    let (spool, cgroup, bell) = (stand.spool(), stand.place.clone(), Arc::default());
    let watched = Watched {
        settings,
        gpus: Vec::new(),
        nvml_library: None,
        spool,
        cgroup,
        bell,
        signs: vec![],
    };
    let (watching, mut findings) = watch(watched);
    let watching = tokio::spawn(watching);

    let id = stand.start(stand.order("sleep 600 & echo $! > up; wait")).await;
    stand.line("up").await;
    assert_eq!(until_told(&mut findings, 0).await, [""; 0], "a job that kantd knows");
    let pid = stand.written("up").trim().parse().unwrap();
    let pid = nix::unistd::Pid::from_raw(pid);

    // kantd is stopped, and somebody empties its spool.
    let supervisor = stand.supervisor(id);
    stand.close();
    kill(supervisor, Signal::SIGKILL).unwrap();
    stand::until("the supervisor is dead", || !is_alive(supervisor.as_raw())).await;
    fs::remove_dir_all(stand.step_dir(id)).unwrap();
    stand.open().await;
    let told = until_told(&mut findings, 1).await;
    assert!(told[0].contains(&id.to_string()), "{told:?}");
    assert!(is_alive(pid.as_raw()), "it is not touched");

    kill(pid, Signal::SIGKILL).unwrap();
    until_told(&mut findings, 0).await;
    watching.abort();
    stand::until("its groups are gone", || {
        stand.groups(id).iter().all(|group| fs::remove_dir(group).is_ok())
    })
    .await;
}
