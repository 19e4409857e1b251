//! Health findings about orphaned processes of a job whose record is lost. As root, with the
//! machine's cgroups.

use crate::harness::{self, PATIENCE, StepHarness, is_alive};
use common::health::{Check, Response};
use common::unit::Bytes;
use kantd::config::HealthSettings;
use kantd::health::{Findings, Watched, watch};
use nix::sys::signal::{Signal, kill};
use node::HealthPolicy;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

/// Waits for this number of findings, which must be orphans, and returns their texts.
async fn until_recorded(findings: &mut Findings, count: usize) -> Vec<String> {
    let found = findings.wait_for(|found| found.as_ref().is_some_and(|f| f.len() == count));
    let found = tokio::time::timeout(PATIENCE, found).await.unwrap().unwrap().clone().unwrap();
    let well = found.iter().all(|f| (f.check, f.response) == (Check::Orphans, Response::Drain));
    assert!(well, "{found:?}");
    found.into_iter().map(|finding| finding.says).collect()
}

#[tokio::test]
async fn orphaned_processes_are_reported_and_not_killed() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let settings = HealthSettings {
        period: Some(Duration::from_millis(50)),
        script: None,
        script_limit: PATIENCE,
        disk_free_min: Bytes(1),
        policy: HealthPolicy::default(),
    };
    let (spool, cgroup, probe_now) = (harness.spool(), harness.cgroup.clone(), Arc::default());
    let watched = Watched {
        settings,
        gpus: Vec::new(),
        nvml_library: None,
        spool,
        cgroup,
        probe_now,
        symptoms: vec![],
    };
    let (watching, mut findings) = watch(watched);
    let watching = tokio::spawn(watching);

    let id = harness.start(harness.order("sleep 600 & echo $! > up; wait")).await;
    harness.line("up").await;
    assert_eq!(until_recorded(&mut findings, 0).await, [""; 0], "a job that kantd knows");
    let pid = harness.written("up").trim().parse().unwrap();
    let pid = nix::unistd::Pid::from_raw(pid);

    // kantd stops, and the step's directory is removed.
    let supervisor = harness.supervisor(id);
    harness.close();
    kill(supervisor, Signal::SIGKILL).unwrap();
    harness::until("the supervisor is dead", || !is_alive(supervisor.as_raw())).await;
    fs::remove_dir_all(harness.step_dir(id)).unwrap();
    harness.open().await;
    let recorded = until_recorded(&mut findings, 1).await;
    assert!(recorded[0].contains(&id.to_string()), "{recorded:?}");
    assert!(is_alive(pid.as_raw()), "it is not killed");

    kill(pid, Signal::SIGKILL).unwrap();
    until_recorded(&mut findings, 0).await;
    watching.abort();
    harness::until("its groups are gone", || {
        harness.groups(id).iter().all(|group| fs::remove_dir(group).is_ok())
    })
    .await;
}
