//! Jobs with a range of nodes, on real daemons: the environment inside describes the actual
//! allocation.

use e2e::{Cluster, ClusterOptions, Person};

fn two_nodes() -> ClusterOptions {
    ClusterOptions::gpu_nodes(&["g1", "g2"], "pcie-2")
}

#[test]
fn a_job_for_one_to_four_nodes_starts_on_two_and_sees_two() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\n\
        echo \"$SLURM_JOB_NUM_NODES $SLURM_NTASKS $WORLD_SIZE $SLURM_TASKS_PER_NODE \
        $SLURM_JOB_NODELIST $SLURM_GPUS_ON_NODE\" > rank-$RANK\n";
    let flags = ["-N", "1-4", "--launch", "per-task", "--gpus-per-node=2", "--mem=16M"];
    let tried = kantctl.ok(&[&["submit", "--test-only", "--wrap", "true"], &flags[..]].concat())?;
    assert!(!tried.is_empty());
    let id = kantctl.submit(&flags, script)?;
    kantctl.completed(&id)?;
    for rank in 0..2 {
        let text = kantctl.read(&format!("rank-{rank}"))?;
        assert_eq!(text.trim(), "2 2 2 1(x2) g[1-2] 2");
    }
    assert!(!kantctl.dir().join("rank-2").exists());
    let refused = kantctl.run(&["submit", "--wrap", "true", "-N", "1-4", "-n", "8"])?;
    assert!(refused.code == 2 && refused.stderr.contains("single number of nodes"), "{refused:?}");
    kantctl.refused(&["submit", "--wrap", "true", "-N", "3-4", "--mem=16M"], "3 nodes")?;
    Ok(())
}
