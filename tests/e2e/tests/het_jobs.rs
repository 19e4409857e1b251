//! Heterogeneous jobs on two real nodes: a script in the first component starts programs in the
//! others, and all components start, end and are requeued together.

use common::config::ControllerConfig;
use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, gone, wait_for};

fn two_nodes() -> ClusterOptions {
    ClusterOptions::cpu_nodes(&["n1", "n2"])
}

/// Submits a script with a component on each node. The script may call `srun`.
fn script(kantctl: &Kantctl, script: &str) -> anyhow::Result<String> {
    let shown = kantctl.slurm_names()?;
    Ok(format!(
        "#!/bin/sh\n#SBATCH -N1 -w n1 -o out\n#SBATCH hetjob\n#SBATCH -N1 -n2 -w n2\n\
         PATH={shown}:$PATH\n{script}"
    ))
}

fn second(first: &str) -> anyhow::Result<String> {
    Ok((first.parse::<u32>()? + 1).to_string())
}

#[test]
fn a_script_starts_programs_in_each_component_and_its_end_ends_all() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = script(
        &kantctl,
        "echo $SLURM_HET_SIZE $SLURM_JOB_ID_HET_GROUP_1 $SLURM_JOB_NODELIST_HET_GROUP_1 \
           $SLURM_NTASKS_HET_GROUP_1 on $SLURMD_NODENAME >told\n\
         srun --het-group=1 sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME in \
           $SLURM_JOB_ID' | sort >second\n\
         srun sh -c 'echo first on $SLURMD_NODENAME' >first\n\
         srun -n1 sh -c 'exit 3' : -n1 sh -c 'echo beside on $SLURMD_NODENAME >beside; exit 5'\n\
         echo $? >code\n\
         srun --het-group=2 true 2>none\n\
         srun --het-group=1 sh -c 'echo $$ >pid; exec sleep 600' &\n\
         while [ ! -s pid ]; do sleep 0.05; done\n\
         exit 7\n",
    )?;
    let id = kantctl.submit(&[], &script)?;
    let other = second(&id)?;
    let jobs = [kantctl.finished(&id)?, kantctl.finished(&other)?];
    let out = kantctl.read("out").unwrap_or_default();
    for job in &jobs {
        assert_eq!(job.outcome, Some(Outcome::Failed), "{out} {job:?}");
        assert_eq!(job.exit.map(|exit| exit.code), Some(7), "{job:?}");
    }
    assert_eq!(kantctl.line("told")?, format!("2 {other} n2 2 on n1"), "{out}");
    let both = format!("0 of 2 on n2 in {other}\n1 of 2 on n2 in {other}");
    assert_eq!(kantctl.line("second")?, both, "{out}");
    assert_eq!(kantctl.line("first")?, "first on n1");
    assert_eq!(kantctl.line("beside")?, "beside on n2");
    assert_eq!(kantctl.line("code")?, "5", "the larger of both codes");
    assert!(kantctl.line("none")?.contains("has 2 components"));
    gone(&kantctl.line("pid")?)?;
    let shown = kantctl.ok(&["queue", "--all"])?;
    assert!(shown.contains(&format!("{id}+0")) && shown.contains(&format!("{id}+1")), "{shown}");
    Ok(())
}

#[test]
fn a_heterogeneous_job_is_cancelled_only_as_a_whole() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let text =
        script(&kantctl, "srun --het-group=1 sh -c 'echo $$ >pid; exec sleep 600' &\nwait\n")?;
    let id = kantctl.submit(&[], &text)?;
    let pid = kantctl.line("pid")?;
    let part = format!("{id}+1");
    let refused = kantctl.run(&["cancel", &part])?;
    assert!(refused.code != 0 && refused.stderr.contains(&format!("name {id}")), "{refused:?}");
    kantctl.ok(&["cancel", &id])?;
    assert_eq!(kantctl.finished(&id)?.outcome, Some(Outcome::Cancelled));
    assert_eq!(kantctl.finished(&second(&id)?)?.outcome, Some(Outcome::Cancelled));
    gone(&pid)
}

#[test]
fn a_lost_node_requeues_the_whole_heterogeneous_job() -> anyhow::Result<()> {
    let soon = |config: &mut ControllerConfig| config.node_lost_after_seconds = 2;
    let mut cluster = Cluster::start(ClusterOptions { controller: Some(soon), ..two_nodes() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let text = script(
        &kantctl,
        "echo $$ >pid-$SLURM_RESTART_COUNT\nwhile [ ! -e go ]; do sleep 0.05; done\n",
    )?;
    let id = kantctl.submit(&[], &text)?;
    let other = second(&id)?;
    let pid = kantctl.line("pid-")?;
    cluster.kill_node("n2")?;
    wait_for("both to wait again", || {
        let both = [kantctl.job(&id)?.phase, kantctl.job(&other)?.phase];
        Ok((both == [Phase::Pending, Phase::Pending]).then_some(()))
    })?;
    gone(&pid)?;
    cluster.start_node("n2")?;
    kantctl.line("pid-1")?;
    kantctl.touch("go")?;
    for id in [&id, &other] {
        let job = kantctl.finished(id)?;
        assert_eq!((job.outcome, job.attempt), (Some(Outcome::Completed), 2), "{job:?}");
    }
    Ok(())
}
