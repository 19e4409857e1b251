//! Accounting keeps ended runs over a crash of the controller, and after the loss of its file.

use anyhow::Context as _;
use common::job::Phase;
use common::wire::api::HistoryRun;
use e2e::{Answer, Cluster, ClusterOptions, Controllers, Kantctl, Person, wait_for};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Runs {
    runs: Vec<HistoryRun>,
}

/// `(job, run, state)` of every run, latest end first.
fn history(kantctl: &Kantctl) -> anyhow::Result<Vec<(String, u32, String)>> {
    let runs: Runs = kantctl.json(&["history", "--runs"])?;
    let short = |run: &HistoryRun| (run.job.key.to_string(), run.run, run.job.state.clone());
    Ok(runs.runs.iter().map(short).collect())
}

fn cluster() -> anyhow::Result<Cluster> {
    Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))
}

#[test]
fn ended_runs_survive_a_crash_each_once() -> anyhow::Result<()> {
    let mut cluster = cluster()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let short = kantctl.submit(&["--gpus=2", "--time=10"], "#!/bin/sh\nexit 3\n")?;
    kantctl.finished(&short)?;
    let long = kantctl.submit(&["--mem=16M"], "#!/bin/sh\nexec sleep 1000\n")?;
    let runs = |attempt: u32| {
        wait_for("it to run", || {
            let job = kantctl.job(&long)?;
            Ok((job.phase == Phase::Running && job.attempt == attempt).then_some(()))
        })
    };
    runs(1)?;
    kantctl.ok(&["requeue", &long])?;
    runs(2)?;
    kantctl.ok(&["cancel", &long])?;
    kantctl.finished(&long)?;
    let word = |id: &str, run, state: &str| (id.to_owned(), run, state.to_owned());
    let expected =
        [word(&long, 2, "CANCELLED"), word(&long, 1, "REQUEUED"), word(&short, 1, "FAILED")];
    assert_eq!(history(&kantctl)?, expected);
    cluster.kill_controller()?;
    cluster.start_controller()?;
    assert_eq!(history(&kantctl)?, expected);
    let listed = kantctl.ok(&["history", "--csv", "-o", "id,state,gpus,exit"])?;
    let expected = format!("id,state,gpus,exit\n{long},CANCELLED,0,0:15\n{short},FAILED,2,3:0\n");
    assert_eq!(listed, expected);
    let Answer { stdout, .. } = kantctl.run(&["report", "--by", "user", "--csv"])?;
    assert!(stdout.starts_with("user,runs,gpu_hours,cpu_hours\n"), "{stdout}");
    assert!(stdout.lines().nth(1).is_some_and(|line| line.contains(",3,0.")), "{stdout}");
    // Only the first job had a time limit.
    let estimates = kantctl.ok(&["report", "estimates", "--by", "state", "--csv"])?;
    let row = estimates.lines().nth(1).unwrap_or_default();
    assert!(row.starts_with("FAILED,1,0,0.166,0.0"), "{estimates}");
    Ok(())
}

#[test]
fn a_lost_file_is_filled_again_from_the_state() -> anyhow::Result<()> {
    let mut cluster = cluster()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&[], "#!/bin/sh\n")?;
    kantctl.finished(&id)?;
    let expected = [(id, 1, "COMPLETED".to_owned())];
    assert_eq!(history(&kantctl)?, expected);
    cluster.kill_controller()?;
    for beside in ["", "-wal", "-shm"] {
        let file = cluster.dir().join(format!("state/accounting.sqlite{beside}"));
        assert!(file.exists() || !beside.is_empty(), "{}", file.display());
        let _ = std::fs::remove_file(file);
    }
    cluster.start_controller()?;
    assert_eq!(history(&kantctl)?, expected);
    Ok(())
}

#[test]
fn a_controller_that_lost_its_file_copies_that_of_another() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    controllers.start_node("n1")?;
    let (leader, _) = controllers.leader()?;
    let other = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let kantctl = controllers.kantctl(&leader)?;
    let id = kantctl.submit(&[], "#!/bin/sh\n")?;
    kantctl.finished(&id)?;
    let expected = [(id, 1, "COMPLETED".to_owned())];
    wait_for("the run to be written", || Ok((history(&kantctl)? == expected).then_some(())))?;
    controllers.kill(other)?;
    for beside in ["", "-wal", "-shm"] {
        let dir = Path::new(&controllers.config(other)?.state_dir);
        let file = dir.join(format!("accounting.sqlite{beside}"));
        assert!(file.exists() || !beside.is_empty(), "{}", file.display());
        let _ = std::fs::remove_file(file);
    }
    controllers.start(other)?;
    wait_for("the runs of the other controller", || {
        Ok(controllers
            .log(other)
            .contains("took in 1 runs that another controller kept")
            .then_some(()))
    })?;
    let to = controllers.number(&leader, other)?.to_string();
    wait_for("it to lead", || {
        kantctl.run(&["admin", "controller", "transfer", &to])?;
        Ok((controllers.leader()?.0 == other).then_some(()))
    })?;
    assert_eq!(history(&controllers.kantctl(other)?)?, expected);
    Ok(())
}
