//! `kantctl suspend` and `resume` on real daemons: a suspended job does not run and keeps its
//! allocation, also over restarts of the daemons.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};

const DOTS: &str = "#!/bin/sh\nwhile [ ! -e enough ]; do printf . >>dots; sleep 0.02; done\n";

fn dots(kantctl: &Kantctl) -> anyhow::Result<u64> {
    Ok(std::fs::metadata(kantctl.dir().join("dots"))?.len())
}

/// Waits until the job does not run: the node acts some moments after the request is granted.
fn stands_still(kantctl: &Kantctl) -> anyhow::Result<()> {
    let mut before = u64::MAX;
    wait_for("the job to be suspended", || {
        let now = dots(kantctl)?;
        let is_still = now == before;
        before = now;
        // A running job writes several dots between two polls.
        std::thread::sleep(std::time::Duration::from_millis(300));
        Ok((is_still && dots(kantctl)? == now).then_some(()))
    })
}

fn goes_on(kantctl: &Kantctl) -> anyhow::Result<()> {
    let before = dots(kantctl)?;
    wait_for("more dots", || Ok((dots(kantctl)? > before).then_some(())))
}

#[test]
fn a_suspended_job_keeps_its_gpu_over_crashes_of_both_daemons_and_then_continues()
-> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::gpu_nodes(&["g1"], "pcie-2"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let operator = cluster.kantctl(Person::me())?;
    let id = kantctl.submit(&["--gpus=2", "--mem=16M", "--time=1:00:00"], DOTS)?;
    wait_for("dots", || Ok(kantctl.dir().join("dots").exists().then_some(())))?;
    if Person::other().is_some() {
        kantctl.refused(&["suspend", &id], "operator")?;
    }
    operator.ok(&["suspend", &id])?;
    assert_eq!(kantctl.job(&id)?.state, "SUSPENDED");
    stands_still(&kantctl)?;
    cluster.kill_node("g1")?;
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.start_node("g1")?;
    cluster.wait_for_nodes()?;
    let other = kantctl.submit(&["--gpus=1", "--mem=16M", "--time=1"], "#!/bin/sh\n")?;
    stands_still(&kantctl)?;
    assert_eq!(kantctl.job(&other)?.phase, Phase::Pending, "the GPUs stay allocated");
    let explanation = kantctl.ok(&["explain", &id])?;
    assert!(explanation.contains(&format!("kantctl resume {id}")), "{explanation}");

    operator.ok(&["resume", &id])?;
    goes_on(&kantctl)?;
    let job = kantctl.job(&id)?;
    assert!(job.phase == Phase::Running && !job.suspended.is_zero(), "{job:?}");
    kantctl.touch("enough")?;
    kantctl.completed(&id)?;
    kantctl.completed(&other)?;

    std::fs::remove_file(kantctl.dir().join("enough"))?;
    let id = kantctl.submit(&["--mem=16M"], DOTS)?;
    kantctl.until(&id, Phase::Running)?;
    operator.ok(&["suspend", &id])?;
    stands_still(&kantctl)?;
    kantctl.ok(&["cancel", &id])?;
    assert_eq!(kantctl.finished(&id)?.outcome, Some(Outcome::Cancelled));
    Ok(())
}
