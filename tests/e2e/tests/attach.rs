//! Attaching to a running step: late, repeated and slow clients see the output, their input is
//! read, and none of them ends or blocks the step.

use anyhow::Context as _;
use e2e::{Cluster, ClusterOptions, Kantctl, Person, wait_for};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn two_nodes() -> ClusterOptions {
    ClusterOptions::cpu_nodes(&["n1", "n2"])
}

/// kantctl, its input, and the lines that it prints.
struct Talk {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Talk {
    fn begin(kantctl: &Kantctl, words: &[&str]) -> anyhow::Result<Self> {
        let mut command = kantctl.command();
        command.args(words);
        Self::of(command)
    }

    fn of(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, input, lines })
    }

    fn line(&self) -> anyhow::Result<String> {
        self.lines.recv_timeout(Duration::from_secs(30)).context("no more lines come")
    }

    fn until(&self, wanted: &str) -> anyhow::Result<()> {
        while self.line()? != wanted {}
        Ok(())
    }

    fn send(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    /// Its exit code and standard error.
    fn end(mut self) -> anyhow::Result<(Option<i32>, String)> {
        let mut stderr = String::new();
        self.child.stderr.take().context("no errors")?.read_to_string(&mut stderr)?;
        Ok((self.child.wait()?.code(), stderr))
    }
}

fn interrupt(talk: &Talk) -> anyhow::Result<()> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(talk.child.id())?);
    Ok(nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT)?)
}

fn job(kantctl: &Kantctl) -> anyhow::Result<String> {
    let file = kantctl.dir().join("job");
    let text = wait_for("the job's number", || {
        Ok(std::fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n')))
    })?;
    Ok(text.trim().to_owned())
}

/// A script that prints its rank and then echoes its input until `end`.
const ECHO: &str = "echo $KANT_JOB_ID >job; echo first $SLURM_PROCID; while read line; do \
                    echo $SLURM_PROCID read $line; [ \"$line\" = end ] && exit 7; done";

#[test]
fn an_attached_client_sees_old_and_new_output_sends_input_and_can_detach() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let words = ["run", "-N2", "--ntasks-per-node=1", "sh", "-c", ECHO];
    let mut run = Talk::begin(&kantctl, &words)?;
    for _ in 0..2 {
        assert!(run.line()?.starts_with("first "));
    }
    let step = format!("{}.0", job(&kantctl)?);

    let mut all = Talk::begin(&kantctl, &["attach", &step, "--label"])?;
    let mut first = [all.line()?, all.line()?];
    first.sort();
    assert_eq!(first, ["0: first 0", "1: first 1"], "earlier output");
    let one = ["attach", &step, "--output-filter=1", "--input-filter=1"];
    let mut one = Talk::begin(&kantctl, &one)?;
    assert_eq!(one.line()?, "first 1");

    one.send("here")?;
    one.until("1 read here")?;
    all.until("1: 1 read here")?;
    run.until("1 read here")?;
    all.send("both")?;
    let mut both = [all.line()?, all.line()?];
    both.sort();
    assert_eq!(both, ["0: 0 read both", "1: 1 read both"]);

    interrupt(&one)?;
    let (code, stderr) = one.end()?;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains(&format!("detached from step {step}")), "{stderr}");

    let mut command = kantctl.command();
    command.arg0("sattach").args(["--quiet", &step]);
    let quiet = Talk::of(command)?;
    quiet.line()?;
    interrupt(&quiet)?;
    assert_eq!(quiet.end()?, (Some(0), String::new()));

    run.send("end")?;
    all.until("0: 0 read end")?;
    let (code, stderr) = all.end()?;
    assert_eq!(code, Some(7), "the step's code: {stderr}");
    assert_eq!(run.end()?.0, Some(7));
    Ok(())
}

#[test]
fn a_slow_client_misses_output_and_does_not_block_the_step() -> anyhow::Result<()> {
    const LINES: u32 = 400_000;
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = format!(
        "echo $KANT_JOB_ID >job; echo first; read go; seq {LINES}; echo wrote >wrote; read go; \
         echo last"
    );
    let mut run = Talk::begin(&kantctl, &["run", "sh", "-c", &script])?;
    assert_eq!(run.line()?, "first");
    let step = format!("{}.0", job(&kantctl)?);
    // Its output is not read for a while: pipes hold 64 KiB.
    let mut command = kantctl.command();
    command.args(["attach", &step, "--input-filter=none"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut slow = command.spawn()?;
    let mut output = BufReader::new(slow.stdout.take().context("no output")?);
    let mut line = String::new();
    output.read_line(&mut line)?;
    assert_eq!(line, "first\n");

    run.send("go")?;
    run.until(&LINES.to_string())?;
    wait_for("the step to continue", || Ok(kantctl.dir().join("wrote").exists().then_some(())))?;
    run.send("go")?;
    run.until("last")?;
    assert_eq!(run.end()?.0, Some(0));
    let (mut seen, mut stderr) = (String::new(), String::new());
    output.read_to_string(&mut seen)?;
    slow.stderr.take().context("no errors")?.read_to_string(&mut stderr)?;
    slow.wait()?;
    assert!(seen.lines().count() < LINES as usize, "the client missed no output");
    assert!(stderr.contains("bytes of output were missed"), "{stderr}");
    Ok(())
}

#[test]
fn an_attached_client_survives_a_restart_of_kantd_and_ends_on_a_closed_pipe() -> anyhow::Result<()>
{
    let mut cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let mut run = Talk::begin(&kantctl, &["run", "-w", "n1", "sh", "-c", ECHO])?;
    run.line()?;
    let step = format!("{}.0", job(&kantctl)?);
    let mut talk = Talk::begin(&kantctl, &["attach", &step])?;
    assert_eq!(talk.line()?, "first 0");

    cluster.kill_node("n1")?;
    talk.send("during the restart")?;
    cluster.start_node("n1")?;
    talk.until("0 read during the restart")?;
    run.send("after")?;
    talk.until("0 read after")?;

    // `kantctl attach ... | head -1`
    drop(talk.lines);
    let mut left = talk.child;
    let code = wait_for("the client with a closed pipe to end", || {
        // The first line is read; the second finds a closed pipe.
        run.send("more")?;
        Ok(left.try_wait()?)
    })?;
    assert_eq!(code.code(), Some(141), "the exit code of SIGPIPE");
    run.send("end")?;
    assert_eq!(run.end()?.0, Some(7));
    Ok(())
}

#[test]
fn attaching_to_a_foreign_missing_or_ended_step_is_refused() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let mut run = Talk::begin(&kantctl, &["run", "sh", "-c", ECHO])?;
    run.line()?;
    let id = job(&kantctl)?;
    let step = format!("{id}.0");
    if let Some(other) = Person::other() {
        let answer = cluster.kantctl(other)?.run(&["attach", &step])?;
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(answer.stderr.contains("belongs to"), "{answer:?}");
    }
    let answer = kantctl.run(&["attach", &format!("{id}.5")])?;
    assert!(answer.stderr.contains(&format!("step {id}.5 is unknown")), "{answer:?}");
    assert!(answer.stderr.contains(&format!("running steps: {step}")), "{answer:?}");
    run.send("end")?;
    assert_eq!(run.end()?.0, Some(7));
    kantctl.finished(&id)?;
    let script = kantctl.submit(&[], "#!/bin/sh\ntrue\n")?;
    kantctl.finished(&script)?;
    // The script's output is not a step's.
    for step in [step, format!("{script}.3")] {
        let answer = kantctl.run(&["attach", &step])?;
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(answer.stderr.contains(&format!("step {step} is not running")), "{answer:?}");
    }
    let answer = kantctl.run(&["attach", "4711"])?;
    assert!(answer.stderr.contains("there is no job 4711"), "{answer:?}");
    Ok(())
}
