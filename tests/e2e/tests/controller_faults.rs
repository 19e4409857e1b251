//! Faults of controllers under a steady load: stalls, leadership transfers, changes of the voters,
//! lost machines, full disks, restarts of all, and recovery from a backup. Times are not checked.

use anyhow::Context as _;
use common::job::Outcome;
use common::wire::api::ControllerRole;
use e2e::{Controllers, SmallDisk, is_root, probe, say, under_load, wait_for};
use nix::sys::signal::Signal;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

const ALL: [&str; 3] = ["a", "b", "c"];
const SUBMIT_HELD: [&str; 5] = ["submit", "--parsable", "--hold", "--wrap", "true"];

/// Three controllers and a connected node.
fn controllers() -> anyhow::Result<Controllers> {
    let mut controllers = Controllers::three_with(|config| config.snapshot_every_entries = 200)?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    Ok(controllers)
}

fn other_than(name: &str) -> &'static str {
    if name == "a" { "b" } else { "a" }
}

#[test]
fn a_leader_that_was_stalled_serves_nothing_stale() -> anyhow::Result<()> {
    let mut controllers = controllers()?;
    let ((), record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        for _ in 0..3 {
            let (old, _) = controllers.leader()?;
            load.wait_for_more(3)?;
            let asked = other_than(&old);
            let kantctl = controllers.kantctl(asked)?;
            controllers.signal(&old, Signal::SIGSTOP)?;
            controllers.wait_for_another_leader(asked, &old)?;
            let submitted =
                probe(controllers, &format!("stall-{}", load.acknowledged()))?.submit()?;
            load.note(submitted);
            // The request waits in its inbox: it reads it first when it resumes, still believing to
            // lead.
            let socket = PathBuf::from(&controllers.config(&old)?.socket);
            let mut early = UnixStream::connect(&socket)?;
            early.set_read_timeout(Some(e2e::DEADLINE))?;
            let question = format!("GET /v1/jobs/{submitted} HTTP/1.1\r\nhost: a\r\n");
            early.write_all(format!("{question}connection: close\r\n\r\n").as_bytes())?;
            controllers.signal(&old, Signal::SIGCONT)?;
            let mut answer = String::new();
            early.read_to_string(&mut answer)?;
            let is_current = answer.starts_with("HTTP/1.1 200") && answer.contains("timeline");
            let is_silence = ["502", "503", "504"]
                .iter()
                .any(|status| answer.starts_with(&format!("HTTP/1.1 {status}")));
            assert!(is_current || is_silence, "a stale answer: {answer}");
            let by_old = controllers.kantctl(&old)?;
            assert_eq!(
                by_old.job(&submitted.to_string())?.key.job,
                submitted,
                "kantctl repeats the request"
            );
            assert_eq!(kantctl.job(&submitted.to_string())?.key.job, submitted);
            load.wait_for_more(3)?;
        }
        Ok(())
    })?;
    let jobs = record.judge(&controllers, "a")?;
    say(&format!("3 stalled leaders: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn all_controllers_are_restarted_one_after_another_under_load() -> anyhow::Result<()> {
    let mut controllers = controllers()?;
    let (waits, record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        let mut client = probe(controllers, "rolling")?;
        let mut waits = Vec::new();
        for name in ALL.into_iter().chain(ALL) {
            load.wait_for_more(3)?;
            let (leader, _) = controllers.leader()?;
            // As with systemctl restart: it transfers leadership before it stops.
            controllers.signal(name, Signal::SIGTERM)?;
            let since = std::time::Instant::now();
            load.note(client.submit()?);
            if leader == name {
                waits.push(since.elapsed().as_millis());
            }
            controllers.stop(name)?;
            if leader == name {
                let log = controllers.log(name);
                assert!(log.contains("another controller leads"), "{log}");
            }
            controllers.start(name)?;
            controllers.wait_for_voters(name, 3)?;
        }
        Ok(waits)
    })?;
    let jobs = record.judge(&controllers, "a")?;
    say(&format!("rolling restart twice: {jobs} jobs, 0 lost; hand-overs of {waits:?} ms"));
    Ok(())
}

#[test]
fn a_cluster_grows_to_five_and_shrinks_to_three_under_load() -> anyhow::Result<()> {
    let mut controllers = Controllers::new()?;
    // Nodes and clients know the addresses of future controllers.
    ["a", "b", "c", "d", "e"].iter().try_for_each(|name| controllers.add(name))?;
    controllers.start("a")?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        for (name, voters) in [("b", 2), ("c", 3), ("d", 4), ("e", 5)] {
            controllers.admit(name, "join", "a")?;
            controllers.start(name)?;
            controllers.wait_for_voters("a", voters)?;
            load.wait_for_more(3)?;
        }
        // Two of five may fail.
        let (leader, _) = controllers.leader()?;
        let second = other_than(&leader);
        controllers.kill(&leader)?;
        controllers.kill(second)?;
        load.wait_for_more(3)?;
        controllers.start(&leader)?;
        controllers.start(second)?;
        for (gone, left) in [("e", 4), ("d", 3)] {
            let (leader, id) = controllers.leader()?;
            if leader == gone {
                let to = controllers.number("a", "a")?.to_string();
                controllers.kantctl(gone)?.ok(&["admin", "controller", "transfer", &to])?;
                wait_for("another leader", || Ok((controllers.leader()?.1 != id).then_some(())))?;
            }
            let id = controllers.number("a", gone)?.to_string();
            let (leader, _) = controllers.leader()?;
            controllers.kantctl(&leader)?.ok(&["admin", "controller", "remove", &id])?;
            controllers.wait_for_voters("a", left)?;
            controllers.stop(gone)?;
            load.wait_for_more(3)?;
        }
        Ok(())
    })?;
    let list = controllers.list("a")?;
    let names: Vec<&str> = list.controllers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ALL);
    let jobs = record.judge(&controllers, "a")?;
    say(&format!("1, 3, 5, 3 controllers: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn a_lost_machine_is_replaced_and_caught_up_by_snapshot() -> anyhow::Result<()> {
    let mut controllers = Controllers::three_with(|config| config.snapshot_every_entries = 20)?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let (lost, record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        let (leader, _) = controllers.leader()?;
        let lost = other_than(&leader);
        controllers.kill(lost)?;
        std::fs::remove_dir_all(&controllers.config(lost)?.state_dir)?;
        std::fs::remove_file(controllers.dir().join(format!("{lost}.log")))?;
        load.wait_for_more(40)?;
        let old = controllers.number(&leader, lost)?;
        let (now, _) = controllers.leader()?;
        controllers.kantctl(&now)?.ok(&["admin", "controller", "remove", &old.to_string()])?;
        controllers.admit(lost, "join", &leader)?;
        controllers.start(lost)?;
        controllers.wait_for_voters(&leader, 3)?;
        assert!(controllers.number(&leader, lost)? > old, "an id is never reused");
        assert!(controllers.log(lost).contains("a snapshot of"), "{}", controllers.log(lost));
        // It votes: only it and the new leader are left for the majority.
        let third = ALL.into_iter().find(|name| *name != lost && *name != leader);
        controllers.kill(third.context("there are three")?)?;
        load.wait_for_more(3)?;
        Ok(lost)
    })?;
    let jobs = record.judge(&controllers, lost)?;
    say(&format!("a machine replaced: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn repeated_restarts_of_all_three_controllers_lose_nothing() -> anyhow::Result<()> {
    let mut controllers = controllers()?;
    let ((), record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        for _ in 0..4 {
            load.wait_for_more(4)?;
            ALL.iter().try_for_each(|name| controllers.kill(name))?;
            // Killed while starting.
            ALL.iter().try_for_each(|name| controllers.launch(name))?;
            ALL.iter().try_for_each(|name| controllers.kill(name))?;
            ALL.iter().try_for_each(|name| controllers.launch(name))?;
            ALL.iter().try_for_each(|name| controllers.wait_for_answer(name))?;
        }
        load.wait_for_more(4)
    })?;
    let jobs = record.judge(&controllers, "a")?;
    say(&format!("4 storms of restarts: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn a_backup_restores_the_cluster_after_the_loss_of_everything_else() -> anyhow::Result<()> {
    let mut controllers = controllers()?;
    let kantctl = controllers.kantctl("a")?;
    let done = kantctl.submit(&["-o", "/dev/null"], "#!/bin/sh\ntrue\n")?;
    kantctl.completed(&done)?;
    let held = kantctl.ok(&SUBMIT_HELD)?.trim().to_owned();
    let (leader, _) = controllers.leader()?;
    let output = controllers.kantctl(&leader)?.ok(&["admin", "backup", "saved"])?;
    assert!(output.contains("saved"), "{output}");
    let last = controllers.list("a")?.controllers.iter().map(|one| one.id).max();
    for name in ALL {
        controllers.kill(name)?;
        std::fs::remove_dir_all(&controllers.config(name)?.state_dir)?;
    }
    let saved = controllers.dir().join("saved").display().to_string();
    controllers.verb("a", &["restore", &saved])?;
    controllers.start("a")?;
    for name in ["b", "c"] {
        controllers.admit(name, "join", "a")?;
        controllers.start(name)?;
    }
    let list = controllers.wait_for_voters("a", 3)?;
    assert!(list.controllers.iter().all(|one| Some(one.id) > last), "no id is reused: {list:?}");
    assert_eq!(kantctl.job(&done)?.outcome, Some(Outcome::Completed));
    kantctl.ok(&["release", &held])?;
    assert_eq!(
        kantctl.finished(&held)?.outcome,
        Some(Outcome::Completed),
        "the node has reconnected"
    );
    Ok(())
}

#[test]
fn a_leader_with_a_full_disk_steps_down_and_catches_up_later() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can mount a small file system");
        return Ok(());
    }
    let mut controllers = Controllers::new()?;
    controllers.add("a")?;
    let disk = SmallDisk::mount(Path::new(&controllers.config("a")?.state_dir), "80m")?;
    controllers.reconfigure("a", |config| config.disk_reserve_mib = 0)?;
    controllers.start("a")?;
    for name in ["b", "c"] {
        controllers.add(name)?;
        controllers.admit(name, "join", "a")?;
        controllers.start(name)?;
    }
    controllers.wait_for_voters("a", 3)?;
    controllers.start_node("n1")?;
    controllers.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut controllers, &["n1"], |controllers, load| {
        assert_eq!(controllers.leader()?.0, "a");
        let ballast = disk.fill("ballast")?;
        let kantctl = controllers.kantctl("b")?;
        // Scripts of 3 MiB use up the preallocated segments; each has a different text.
        let mut large = 0_u32;
        wait_for("another leader", || {
            large += 1;
            anyhow::ensure!(large < 200, "the disk never got full");
            let text = format!(
                "#!/bin/sh\nmkdir -p ran\necho begin 1 >> ran/$KANT_JOB_ID\n\
                echo end 1 >> ran/$KANT_JOB_ID\n#{}{large}\n",
                "x".repeat(3 << 20)
            );
            let job = kantctl.submit(&["-o", "/dev/null", "--mem=16M"], &text)?;
            load.note(common::id::JobId(job.parse()?));
            Ok(controllers
                .list("b")?
                .controllers
                .into_iter()
                .find(|one| one.role == ControllerRole::Leader && one.name != "a"))
        })?;
        load.wait_for_more(3)?;
        std::fs::remove_file(&ballast)?;
        // It has caught up once it can lead again.
        let a = controllers.number("b", "a")?;
        wait_for("the full one to have caught up", || {
            let (leader, _) = controllers.leader()?;
            controllers.kantctl(&leader)?.run(&[
                "admin",
                "controller",
                "transfer",
                &a.to_string(),
            ])?;
            Ok((controllers.list("b")?.leader == Some(a)).then_some(()))
        })?;
        load.wait_for_more(3)
    })?;
    let jobs = record.judge(&controllers, "a")?;
    // A refused node waits a minute before it reconnects; a node that cannot be served yet does
    // not.
    let log = std::fs::read_to_string(controllers.dir().join("kantd-n1.log"))?;
    assert!(!log.contains("refuses this node"), "{log}");
    say(&format!("a full disk: {jobs} jobs, 0 lost, 0 doubled"));
    // A mounted directory cannot be removed.
    drop(disk);
    Ok(())
}
