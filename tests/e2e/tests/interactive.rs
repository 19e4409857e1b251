//! Interactive use at a terminal: a shell on a node, and an allocation for a local shell.

use anyhow::Context as _;
use common::job::{Outcome, Phase};
use common::wire::api::JobList;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, PseudoTerminal, wait_for};
use std::process::{Command, Stdio};

const NODES: [&str; 2] = ["n1", "n2"];

fn two_nodes() -> anyhow::Result<Cluster> {
    Cluster::start(ClusterOptions::cpu_nodes(&NODES))
}

fn at_a_terminal(kantctl: &Kantctl, words: &[&str]) -> anyhow::Result<PseudoTerminal> {
    let mut command: Command = kantctl.command();
    command.args(words).env("TERM", "dumb").env("PS1", "prompt> ");
    PseudoTerminal::start(command)
}

fn last_job(kantctl: &Kantctl) -> anyhow::Result<String> {
    wait_for("a job", || {
        let list: JobList = kantctl.json(&["queue", "--all"])?;
        let last = list.jobs.into_iter().max_by_key(|job| job.key);
        Ok(last.map(|job| job.key.to_string()))
    })
}

#[test]
fn a_shell_on_a_node_has_a_terminal_of_the_same_size_and_job_control() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let shell = ["run", "-w", "n2", "--pty", "sh", "-i"];
    let mut terminal = at_a_terminal(&kantctl, &shell)?;
    let before = terminal.settings()?;
    terminal.press("tty; stty size; echo on $SLURMD_NODENAME\n")?;
    terminal.see("on n2\r\n", 1)?;
    terminal.see("24 80\r\n", 1)?;
    terminal.resize(40, 132)?;
    terminal.press("while [ \"$(stty size)\" != '40 132' ]; do :; done; echo resi''zed\n")?;
    terminal.see("resized\r\n", 1)?;
    // Ctrl-C ends the program on the node, and not kantctl.
    terminal.press("echo begun; sleep 600; echo not''reached\n")?;
    terminal.see("begun\r\n", 1)?;
    terminal.press("\u{3}")?;
    terminal.press("echo code $?\n")?;
    terminal.see("code 130\r\n", 1)?;
    // Ctrl-Z stops the program.
    terminal.press("sh -c 'echo sta\"\"nds; exec sleep 600'\n")?;
    terminal.see("stands\r\n", 1)?;
    terminal.press("\u{1a}")?;
    terminal.press("jobs >jobs; echo after\"\"wards\n")?;
    terminal.see("afterwards\r\n", 1)?;
    let jobs = kantctl.read("jobs")?;
    assert!(jobs.contains("Stopped") && jobs.contains("sleep 600"), "{jobs}");
    // The shell warns once about stopped jobs, which end with the step.
    terminal.press("exit 5\n")?;
    terminal.see("stopped jobs", 1)?;
    terminal.press("exit 5\n")?;
    assert_eq!(terminal.end()?.code(), Some(5));
    assert_eq!(terminal.settings()?, before, "the terminal's settings are restored");
    let job = kantctl.finished(&last_job(&kantctl)?)?;
    assert_eq!((job.outcome, job.exit.map(|e| e.code)), (Some(Outcome::Failed), Some(5)));
    Ok(())
}

#[test]
fn the_terminal_is_restored_when_the_job_is_cancelled() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let mut terminal = at_a_terminal(&kantctl, &["run", "--pty", "sh", "-i"])?;
    let before = terminal.settings()?;
    terminal.press("echo u''p\n")?;
    terminal.see("up\r\n", 1)?;
    let id = last_job(&kantctl)?;
    kantctl.ok(&["cancel", &id])?;
    assert_ne!(terminal.end()?.code(), Some(0));
    assert_eq!(terminal.settings()?, before);
    Ok(())
}

#[test]
fn a_local_shell_holds_an_allocation_that_ends_with_it() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let names = kantctl.dir().join("names");
    kantctl.ok(&["install-slurm-names", &names.to_string_lossy()])?;
    let script = "echo held $SLURM_JOB_NODELIST $SLURM_NTASKS; \
                  srun -l sh -c 'echo $SLURM_PROCID on $SLURMD_NODENAME'; exit 4";
    let mut command = Command::new(names.join("salloc"));
    command.env_clear().env("PATH", format!("{}:/usr/bin:/bin", names.display()));
    command.env("KANT_SOCKET", cluster.dir().join("kantctld.sock")).current_dir(kantctl.dir());
    command.args(["-N2", "--ntasks-per-node=1", "sh", "-c", script]).stdin(Stdio::null());
    Person::plain().dress(&mut command);
    let output = command.output()?;
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{out} {err}");
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: 0 on n1", "1: 1 on n2", "held n[1-2] 2"], "{err}");
    let id = last_job(&kantctl)?;
    for message in
        ["Pending job allocation", "Granted job allocation", "Relinquishing job allocation"]
    {
        assert!(err.contains(&format!("salloc: {message} {id}\n")), "{err}");
    }
    let job = kantctl.finished(&id)?;
    assert_eq!(job.exit.map(|exit| exit.code), Some(4));
    Ok(())
}

#[test]
fn an_allocation_without_a_shell_stays_until_cancelled_and_accepts_steps() -> anyhow::Result<()> {
    let cluster = two_nodes()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    kantctl.ok(&["alloc", "-N1", "--no-shell"])?;
    let id = last_job(&kantctl)?;
    assert_eq!(kantctl.job(&id)?.phase, Phase::Running);
    let output = kantctl.ok(&["run", "--in", &id, "sh", "-c", "echo $SLURM_JOB_ID"])?;
    assert_eq!(output.trim(), id);
    assert_eq!(kantctl.job(&id)?.phase, Phase::Running, "the job continues after a step ends");
    kantctl.ok(&["cancel", &id])?;
    assert_eq!(kantctl.finished(&id)?.outcome, Some(Outcome::Cancelled));
    let refused = kantctl.run(&["run", "--in", &id, "true"])?;
    assert!(refused.stderr.contains("is not running"), "{refused:?}");
    let _: JobList = kantctl.json(&["queue"]).context("the controller answers")?;
    Ok(())
}
