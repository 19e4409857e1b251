//! kill -9 and restart of kantd while jobs run: no job is disturbed, and an end during the absence
//! comes back with the right code.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Machine, Person};

/// Ends with the code it finds in a file, once that file is there.
const SCRIPT: &str = "#!/bin/sh\necho begin $$ >> log-$SLURM_JOB_ID\n\
    while [ ! -e code-$SLURM_JOB_ID ]; do sleep 0.05; done\n\
    echo end $$ >> log-$SLURM_JOB_ID\nexit $(cat code-$SLURM_JOB_ID)\n";

#[test]
fn jobs_outlive_their_node_daemon_and_their_ends_are_told_afterwards() -> anyhow::Result<()> {
    let nodes = vec![("n1", Machine::cpu())];
    let mut cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let flags = ["-o", "/dev/null", "--mem=16M"];
    let during = kantctl.submit(&flags, SCRIPT)?;
    let after = kantctl.submit(&flags, SCRIPT)?;
    for id in [&during, &after] {
        let log = kantctl.dir().join(format!("log-{id}"));
        e2e::wait_for("both jobs to run", || Ok(log.exists().then_some(())))?;
    }

    cluster.kill_node("n1")?;
    let end = |id: &str, code: &str| -> anyhow::Result<()> {
        // Complete in one step, for the job may look at any moment.
        let path = kantctl.dir().join(format!("code-{id}"));
        std::fs::write(path.with_extension("new"), code)?;
        Ok(std::fs::rename(path.with_extension("new"), path)?)
    };
    end(&during, "9")?;
    let log = kantctl.dir().join(format!("log-{during}"));
    e2e::wait_for("the job to end without its daemon", || {
        Ok(std::fs::read_to_string(&log)?.contains("end").then_some(()))
    })?;
    assert_eq!(kantctl.job(&during)?.phase, Phase::Running, "nobody could tell the controller");

    cluster.start_node("n1")?;
    let job = kantctl.finished(&during)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::Failed), 1));
    assert_eq!(job.exit.map(|exit| exit.code), Some(9));
    assert_eq!(kantctl.job(&after)?.phase, Phase::Running);
    end(&after, "0")?;
    let job = kantctl.finished(&after)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::Completed), 1));
    for id in [&during, &after] {
        let text = std::fs::read_to_string(kantctl.dir().join(format!("log-{id}")))?;
        assert_eq!(text.matches("begin").count(), 1, "job {id} began once: {text}");
    }
    Ok(())
}

#[test]
fn kill_storms_on_the_node_daemon_disturb_nothing() -> anyhow::Result<()> {
    let nodes = vec![("n1", Machine::cpu())];
    let mut cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
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
        assert_eq!(job.exit.map(|exit| exit.code), Some(code), "job {id}: {:?}", job.story);
        let text = std::fs::read_to_string(kantctl.dir().join(format!("ran-{id}")))?;
        assert_eq!(text, "ran\n", "job {id} ran exactly once");
    }
    Ok(())
}
