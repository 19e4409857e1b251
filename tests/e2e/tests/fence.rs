//! Nodes without a leader end the jobs that may be started elsewhere, and no others; what nodes
//! measured is what users are charged.

use common::config::{AutoSeconds, ControllerConfig};
use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Controllers, Person, wait_for};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// Ends its program with success when a file exists, and notes a SIGTERM.
const SCRIPT: &str = "#!/bin/sh\ntrap 'echo term >> log-$SLURM_JOB_ID; exit 1' TERM\n\
    echo begin >> log-$SLURM_JOB_ID\n\
    while [ ! -e go-$SLURM_JOB_ID ]; do echo beat >> log-$SLURM_JOB_ID; sleep 0.1; done\n";

const FENCE_AFTER: Duration = Duration::from_secs(4);
const KILL_GRACE: Duration = Duration::from_secs(2);

fn fenced(config: &mut ControllerConfig) {
    config.node_lost_after_seconds = 30;
    config.fence_after_seconds = AutoSeconds(Some(FENCE_AFTER.as_secs()));
    config.kill_grace_seconds = KILL_GRACE.as_secs();
}

#[test]
fn jobs_that_may_be_requeued_end_on_a_node_that_no_controller_leads() -> anyhow::Result<()> {
    let mut controllers = Controllers::three_with(fenced)?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let kantctl = controllers.kantctl("a")?;
    let flags = ["-o", "/dev/null", "--mem=16M"];
    let moves = kantctl.submit(&flags, SCRIPT)?;
    let stays = kantctl.submit(&["-o", "/dev/null", "--mem=16M", "--no-requeue"], SCRIPT)?;
    let log = |id: &str| kantctl.read(&format!("log-{id}"));
    for id in [&moves, &stays] {
        kantctl.until(id, Phase::Running)?;
    }
    // While there is a leader, nothing ends: this is what the fence waits for.
    std::thread::sleep(FENCE_AFTER);
    assert!(!log(&moves)?.contains("term"), "there is a leader");

    for name in ["a", "b", "c"] {
        controllers.signal(name, Signal::SIGSTOP)?;
    }
    let stopped = Instant::now();
    wait_for("the job to be asked to end", || Ok(log(&moves)?.contains("term").then_some(())))?;
    let took = stopped.elapsed();
    assert!(took < FENCE_AFTER + Duration::from_secs(2), "{took:?}");
    let beats = log(&stays)?.matches("beat").count();
    wait_for("the other job to go on", || {
        Ok((log(&stays)?.matches("beat").count() > beats + 5).then_some(()))
    })?;
    for name in ["a", "b", "c"] {
        controllers.signal(name, Signal::SIGCONT)?;
    }
    wait_for("the next attempt", || Ok((kantctl.job(&moves)?.attempt == 2).then_some(())))?;
    for id in [&moves, &stays] {
        kantctl.touch(&format!("go-{id}"))?;
    }
    let (moves, stays) = (kantctl.completed(&moves)?, kantctl.completed(&stays)?);
    assert_eq!((moves.attempt, stays.attempt), (2, 1), "{:?}", moves.timeline);
    let story = format!("{:?}", moves.timeline);
    assert!(story.contains("no contact with a leading controller"), "{story}");
    Ok(())
}

#[test]
fn a_node_whose_daemon_is_gone_is_fenced_too() -> anyhow::Result<()> {
    let options = ClusterOptions { controller: Some(fenced), ..ClusterOptions::cpu_nodes(&["n1"]) };
    let mut cluster = Cluster::start(options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["-o", "/dev/null", "--mem=16M"], SCRIPT)?;
    kantctl.until(&id, Phase::Running)?;
    cluster.kill_node("n1")?;
    wait_for("the job to be asked to end", || {
        Ok(kantctl.read(&format!("log-{id}"))?.contains("term").then_some(()))
    })?;
    cluster.start_node("n1")?;
    wait_for("the next attempt", || Ok((kantctl.job(&id)?.attempt == 2).then_some(())))?;
    kantctl.touch(&format!("go-{id}"))?;
    kantctl.completed(&id)?;
    Ok(())
}

#[test]
fn an_outage_of_the_controller_is_not_charged() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["-o", "/dev/null", "--mem=16M"], SCRIPT)?;
    kantctl.until(&id, Phase::Running)?;
    let ran = Instant::now();
    cluster.controller()?.signal(Signal::SIGSTOP)?;
    kantctl.touch(&format!("go-{id}"))?;
    let ran = ran.elapsed();
    // The length of the outage is what is tested.
    std::thread::sleep(Duration::from_secs(8));
    cluster.controller()?.signal(Signal::SIGCONT)?;
    let job = kantctl.completed(&id)?;
    assert_eq!(job.outcome, Some(Outcome::Completed));
    let (began, ended) = (job.started_at.unwrap(), job.ended_at.unwrap());
    let charged = Duration::from_millis(ended.since(began).0);
    assert!(charged < ran + Duration::from_secs(4), "{charged:?} after {ran:?}");
    Ok(())
}
