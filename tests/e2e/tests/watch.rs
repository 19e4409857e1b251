//! `kantctl watch` while leaders are killed and stopped: it continues at another controller, and no
//! event is lost or repeated. The judge is a later watch of the whole log at one controller.

use anyhow::Context as _;
use e2e::{Controllers, Kantctl, wait_for};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A watch of all events, with its output in files.
struct Watch {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Watch {
    /// Starts a watch by the sockets of these controllers, in this order, and waits until it gets
    /// events.
    fn start(controllers: &Controllers, name: &str, order: &[&str]) -> anyhow::Result<Self> {
        let at = |kind: &str| controllers.dir().join(format!("{name}.{kind}"));
        let (config, out, err) = (at("toml"), at("out"), at("err"));
        let sockets = order.iter().map(|one| Ok(controllers.config(one)?.socket.clone()));
        let sockets: Vec<String> = sockets.collect::<anyhow::Result<_>>()?;
        fs::write(&config, format!("sockets = {sockets:?}\n"))?;
        let mut command = controllers.kantctl(order[0])?.command();
        command.env_remove("KANT_SOCKET").env("KANT_CONFIG", &config).args(["watch", "--json"]);
        command.stdout(File::create(&out)?).stderr(Stdio::from(File::create(&err)?));
        let watch = Self { child: command.spawn()?, out, err };
        wait_for("the first line", || Ok(watch.lines()?.first().map(|_| ())))?;
        Ok(watch)
    }

    /// The lines so far.
    fn lines(&self) -> anyhow::Result<Vec<Value>> {
        lines(&self.out)
    }

    /// Waits until it has the end of a job.
    fn wait_for_end(&self, job: &str) -> anyhow::Result<()> {
        let is_it = |line: &Value| line["event"] == "JobDone" && line["job"] == job;
        wait_for(&format!("the end of job {job} in the watch"), || {
            Ok(self.lines()?.iter().any(is_it).then_some(()))
        })
        .with_context(|| fs::read_to_string(&self.err).unwrap_or_default())
    }

    fn end(&mut self) -> anyhow::Result<(Vec<Value>, String)> {
        self.child.kill()?;
        self.child.wait()?;
        Ok((self.lines()?, fs::read_to_string(&self.err)?))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(path)?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The sequence and the kind of each event.
fn events(lines: &[Value]) -> Vec<(String, String)> {
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    let pair = |line: &Value| (text(line, "sequence"), text(line, "event"));
    lines.iter().map(pair).filter(|(_, event)| event != "Watching").collect()
}

/// All events after one, as a new watch at one controller gets them up to the end of a job.
fn all_since(kantctl: &Kantctl, since: &str, job: &str) -> anyhow::Result<Vec<(String, String)>> {
    let out = kantctl.dir().join("judge.out");
    let mut child = kantctl
        .command()
        .args(["watch", "--json", "--since", since])
        .stdout(File::create(&out)?)
        .spawn()?;
    let is_it = |line: &Value| line["event"] == "JobDone" && line["job"] == job;
    let found = wait_for("the end of the last job", || {
        let lines = lines(&out)?;
        Ok(lines.iter().position(is_it).map(|end| events(&lines[..=end])))
    });
    child.kill()?;
    child.wait()?;
    found
}

#[test]
fn a_watch_loses_and_repeats_no_event_when_leaders_die_and_stop() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let (leader, _) = controllers.leader()?;
    let others: Vec<&str> = ["a", "b", "c"].into_iter().filter(|name| *name != leader).collect();
    // One watch at the leader itself, and one at a controller that forwards it.
    let direct = Watch::start(&controllers, "direct", &[&leader, others[0], others[1]])?;
    let relayed = Watch::start(&controllers, "relayed", &[others[0], others[1], &leader])?;
    let submit = |controllers: &Controllers, at: &str| -> anyhow::Result<String> {
        controllers.kantctl(at)?.submit(&["-o", "/dev/null"], "#!/bin/sh\n:\n")
    };
    for _ in 0..5 {
        submit(&controllers, others[0])?;
    }
    let first = submit(&controllers, others[0])?;
    direct.wait_for_end(&first)?;

    controllers.kill(&leader)?;
    let second = submit(&controllers, others[0])?;
    direct.wait_for_end(&second)?;
    relayed.wait_for_end(&second)?;

    controllers.start(&leader)?;
    let (next, _) = controllers.leader()?;
    controllers.signal(&next, Signal::SIGSTOP)?;
    let free = ["a", "b", "c"].into_iter().find(|name| *name != next).context("another one")?;
    controllers.wait_for_another_leader(free, &next)?;
    let third = submit(&controllers, free)?;
    let seen = direct.wait_for_end(&third).and_then(|()| relayed.wait_for_end(&third));
    controllers.signal(&next, Signal::SIGCONT)?;
    seen?;

    let at_free = controllers.kantctl(free)?;
    for mut watch in [direct, relayed] {
        let (lines, notes) = watch.end()?;
        let begun = lines[0]["sequence"].as_str().context("the sequence of the first line")?;
        let is_end = |line: &Value| line["event"] == "JobDone" && line["job"] == third.as_str();
        let end = lines.iter().position(is_end).context("the end of the last job")?;
        let expected = all_since(&at_free, begun, &third)?;
        assert_eq!(events(&lines[..=end]), expected, "{notes}");
        let submitted = lines.iter().filter(|line| line["event"] == "JobSubmitted");
        let jobs: BTreeSet<&str> = submitted.filter_map(|line| line["job"].as_str()).collect();
        assert_eq!(jobs.len(), 8, "{jobs:?} {notes}");
        assert!(notes.contains("no event was missed"), "{notes}");
    }
    Ok(())
}
