//! SIGKILL and restart of kantd while jobs run: no job is disturbed, and a job that ends meanwhile
//! is reported with the right exit code.

use common::config::ControllerConfig;
use common::job::{Outcome, Phase};
use common::node::Contact;
use common::wire::api::NodeView;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person};
use std::time::Duration;

/// A script that exits with the code in a file, once the file exists.
const SCRIPT: &str = "#!/bin/sh\necho begin $$ >> log-$SLURM_JOB_ID\n\
    while [ ! -e code-$SLURM_JOB_ID ]; do sleep 0.05; done\n\
    echo end $$ >> log-$SLURM_JOB_ID\nexit $(cat code-$SLURM_JOB_ID)\n";

/// Ends the job `id` that runs [`SCRIPT`] with an exit `code`.
fn end(kantctl: &Kantctl, id: &str, code: &str) -> anyhow::Result<()> {
    // Renamed into place, since the job may read it at any moment.
    let path = kantctl.dir().join(format!("code-{id}"));
    std::fs::write(path.with_extension("new"), code)?;
    Ok(std::fs::rename(path.with_extension("new"), path)?)
}

#[test]
fn jobs_survive_their_node_daemon_and_their_ends_are_reported_afterwards() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let flags = ["-o", "/dev/null", "--mem=16M"];
    let during = kantctl.submit(&flags, SCRIPT)?;
    let after = kantctl.submit(&flags, SCRIPT)?;
    for id in [&during, &after] {
        kantctl.until(id, Phase::Running)?;
    }

    cluster.kill_node("n1")?;
    end(&kantctl, &during, "9")?;
    let log = kantctl.dir().join(format!("log-{during}"));
    e2e::wait_for("the job to end without its daemon", || {
        Ok(std::fs::read_to_string(&log)?.contains("end").then_some(()))
    })?;
    assert_eq!(
        kantctl.job(&during)?.phase,
        Phase::Running,
        "the controller cannot know of the end yet"
    );

    cluster.start_node("n1")?;
    let job = kantctl.finished(&during)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::Failed), 1));
    assert_eq!(job.exit.map(|exit| exit.code), Some(9));
    assert_eq!(kantctl.job(&after)?.phase, Phase::Running);
    end(&kantctl, &after, "0")?;
    let job = kantctl.completed(&after)?;
    assert_eq!(job.attempt, 1);
    for id in [&during, &after] {
        let text = kantctl.read(&format!("log-{id}"))?;
        assert_eq!(text.matches("begin").count(), 1, "job {id} began once: {text}");
    }
    Ok(())
}

#[test]
fn repeated_kills_of_the_node_daemon_disturb_no_job() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\necho ran >> ran-$SLURM_JOB_ID\nsleep 0.$((SLURM_JOB_ID % 5))\n\
        exit $((SLURM_JOB_ID % 7))\n";
    let mut ids = Vec::new();
    for _ in 0..8 {
        for _ in 0..5 {
            ids.push(kantctl.submit(&["-o", "/dev/null", "--mem=16M"], script)?);
        }
        cluster.kill_node("n1")?;
        cluster.start_node("n1")?;
    }
    for id in &ids {
        let job = kantctl.finished(id)?;
        let code = u8::try_from(id.parse::<u32>()? % 7)?;
        assert_eq!(job.exit.map(|exit| exit.code), Some(code), "job {id}: {:?}", job.timeline);
        let text = kantctl.read(&format!("ran-{id}"))?;
        assert_eq!(text, "ran\n", "job {id} ran exactly once");
    }
    Ok(())
}

/// A node's silence during an outage of the controller does not count.
#[test]
fn a_node_that_was_silent_when_the_controller_died_gets_the_full_timeout_again()
-> anyhow::Result<()> {
    const LOST_AFTER: Duration = Duration::from_secs(6);
    let soon = |config: &mut ControllerConfig| config.node_lost_after_seconds = 6;
    let options = ClusterOptions { controller: Some(soon), ..ClusterOptions::cpu_nodes(&["n1"]) };
    let mut cluster = Cluster::start(options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["-o", "/dev/null", "--mem=16M"], SCRIPT)?;
    let log = kantctl.dir().join(format!("log-{id}"));
    e2e::wait_for("the job to run", || Ok(log.exists().then_some(())))?;
    cluster.kill_node("n1")?;
    e2e::wait_for("the node to be silent", || {
        let silent = |n: &NodeView| matches!(n.contact, Contact::Silent { .. });
        Ok(kantctl.nodes()?.nodes.iter().any(silent).then_some(()))
    })?;
    cluster.kill_controller()?;
    // The silence itself is tested: longer than the timeout of a node.
    std::thread::sleep(LOST_AFTER + Duration::from_secs(1));
    cluster.start_controller()?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    end(&kantctl, &id, "0")?;
    let job = kantctl.finished(&id)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::Completed), 1), "{:?}", job.timeline);
    Ok(())
}

#[test]
fn a_node_that_stays_silent_is_lost_and_its_job_restarts_elsewhere() -> anyhow::Result<()> {
    let nodes = vec![("n1", Machine::cpu()), ("n2", Machine::cpu())];
    let soon = |config: &mut ControllerConfig| config.node_lost_after_seconds = 1;
    let options = ClusterOptions { nodes, controller: Some(soon), ..ClusterOptions::default() };
    let mut cluster = Cluster::start(options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["-o", "/dev/null", "--mem=16M", "-w", "n1,n2"], SCRIPT)?;
    let log = kantctl.dir().join(format!("log-{id}"));
    e2e::wait_for("the job to run", || Ok(log.exists().then_some(())))?;
    let first = kantctl.job(&id)?.allocation;
    let first = first.map(|a| a.shares()[0].node.to_string()).unwrap_or_default();
    cluster.kill_node(&first)?;
    e2e::wait_for("the second attempt elsewhere", || {
        let job = kantctl.job(&id)?;
        let elsewhere = job.allocation.is_some_and(|a| a.shares()[0].node.as_str() != first);
        Ok((job.attempt == 2 && job.phase == Phase::Running && elsewhere).then_some(()))
    })?;
    // The lost node reconnects and must end its old job.
    cluster.start_node(&first)?;
    cluster.wait_for_nodes()?;
    end(&kantctl, &id, "3")?;
    let job = kantctl.finished(&id)?;
    assert_eq!((job.exit.map(|exit| exit.code), job.attempt), (Some(3), 2));
    Ok(())
}
