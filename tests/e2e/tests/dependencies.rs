//! Dependencies of jobs, ids of array tasks and node features on real daemons, with sbatch.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, wait_for};
use std::process::Command;

/// Runs a shell script with the Slurm commands in PATH, as the user of this kantctl.
fn shell(cluster: &Cluster, kantctl: &Kantctl, script: &str) -> anyhow::Result<String> {
    let names = kantctl.slurm_names()?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).env_clear().current_dir(kantctl.dir());
    command.env("PATH", format!("{names}:/usr/local/bin:/usr/bin:/bin"));
    command.env("KANT_SOCKET", cluster.dir().join("kantctld.sock"));
    Person::plain().dress(&mut command);
    let output = command.output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{script}: {}: {stderr}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn a_chain_runs_in_order_and_an_unsatisfiable_dependency_is_reported_or_cancels()
-> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["g1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let sh = |script: &str| shell(&cluster, &kantctl, script);
    let first = sh("sbatch --parsable --mem=16M \
         --wrap 'while [ ! -e go ]; do sleep 0.1; done; echo 1 >> order'")?;
    let second = sh(&format!(
        "sbatch --parsable --mem=16M -d afterok:{first} --wrap 'echo 2 >> order; exit 3'"
    ))?;
    let third = sh(&format!(
        "sbatch --parsable --mem=16M --dependency=afternotok:{second} --wrap 'echo 3 >> order'"
    ))?;
    let never = sh(&format!("sbatch --parsable --mem=16M -d afterok:{second} --wrap true"))?;
    let killed = sh(&format!(
        "sbatch --parsable --mem=16M -d afterok:{second} --kill-on-invalid-dep yes --wrap true"
    ))?;
    let shown = sh(&format!("squeue -h -j {second} -o '%T %r %E'"))?;
    assert_eq!(shown, format!("PENDING Dependency afterok:{first}(unfulfilled)"));
    let explanation = kantctl.ok(&["explain", &second])?;
    assert!(explanation.contains(&format!("job {first} must succeed")), "{explanation}");
    kantctl.refused(&["submit", "-d", "afterok:9999", "--wrap", "true"], "no job 9999")?;

    // Dependencies survive a restart of the controller.
    cluster.kill_controller()?;
    cluster.start_controller()?;
    cluster.wait_for_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    kantctl.touch("go")?;
    kantctl.completed(&third)?;
    assert_eq!(kantctl.read("order")?, "1\n2\n3\n");
    let over = kantctl.finished(&killed)?;
    assert_eq!((over.outcome, over.attempt), (Some(Outcome::Cancelled), 0), "{over:?}");
    let why = over.message.unwrap_or_default();
    assert!(why.contains("--kill-on-invalid-dep"), "{why}");
    let shown = shell(&cluster, &kantctl, &format!("squeue -h -j {never} -o '%T %r'"))?;
    assert_eq!(shown, "PENDING DependencyNeverSatisfied");
    shell(&cluster, &kantctl, &format!("scontrol update JobId={never} Dependency="))?;
    kantctl.completed(&never)?;
    Ok(())
}

#[test]
fn an_array_task_has_a_job_id_that_every_command_accepts() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["g1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let sh = |script: &str| shell(&cluster, &kantctl, script);
    let array = sh("sbatch --parsable --mem=16M --array=5,7 -o o-%j --wrap 'echo $SLURM_JOB_ID \
         $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID > told-$SLURM_ARRAY_TASK_ID; while [ ! -e go ]; do sleep 0.1; done'")?;
    let next = sh(&format!(
        "sbatch --parsable --mem=16M --array=5,7 -d aftercorr:{array} \
         --wrap 'touch next-$SLURM_ARRAY_TASK_ID'"
    ))?;
    let base: u32 = array.parse()?;
    assert_eq!(next.parse::<u32>()?, base + 3, "one id for the array and one for each task");
    let line = wait_for("the second task to run", || {
        Ok(kantctl.read("told-7").ok().filter(|text| text.ends_with("7\n")))
    })?;
    assert_eq!(line, format!("{} {base} 7\n", base + 2));
    assert!(kantctl.dir().join(format!("o-{}", base + 2)).exists(), "%j is SLURM_JOB_ID");
    let shown = sh(&format!("squeue -h -j {} -o '%i %A'", base + 2))?;
    assert_eq!(shown, format!("{base}_7 {}", base + 2));
    let shown = sh(&format!("scontrol show job {} | head -1", base + 2))?;
    assert!(
        shown.starts_with(&format!("JobId={} ArrayJobId={base} ArrayTaskId=7", base + 2)),
        "{shown}"
    );
    sh(&format!("scancel {}", base + 2))?;
    let over = kantctl.finished(&format!("{base}_7"))?;
    assert_eq!(over.outcome, Some(Outcome::Cancelled), "{over:?}");
    assert_eq!(kantctl.job(&format!("{base}_5"))?.phase, Phase::Running, "only that task");
    let uid = Person::plain().uid;
    let shown = sh(&format!("sacct -n -X -P -j {} -o JobIDRaw,State", base + 2))?;
    assert_eq!(shown, format!("{}|CANCELLED by {uid}", base + 2));
    kantctl.touch("go")?;
    assert_eq!(kantctl.finished(&format!("{next}_5"))?.outcome, Some(Outcome::Completed));
    assert!(kantctl.dir().join("next-5").exists() && !kantctl.dir().join("next-7").exists());
    let reason = kantctl.job(&format!("{next}_7"))?.reason.map(|reason| reason.code);
    assert_eq!(reason.as_deref(), Some("DependencyNeverSatisfied"));
    Ok(())
}

#[test]
fn a_job_runs_on_a_node_with_its_features() -> anyhow::Result<()> {
    let nodes = vec![("c1", Machine::cpu()), ("g1", Machine::with_gpus("pcie-2"))];
    let cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let nodes = kantctl.nodes()?.nodes;
    let of = |name: &str| nodes.iter().find(|node| node.name.as_str() == name);
    let features = of("g1").map(|node| node.inventory.features.clone()).unwrap_or_default();
    let kind = features.first().map(ToString::to_string).unwrap_or_default();
    assert!(!kind.is_empty(), "the kind of its GPUs: {features:?}");
    let sh = |script: &str| shell(&cluster, &kantctl, script);
    let asks = format!(
        "sbatch --parsable --mem=16M -C '{kind}|none-such' \
         --wrap 'echo $SLURMD_NODENAME > where'"
    );
    let job = sh(&asks)?;
    kantctl.completed(&job)?;
    assert_eq!(kantctl.read("where")?, "g1\n");
    kantctl.refused(&["submit", "--constraint=none-such", "--wrap", "true"], &kind)?;
    let shown = sh("sinfo -h -n g1 -o %f")?;
    assert_eq!(shown, kind);
    Ok(())
}
