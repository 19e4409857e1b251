//! Signals to running jobs on real daemons: which processes get one, and which users may send it.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};
use std::process::{Command, Output};

fn there(kantctl: &Kantctl, name: &str) -> anyhow::Result<()> {
    wait_for(name, || Ok(kantctl.dir().join(name).exists().then_some(())))
}

fn is_there(kantctl: &Kantctl, name: &str) -> bool {
    kantctl.dir().join(name).exists()
}

/// Waits until the script has written this file and the controller, which signals only running
/// jobs, knows that the job runs.
fn is_up(kantctl: &Kantctl, id: &str, name: &str) -> anyhow::Result<()> {
    there(kantctl, name)?;
    kantctl.until(id, Phase::Running)?;
    Ok(())
}

/// A script that runs until the file `enough` exists.
fn waits(trap: &str, up: &str) -> String {
    format!("{trap}; touch {up}; while [ ! -e enough ]; do sleep 0.05; done")
}

fn scancel(cluster: &Cluster, kantctl: &Kantctl, words: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(kantctl.dir().join("names/scancel"));
    command.env_clear().env("KANT_SOCKET", cluster.dir().join("kantctld.sock"));
    Person::plain().dress(&mut command);
    Ok(command.args(words).output()?)
}

#[test]
fn a_signal_goes_to_the_tasks_or_the_script_and_does_not_end_the_job() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;

    // The shell has no handler and waits for a process that has one.
    let script =
        format!("#!/bin/sh\n(\n{}\n)\necho on >after\n", waits("trap 'touch hit' USR1", "up"));
    let id = kantctl.submit(&["--mem=16M"], &script)?;
    is_up(&kantctl, &id, "up")?;
    let output = kantctl.ok(&["cancel", "--signal", "usr1", &id])?;
    assert_eq!(output.trim(), format!("Signalled {id}"));
    there(&kantctl, "hit")?;
    assert_eq!(kantctl.job(&id)?.phase, Phase::Running);

    let pending = kantctl.submit(&["--mem=16M", "--hold"], "#!/bin/sh\n")?;
    kantctl.refused(&["cancel", "-s", "USR1", &pending], "signal job")?;
    assert_eq!(kantctl.job(&pending)?.phase, Phase::Pending);
    let refused = kantctl.run(&["cancel", "-s", "NOSUCH", &id])?;
    assert!(refused.code != 0 && refused.stderr.contains("NOSUCH"), "{refused:?}");
    if let Some(other) = Person::other() {
        cluster.kantctl(other)?.refused(&["cancel", "-s", "USR1", &id], "belongs to")?;
        cluster.kantctl(Person::me())?.ok(&["cancel", "-s", "CONT", "--full", &id])?;
    }
    // With a filter, only running jobs are signalled.
    std::fs::remove_file(kantctl.dir().join("hit"))?;
    let output = kantctl.ok(&["cancel", "-s", "USR1", "--me"])?;
    assert_eq!(output.trim(), format!("Signalled {id}"));
    there(&kantctl, "hit")?;

    cluster.kill_node("n1")?;
    kantctl.refused(&["cancel", "-s", "USR1", &id], "n1 did not answer")?;
    cluster.start_node("n1")?;
    cluster.wait_for_nodes()?;
    kantctl.touch("enough")?;
    kantctl.completed(&id)?;
    assert!(is_there(&kantctl, "after"));
    Ok(())
}

#[test]
fn steps_are_signalled_before_the_script_and_array_tasks_individually() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1", "n2"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let names = kantctl.slurm_names()?;

    // A step on the second node only: the script on the first gets no signal.
    let step = waits("trap \"touch step\" USR1", "step-up");
    let script = format!(
        "#!/bin/sh\nPATH={names}:$PATH\ntrap 'touch script' USR1\n\
         srun -w n2 -n1 sh -c '{step}' &\n{}\nwait\n",
        waits(":", "up")
    );
    let id = kantctl.submit(&["-N2", "--ntasks-per-node=1", "--mem=16M"], &script)?;
    is_up(&kantctl, &id, "up")?;
    there(&kantctl, "step-up")?;
    let done = scancel(&cluster, &kantctl, &["-s", "USR1", &id])?;
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
    there(&kantctl, "step")?;
    assert!(!is_there(&kantctl, "script"), "only steps are signalled");
    std::fs::remove_file(kantctl.dir().join("step"))?;
    assert!(scancel(&cluster, &kantctl, &["--signal=SIGUSR1", "-b", &id])?.status.success());
    there(&kantctl, "script")?;
    assert!(!is_there(&kantctl, "step"), "only the script is signalled");
    std::fs::remove_file(kantctl.dir().join("script"))?;
    assert!(scancel(&cluster, &kantctl, &["--signal=10", "--full", &id])?.status.success());
    there(&kantctl, "script")?;
    there(&kantctl, "step")?;
    kantctl.touch("enough")?;
    kantctl.completed(&id)?;
    let late = scancel(&cluster, &kantctl, &["-s", "USR1", &id])?;
    assert!(late.status.code() == Some(1), "{late:?}");

    std::fs::remove_file(kantctl.dir().join("enough"))?;
    let index = "$SLURM_ARRAY_TASK_ID";
    let trap = format!("trap 'touch task-{index}' USR2");
    let script = format!("#!/bin/sh\n{}\n", waits(&trap, &format!("up-{index}")));
    let id = kantctl.submit(&["--array=0-2", "--mem=16M"], &script)?;
    (0..3).try_for_each(|task| is_up(&kantctl, &format!("{id}_{task}"), &format!("up-{task}")))?;
    assert!(scancel(&cluster, &kantctl, &["-s", "USR2", &format!("{id}_1")])?.status.success());
    there(&kantctl, "task-1")?;
    assert!(!is_there(&kantctl, "task-0") && !is_there(&kantctl, "task-2"));
    let output = kantctl.ok(&["cancel", "-s", "USR2", &id])?;
    assert_eq!(output.trim(), format!("Signalled {id}"));
    there(&kantctl, "task-0")?;
    there(&kantctl, "task-2")?;
    assert!(scancel(&cluster, &kantctl, &["-s", "KILL", &id])?.status.success());
    assert_eq!(kantctl.finished(&format!("{id}_0"))?.outcome, Some(Outcome::Cancelled));
    Ok(())
}
