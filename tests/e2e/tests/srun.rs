//! srun inside a job on two nodes: tasks run on both, with their ranks, files and exit codes, and
//! end with the job.

use common::job::Outcome;
use e2e::{Cluster, ClusterOptions, Kantctl, Person};

const NODES: [&str; 2] = ["n1", "n2"];

fn two_nodes() -> ClusterOptions {
    ClusterOptions::cpu_nodes(&NODES)
}

/// Submits a script that may call `srun`.
fn with_names(kantctl: &Kantctl, script: &str) -> anyhow::Result<String> {
    let shown = kantctl.slurm_names()?;
    Ok(format!("#!/bin/sh\nPATH={shown}:$PATH\n{script}"))
}

#[test]
fn tasks_run_on_all_nodes_of_the_job_and_srun_has_the_largest_exit_code() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = with_names(
        &kantctl,
        "srun -l sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME as $(id -u); \
           echo node $SLURM_NODEID, local $SLURM_LOCALID of $SLURM_STEP_NODELIST \"it'\"'\"'s\"' \
           | sort > told\n\
         srun --output task-%t-%N sh -c 'echo $WORLD_SIZE $MASTER_PORT'\n\
         srun -N1 sh -c 'echo alone $SLURM_NTASKS' > alone\n\
         srun sh -c 'exit $((SLURM_PROCID * 7))'\n\
         echo $? > code\n",
    )?;
    let id = kantctl.submit(&["-N2", "--ntasks-per-node=1"], &script)?;
    let job = kantctl.finished(&id)?;
    let out = kantctl.ok(&["logs", &id])?;
    assert_eq!(job.outcome, Some(Outcome::Completed), "{job:?} {out}");
    let uid = Person::plain().uid;
    let expected = format!(
        "0: 0 of 2 on n1 as {uid}\n0: node 0, local 0 of n[1-2] it's\n\
         1: 1 of 2 on n2 as {uid}\n1: node 1, local 0 of n[1-2] it's\n"
    );
    assert_eq!(kantctl.read("told")?, expected, "{out}");
    let first = kantctl.read("task-0-n1")?;
    assert_eq!(kantctl.read("task-1-n2")?, first, "all tasks have the same port");
    assert!(first.starts_with("2 2"), "{first}");
    assert_eq!(kantctl.read("alone")?, "alone 1\n");
    assert_eq!(kantctl.read("code")?, "7\n", "{out}");
    Ok(())
}

#[test]
fn a_cancel_ends_the_tasks_of_every_node() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = with_names(
        &kantctl,
        "srun sh -c 'echo $$ > pid-$SLURM_PROCID.new; mv pid-$SLURM_PROCID.new pid-$SLURM_PROCID; \
           exec sleep 600'\n",
    )?;
    let id = kantctl.submit(&["-N2", "--ntasks-per-node=1"], &script)?;
    let mut pids = Vec::new();
    for task in 0..2 {
        pids.push(e2e::wait_for(&format!("task {task} to run"), || {
            Ok(kantctl.read(&format!("pid-{task}")).ok())
        })?);
    }
    kantctl.ok(&["cancel", &id])?;
    assert_eq!(kantctl.finished(&id)?.outcome, Some(Outcome::Cancelled));
    for pid in pids {
        let alive = std::path::Path::new("/proc").join(pid.trim()).exists();
        assert!(!alive, "process {pid} is left");
    }
    Ok(())
}
