//! Attached to a step that runs: what its tasks write is seen by who comes late, comes twice or is
//! slow; what these type is read; and nothing of that ends the step or holds it up.

use anyhow::Context as _;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person, wait_for};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

fn two_nodes() -> ClusterOptions {
    let nodes = ["n1", "n2"].into_iter().map(|name| (name, Machine::cpu())).collect();
    ClusterOptions { nodes, ..ClusterOptions::default() }
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

    /// Its exit code, and what it said on standard error.
    fn end(mut self) -> anyhow::Result<(Option<i32>, String)> {
        let mut said = String::new();
        self.child.stderr.take().context("no errors")?.read_to_string(&mut said)?;
        Ok((self.child.wait()?.code(), said))
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

/// Says who it is, and then back what it reads, until that is `end`.
const ECHO: &str = "echo $KANT_JOB_ID >job; echo first $SLURM_PROCID; while read line; do \
                    echo $SLURM_PROCID read $line; [ \"$line\" = end ] && exit 7; done";

#[test]
fn who_attaches_sees_what_was_and_what_comes_is_read_and_leaves_without_ending_it()
-> anyhow::Result<()> {
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
    assert_eq!(first, ["0: first 0", "1: first 1"], "what was written before");
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
    let (code, said) = one.end()?;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("detached from step {step}")), "{said}");

    let mut command = kantctl.command();
    command.arg0("sattach").args(["--quiet", &step]);
    let quiet = Talk::of(command)?;
    quiet.line()?;
    interrupt(&quiet)?;
    assert_eq!(quiet.end()?, (Some(0), String::new()));

    run.send("end")?;
    all.until("0: 0 read end")?;
    let (code, said) = all.end()?;
    assert_eq!(code, Some(7), "the step's code: {said}");
    assert_eq!(run.end()?.0, Some(7));
    Ok(())
}

#[test]
fn who_is_slow_misses_something_and_the_step_does_not_wait_for_them() -> anyhow::Result<()> {
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
    // Its output is read by nobody for a while: pipes hold 64 KiB.
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
    wait_for("the step to go on", || Ok(kantctl.dir().join("wrote").exists().then_some(())))?;
    run.send("go")?;
    run.until("last")?;
    assert_eq!(run.end()?.0, Some(0));
    let (mut seen, mut said) = (String::new(), String::new());
    output.read_to_string(&mut seen)?;
    slow.stderr.take().context("no errors")?.read_to_string(&mut said)?;
    slow.wait()?;
    assert!(seen.lines().count() < LINES as usize, "nothing was missed");
    assert!(said.contains("bytes of output were missed"), "{said}");
    Ok(())
}

#[test]
fn who_attaches_stays_while_kantd_starts_anew_and_goes_once_nobody_reads_it() -> anyhow::Result<()>
{
    let mut cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let mut run = Talk::begin(&kantctl, &["run", "-w", "n1", "sh", "-c", ECHO])?;
    run.line()?;
    let step = format!("{}.0", job(&kantctl)?);
    let mut talk = Talk::begin(&kantctl, &["attach", &step])?;
    assert_eq!(talk.line()?, "first 0");

    cluster.kill_node("n1")?;
    talk.send("while nobody listens")?;
    cluster.start_node("n1")?;
    talk.until("0 read while nobody listens")?;
    run.send("after")?;
    talk.until("0 read after")?;

    // `kantctl attach ... | head -1`
    drop(talk.lines);
    let mut left = talk.child;
    let code = wait_for("who is read by nobody to end", || {
        // The first is read to the end, the second finds nobody.
        run.send("more")?;
        Ok(left.try_wait()?)
    })?;
    assert_eq!(code.code(), Some(141), "as of who is ended by SIGPIPE");
    run.send("end")?;
    assert_eq!(run.end()?.0, Some(7));
    Ok(())
}

#[test]
fn nobody_attaches_to_what_is_not_theirs_not_there_or_over() -> anyhow::Result<()> {
    let cluster = Cluster::start(two_nodes())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let mut run = Talk::begin(&kantctl, &["run", "sh", "-c", ECHO])?;
    run.line()?;
    let id = job(&kantctl)?;
    let step = format!("{id}.0");
    if let Some(other) = Person::other() {
        let told = cluster.kantctl(other)?.run(&["attach", &step])?;
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.stderr.contains("belongs to"), "{told:?}");
    }
    let told = kantctl.run(&["attach", &format!("{id}.5")])?;
    assert!(told.stderr.contains(&format!("step {id}.5 is unknown")), "{told:?}");
    assert!(told.stderr.contains(&format!("running steps: {step}")), "{told:?}");
    run.send("end")?;
    assert_eq!(run.end()?.0, Some(7));
    kantctl.finished(&id)?;
    let script = kantctl.submit(&[], "#!/bin/sh\ntrue\n")?;
    kantctl.finished(&script)?;
    // Its script's output is not what was asked for.
    for step in [step, format!("{script}.3")] {
        let told = kantctl.run(&["attach", &step])?;
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.stderr.contains(&format!("step {step} is not running")), "{told:?}");
    }
    let told = kantctl.run(&["attach", "4711"])?;
    assert!(told.stderr.contains("there is no job 4711"), "{told:?}");
    Ok(())
}
