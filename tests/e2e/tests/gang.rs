//! A job on two nodes starts on both or on none, and every task knows its rank and peers.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Person};

fn two_nodes() -> ClusterOptions {
    ClusterOptions::gpu_nodes(&["g1", "g2"], "pcie-2")
}

#[test]
fn tasks_of_a_gang_run_on_both_nodes_with_rank_and_peers() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\n\
        echo \"$RANK $WORLD_SIZE $SLURM_PROCID $SLURMD_NODENAME $SLURM_JOB_NODELIST $MASTER_ADDR\" \
        > rank-$RANK\n";
    let flags = ["-N", "2", "--launch", "per-task", "--gpus-per-node=2", "--mem=16M"];
    let id = kantctl.submit(&flags, script)?;
    kantctl.completed(&id)?;
    for rank in 0..2 {
        let text = kantctl.read(&format!("rank-{rank}"))?;
        let node = format!("g{}", rank + 1);
        assert_eq!(text.trim(), format!("{rank} 2 {rank} {node} g[1-2] 127.0.0.1"));
    }
    Ok(())
}

#[test]
fn a_failing_task_ends_the_whole_gang_with_its_code() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\n[ $RANK = 1 ] && exit 5\nsleep 600\n";
    let flags = ["-N", "2", "--launch", "per-task", "--mem=16M", "-o", "/dev/null"];
    let id = kantctl.submit(&flags, script)?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::Failed), "{job:?}");
    assert_eq!(job.exit.map(|exit| exit.code), Some(5));
    Ok(())
}

#[test]
fn a_gang_waits_until_both_nodes_are_free_and_shows_the_reason() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let first = kantctl.submit(&["--gpus=2", "--mem=16M"], "#!/bin/sh\nsleep 600\n")?;
    kantctl.until(&first, Phase::Running)?;
    let flags = ["-N", "2", "--gpus-per-node=2", "--mem=16M"];
    let gang = kantctl.submit(&flags, "#!/bin/sh\ntrue\n")?;
    let reason = e2e::wait_for("a reason", || Ok(kantctl.job(&gang)?.reason))?;
    assert_eq!(reason.code, "Resources", "{}", reason.sentence);
    assert!(reason.sentence.contains("2 GPUs"), "{}", reason.sentence);
    kantctl.ok(&["cancel", &first])?;
    kantctl.completed(&gang)?;
    Ok(())
}
