//! `kantctl run`: a program on allocated nodes with local input and output, signals and exit code,
//! and the end of the job when kantctl dies.

use anyhow::Context as _;
use common::job::{Outcome, Phase};
use common::wire::api::JobList;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

const NODES: [&str; 2] = ["n1", "n2"];

fn two_nodes() -> anyhow::Result<Cluster> {
    Cluster::start(ClusterOptions::cpu_nodes(&NODES))
}

fn spawned(kantctl: &Kantctl, words: &[&str]) -> anyhow::Result<Child> {
    let mut command: Command = kantctl.command();
    command.args(words).env("KANT_LEASE_SECONDS", "5");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command.spawn()?)
}

/// The only job.
fn the_job(kantctl: &Kantctl) -> anyhow::Result<String> {
    wait_for("a job", || {
        let list: JobList = kantctl.json(&["queue"])?;
        Ok(list.jobs.first().map(|job| job.key.to_string()))
    })
}

fn is_alive(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid.trim()).exists()
}

#[test]
fn tasks_run_on_all_nodes_and_the_job_ends_with_the_largest_exit_code() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "echo $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME step $SLURM_STEP_ID; \
                echo oops >&2; exit $((SLURM_PROCID * 7))";
    let words = ["run", "-N2", "--ntasks-per-node=1", "--label", "sh", "-c", script];
    let answer = kantctl.run(&words)?;
    assert_eq!(answer.code, 7, "{answer:?}");
    let mut lines: Vec<&str> = answer.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: 0 of 2 on n1 step 0", "1: 1 of 2 on n2 step 0"]);
    assert!(answer.stderr.contains("0: oops") && answer.stderr.contains("task 1: Exited"));
    let list: JobList = kantctl.json(&["queue", "--all"])?;
    let job = list.jobs.first().context("no job")?;
    let job = kantctl.finished(&job.key.to_string())?;
    assert_eq!((job.ask.name.as_str(), job.outcome), ("sh", Some(Outcome::Failed)));
    assert_eq!(job.exit.map(|exit| exit.code), Some(7));
    Ok(())
}

#[test]
fn large_input_goes_to_all_tasks() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let words = ["run", "-N2", "--ntasks-per-node=1", "-l", "sh", "-c", "wc -c; exit 0"];
    let mut child = spawned(&kantctl, &words)?;
    let mut input = child.stdin.take().context("no input")?;
    let sent = vec![b'x'; 3 << 20];
    input.write_all(&sent)?;
    drop(input);
    let output = child.wait_with_output()?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: 3145728", "1: 3145728"], "{output:?}");
    Ok(())
}

#[test]
fn a_job_and_its_programs_end_soon_after_kantctl_is_killed() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let stubborn = "trap '' TERM HUP; echo $$ > pid-$SLURM_PROCID; while :; do sleep 1; done";
    let mut child =
        spawned(&kantctl, &["run", "-N2", "--ntasks-per-node=1", "sh", "-c", stubborn])?;
    let pids = [kantctl.line("pid-0")?, kantctl.line("pid-1")?];
    let id = the_job(&kantctl)?;
    child.kill()?;
    child.wait()?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::Cancelled));
    let why = job.message.unwrap_or_default();
    assert!(why.contains("not heard of for 00:05"), "{why}");
    assert!(pids.iter().all(|pid| !is_alive(pid)), "{pids:?}");
    Ok(())
}

#[test]
fn a_waiting_job_whose_kantctl_was_killed_does_not_start() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let blocker = kantctl.submit(&["-N2", "--exclusive"], "#!/bin/sh\nsleep 600\n")?;
    kantctl.until(&blocker, Phase::Running)?;
    let mut child = spawned(&kantctl, &["run", "hostname"])?;
    let waiting = wait_for("a job that waits", || {
        let list: JobList = kantctl.json(&["queue"])?;
        let waits = list.jobs.into_iter().find(|job| job.phase == Phase::Pending);
        Ok(waits.map(|job| job.key.to_string()))
    })?;
    child.kill()?;
    child.wait()?;
    assert_eq!(kantctl.finished(&waiting)?.attempt, 0);
    Ok(())
}

#[test]
fn a_run_survives_a_crash_of_the_controller() -> anyhow::Result<()> {
    let mut cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "echo up > up; while [ ! -e go ]; do sleep 0.1; done; cat; exit 3";
    let mut child = spawned(&kantctl, &["run", "sh", "-c", script])?;
    kantctl.line("up")?;
    cluster.kill_controller()?;
    let mut input = child.stdin.take().context("no input")?;
    input.write_all(b"typed without a leader\n")?;
    drop(input);
    cluster.start_controller()?;
    kantctl.touch("go")?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "typed without a leader\n");
    Ok(())
}

#[test]
fn signals_reach_the_tasks_and_the_exit_code_is_reported() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "trap 'echo got it > got; exit 9' USR1; echo up > up; \
                  while :; do sleep 0.1; done";
    let child = spawned(&kantctl, &["run", "sh", "-c", script])?;
    kantctl.line("up")?;
    let id = the_job(&kantctl)?;
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id())?);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGUSR1)?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    assert_eq!(kantctl.line("got")?, "got it");
    assert_eq!(kantctl.finished(&id)?.outcome, Some(Outcome::Failed));
    Ok(())
}
