//! `kantctl checkpoint` on real daemons, called by the job: the time of the last checkpoint is
//! recorded and survives restarts.

use common::job::Phase;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};

/// A script that reports a checkpoint in its first attempt and waits for a file.
const SAVES: &str = "#!/bin/sh\n\
    if [ $KANT_JOB_ATTEMPT = 1 ]; then\n\
      KANTCTL checkpoint >said.$KANT_JOB_ID 2>&1 || exit 9\n\
      touch saved.$KANT_JOB_ID\n\
    fi\n\
    while [ ! -e enough ]; do sleep 0.05; done\n";

fn script(cluster: &Cluster) -> String {
    SAVES.replace("KANTCTL", &cluster.dir().join("kantctl").to_string_lossy())
}

/// The answer that the job got to its checkpoint.
fn said(kantctl: &Kantctl, key: &str) -> anyhow::Result<String> {
    wait_for(&format!("job {key} to save its work"), || {
        let is_over = kantctl.job(key)?.outcome.is_some();
        let is_saved = kantctl.dir().join(format!("saved.{key}")).exists();
        anyhow::ensure!(is_saved || !is_over, "it was refused: {:?}", output_of(kantctl, key));
        Ok(is_saved.then_some(()))
    })?;
    output_of(kantctl, key)
}

fn output_of(kantctl: &Kantctl, key: &str) -> anyhow::Result<String> {
    kantctl.read(&format!("said.{key}"))
}

#[test]
fn a_job_reports_its_checkpoint_which_survives_a_restart_of_the_controller() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let operator = cluster.kantctl(Person::me())?;
    let id = kantctl.submit(&["--mem=16M", "--time=10"], &script(&cluster))?;
    let answer = said(&kantctl, &id)?;
    assert!(answer.starts_with(&format!("job {id}: work up to 20")), "{answer}");
    let job = kantctl.job(&id)?;
    let saved = job.checkpoint_at;
    assert!(saved.is_some_and(|at| at >= job.submitted_at), "{job:?}");
    let shown = kantctl.ok(&["show", "job", &id])?;
    assert!(shown.contains("work saved  20"), "{shown}");
    assert!(shown.contains("checkpoint recorded by"), "{shown}");
    let explained = kantctl.ok(&["explain", &id])?;
    assert!(explained.contains("its last checkpoint was at"), "{explained}");
    if let Some(other) = Person::other() {
        cluster.kantctl(other)?.refused(&["checkpoint", &id], "belongs to")?;
    }
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.wait_for_nodes()?;
    assert_eq!(kantctl.job(&id)?.checkpoint_at, saved, "the checkpoint is durable");

    // A second checkpoint, reported from outside the job.
    operator.ok(&["checkpoint", &id])?;
    assert!(kantctl.job(&id)?.checkpoint_at > saved);
    kantctl.ok(&["requeue", &id])?;
    let again = wait_for("the next attempt", || {
        let job = kantctl.job(&id)?;
        Ok((job.attempt == 2 && job.phase == Phase::Running).then_some(job))
    })?;
    assert_eq!(again.checkpoint_at, None, "a new attempt has no checkpoint");
    kantctl.touch("enough")?;
    kantctl.completed(&id)?;
    kantctl.refused(&["checkpoint", &id], "it has ended")?;
    Ok(())
}

#[test]
fn an_array_task_reports_its_own_checkpoint() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let one = script(&cluster).replace("= 1 ]", "= 1 ] && [ $KANT_ARRAY_INDEX = 1 ]");
    let id = kantctl.submit(&["--mem=16M", "--time=10", "--array=0-1"], &one)?;
    let (first, second) = (format!("{id}_0"), format!("{id}_1"));
    let answer = said(&kantctl, &second)?;
    assert!(answer.starts_with(&format!("job {second}: work up to 20")), "{answer}");
    assert!(kantctl.job(&second)?.checkpoint_at.is_some());
    assert_eq!(kantctl.job(&first)?.checkpoint_at, None);
    kantctl.touch("enough")?;
    for key in [first, second] {
        kantctl.completed(&key)?;
    }
    Ok(())
}
