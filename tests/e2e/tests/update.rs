//! `kantctl update` on real daemons: a waiting job starts with its changes, and a running job gets
//! a new time limit.

use common::job::{Outcome, Phase};
use common::reason::WaitReason;
use common::resource::GpuRequest;
use common::unit::Gpus;
use e2e::{Cluster, ClusterOptions, Person, UNTIL_ENOUGH, wait_for};

const UNTIL_FILE_EXISTS: &str = UNTIL_ENOUGH;

#[test]
fn a_changed_waiting_job_starts_with_its_changes() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let runs = kantctl.submit(&["--gpus=1", "--mem=16M", "--time=1:00:00"], UNTIL_FILE_EXISTS)?;
    wait_for("the first job to run", || {
        Ok(Some(kantctl.job(&runs)?).filter(|job| job.phase == Phase::Running).map(drop))
    })?;
    let tells = "#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES\" > given\n";
    let waits = kantctl.submit(&["--gpus=2", "--mem=16M", "--time=1:00:00"], tells)?;
    wait_for("a round to set the other job's wait reason", || {
        let reason = kantctl.job(&waits)?.reason.map(|reason| reason.detail);
        Ok(reason.filter(|reason| matches!(reason, WaitReason::Resources { .. })).map(drop))
    })?;

    kantctl.refused(&["update", &waits, "--gpus=64"], "64 GPUs")?;
    kantctl.refused(&["update", &runs, "--time=2:00:00"], "operators raise it")?;
    if let Some(other) = Person::other() {
        cluster.kantctl(other)?.refused(&["update", &waits, "--gpus=1"], "belongs to")?;
    }
    let asked = kantctl.job(&waits)?.ask.request;
    assert_eq!(asked.gpus, Some(GpuRequest::Total(Gpus(2))), "nothing was changed");

    kantctl.ok(&["update", &waits, "--gpus=1", "--time=10"])?;
    let job = kantctl.completed(&waits)?;
    assert_eq!(job.attempt, 1, "{job:?}");
    let given = kantctl.read("given")?;
    assert_eq!(given.trim().split(',').count(), 1, "one GPU: {given}");
    assert!(!given.trim().is_empty(), "a GPU");
    let mut timeline = job.timeline.iter();
    assert!(timeline.any(|line| line.text.contains("changed by")), "{job:?}");
    kantctl.touch("enough")?;
    kantctl.completed(&runs)?;
    Ok(())
}

#[test]
fn a_running_job_gets_a_new_time_limit_also_over_a_restart_of_its_node() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let (kantctl, operator) = (cluster.kantctl(Person::plain())?, cluster.kantctl(Person::me())?);
    let id =
        kantctl.submit(&["--mem=16M", "--time=1:00:00", "--job-name=long"], UNTIL_FILE_EXISTS)?;
    kantctl.until(&id, Phase::Running)?;
    operator.ok(&["update", &id, "--time=+30"])?;
    let limit = |minutes| Some(common::time::Span::from_minutes(minutes));
    assert_eq!(kantctl.job(&id)?.ask.time_limit, limit(90));
    cluster.kill_node("n1")?;
    kantctl.ok(&["update", &id, "--job-name=short", "--comment=it is enough", "--time=-89:58"])?;
    let job = kantctl.job(&id)?;
    assert_eq!(
        (job.ask.name.as_str(), job.ask.comment.as_deref()),
        ("short", Some("it is enough"))
    );
    // The supervisor survives kantd, and gets the limit from the next one.
    cluster.start_node("n1")?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::TimedOut), "{job:?}");
    Ok(())
}
