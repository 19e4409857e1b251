//! Faults of controllers under a steady load: stalls, leadership transfers, changes of the voters, lost
//! machines, full disks, restarts of all, and recovery from a backup. Times are not checked.

use anyhow::Context as _;
use common::job::Outcome;
use common::wire::api::ControllerRole;
use e2e::{Controllers, SmallDisk, is_root, probe, under_load, wait_for};
use nix::sys::signal::Signal;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

const ALL: [&str; 3] = ["a", "b", "c"];
const SUBMIT_HELD: [&str; 5] = ["submit", "--parsable", "--hold", "--wrap", "true"];

/// Three controllers and a connected node.
fn house() -> anyhow::Result<Controllers> {
    let mut house = Controllers::three_with(|config| config.snapshot_every_entries = 200)?;
    house.start_node("n1")?;
    house.wait_for_nodes("a")?;
    Ok(house)
}

fn other_than(name: &str) -> &'static str {
    if name == "a" { "b" } else { "a" }
}

/// Prints past the test harness's capture, for readers of the CI output.
fn say(text: &str) {
    // A closed output is no failure.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
fn a_leader_that_was_stalled_serves_nothing_stale() -> anyhow::Result<()> {
    let mut house = house()?;
    let ((), record) = under_load(&mut house, &["n1"], |house, load| {
        for _ in 0..3 {
            let (old, _) = house.leader()?;
            load.wait_for_more(3)?;
            let asked = other_than(&old);
            let kantctl = house.kantctl(asked)?;
            house.signal(&old, Signal::SIGSTOP)?;
            house.wait_for_another_leader(asked, &old)?;
            let told = probe(house, &format!("stall-{}", load.acknowledged()))?.submit()?;
            load.note(told);
            // The request waits in its inbox: it reads it first when it resumes, still believing to lead.
            let socket = PathBuf::from(&house.config(&old)?.socket);
            let mut early = UnixStream::connect(&socket)?;
            early.set_read_timeout(Some(e2e::DEADLINE))?;
            let question = format!("GET /v1/jobs/{told} HTTP/1.1\r\nhost: a\r\n");
            early.write_all(format!("{question}connection: close\r\n\r\n").as_bytes())?;
            house.signal(&old, Signal::SIGCONT)?;
            let mut answer = String::new();
            early.read_to_string(&mut answer)?;
            let is_current = answer.starts_with("HTTP/1.1 200") && answer.contains("story");
            let is_silence = ["502", "503", "504"]
                .iter()
                .any(|status| answer.starts_with(&format!("HTTP/1.1 {status}")));
            assert!(is_current || is_silence, "a stale answer: {answer}");
            let by_old = house.kantctl(&old)?;
            assert_eq!(by_old.job(&told.to_string())?.key.job, told, "kantctl repeats the request");
            assert_eq!(kantctl.job(&told.to_string())?.key.job, told);
            load.wait_for_more(3)?;
        }
        Ok(())
    })?;
    let jobs = record.judge(&house, "a")?;
    say(&format!("3 stalled leaders: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn all_controllers_are_restarted_one_after_another_under_load() -> anyhow::Result<()> {
    let mut house = house()?;
    let (waits, record) = under_load(&mut house, &["n1"], |house, load| {
        let mut client = probe(house, "rolling")?;
        let mut waits = Vec::new();
        for name in ALL.into_iter().chain(ALL) {
            load.wait_for_more(3)?;
            let (leader, _) = house.leader()?;
            // As with systemctl restart: it transfers leadership before it stops.
            house.signal(name, Signal::SIGTERM)?;
            let since = std::time::Instant::now();
            load.note(client.submit()?);
            if leader == name {
                waits.push(since.elapsed().as_millis());
            }
            house.stop(name)?;
            if leader == name {
                let log = house.log(name);
                assert!(log.contains("another controller leads"), "{log}");
            }
            house.start(name)?;
            house.wait_for_voters(name, 3)?;
        }
        Ok(waits)
    })?;
    let jobs = record.judge(&house, "a")?;
    say(&format!("rolling restart twice: {jobs} jobs, 0 lost; hand-overs of {waits:?} ms"));
    Ok(())
}

#[test]
fn a_cluster_grows_to_five_and_shrinks_to_three_under_load() -> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    // Nodes and clients know the addresses of future controllers.
    ["a", "b", "c", "d", "e"].iter().try_for_each(|name| house.add(name))?;
    house.start("a")?;
    house.start_node("n1")?;
    house.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut house, &["n1"], |house, load| {
        for (name, voters) in [("b", 2), ("c", 3), ("d", 4), ("e", 5)] {
            house.admit(name, "join", "a")?;
            house.start(name)?;
            house.wait_for_voters("a", voters)?;
            load.wait_for_more(3)?;
        }
        // Two of five may fail.
        let (leader, _) = house.leader()?;
        let second = other_than(&leader);
        house.kill(&leader)?;
        house.kill(second)?;
        load.wait_for_more(3)?;
        house.start(&leader)?;
        house.start(second)?;
        for (gone, left) in [("e", 4), ("d", 3)] {
            let (leader, id) = house.leader()?;
            if leader == gone {
                let to = house.number("a", "a")?.to_string();
                house.kantctl(gone)?.ok(&["admin", "controller", "transfer", &to])?;
                wait_for("another leader", || Ok((house.leader()?.1 != id).then_some(())))?;
            }
            let id = house.number("a", gone)?.to_string();
            let (leader, _) = house.leader()?;
            house.kantctl(&leader)?.ok(&["admin", "controller", "remove", &id])?;
            house.wait_for_voters("a", left)?;
            house.stop(gone)?;
            load.wait_for_more(3)?;
        }
        Ok(())
    })?;
    let list = house.list("a")?;
    let names: Vec<&str> = list.controllers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ALL);
    let jobs = record.judge(&house, "a")?;
    say(&format!("1, 3, 5, 3 controllers: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn a_lost_machine_is_replaced_and_caught_up_by_snapshot() -> anyhow::Result<()> {
    let mut house = Controllers::three_with(|config| config.snapshot_every_entries = 20)?;
    house.start_node("n1")?;
    house.wait_for_nodes("a")?;
    let (lost, record) = under_load(&mut house, &["n1"], |house, load| {
        let (leader, _) = house.leader()?;
        let lost = other_than(&leader);
        house.kill(lost)?;
        std::fs::remove_dir_all(&house.config(lost)?.state_dir)?;
        std::fs::remove_file(house.dir().join(format!("{lost}.log")))?;
        load.wait_for_more(40)?;
        let old = house.number(&leader, lost)?;
        let (now, _) = house.leader()?;
        house.kantctl(&now)?.ok(&["admin", "controller", "remove", &old.to_string()])?;
        house.admit(lost, "join", &leader)?;
        house.start(lost)?;
        house.wait_for_voters(&leader, 3)?;
        assert!(house.number(&leader, lost)? > old, "an id is never reused");
        assert!(house.log(lost).contains("a snapshot of"), "{}", house.log(lost));
        // It votes: only it and the new leader are left for the majority.
        let third = ALL.into_iter().find(|name| *name != lost && *name != leader);
        house.kill(third.context("there are three")?)?;
        load.wait_for_more(3)?;
        Ok(lost)
    })?;
    let jobs = record.judge(&house, lost)?;
    say(&format!("a machine replaced: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn repeated_restarts_of_all_three_controllers_lose_nothing() -> anyhow::Result<()> {
    let mut house = house()?;
    let ((), record) = under_load(&mut house, &["n1"], |house, load| {
        for _ in 0..4 {
            load.wait_for_more(4)?;
            ALL.iter().try_for_each(|name| house.kill(name))?;
            // Killed while starting.
            ALL.iter().try_for_each(|name| house.launch(name))?;
            ALL.iter().try_for_each(|name| house.kill(name))?;
            ALL.iter().try_for_each(|name| house.launch(name))?;
            ALL.iter().try_for_each(|name| house.wait_for_answer(name))?;
        }
        load.wait_for_more(4)
    })?;
    let jobs = record.judge(&house, "a")?;
    say(&format!("4 storms of restarts: {jobs} jobs, 0 lost, 0 doubled"));
    Ok(())
}

#[test]
fn a_backup_restores_the_cluster_after_the_loss_of_everything_else() -> anyhow::Result<()> {
    let mut house = house()?;
    let kantctl = house.kantctl("a")?;
    let done = kantctl.submit(&["-o", "/dev/null"], "#!/bin/sh\ntrue\n")?;
    assert_eq!(kantctl.finished(&done)?.outcome, Some(Outcome::Completed));
    let held = kantctl.ok(&SUBMIT_HELD)?.trim().to_owned();
    let (leader, _) = house.leader()?;
    let told = house.kantctl(&leader)?.ok(&["admin", "backup", "saved"])?;
    assert!(told.contains("saved"), "{told}");
    let last = house.list("a")?.controllers.iter().map(|one| one.id).max();
    for name in ALL {
        house.kill(name)?;
        std::fs::remove_dir_all(&house.config(name)?.state_dir)?;
    }
    let saved = house.dir().join("saved").display().to_string();
    house.verb("a", &["restore", &saved])?;
    house.start("a")?;
    for name in ["b", "c"] {
        house.admit(name, "join", "a")?;
        house.start(name)?;
    }
    let list = house.wait_for_voters("a", 3)?;
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
        say("skipped: only root can mount a small file system");
        return Ok(());
    }
    let mut house = Controllers::new()?;
    house.add("a")?;
    let disk = SmallDisk::mount(Path::new(&house.config("a")?.state_dir), "80m")?;
    house.reconfigure("a", |config| config.disk_reserve_mib = 0)?;
    house.start("a")?;
    for name in ["b", "c"] {
        house.add(name)?;
        house.admit(name, "join", "a")?;
        house.start(name)?;
    }
    house.wait_for_voters("a", 3)?;
    house.start_node("n1")?;
    house.wait_for_nodes("a")?;
    let ((), record) = under_load(&mut house, &["n1"], |house, load| {
        assert_eq!(house.leader()?.0, "a");
        let ballast = disk.fill("ballast")?;
        let kantctl = house.kantctl("b")?;
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
            Ok(house
                .list("b")?
                .controllers
                .into_iter()
                .find(|one| one.role == ControllerRole::Leader && one.name != "a"))
        })?;
        load.wait_for_more(3)?;
        std::fs::remove_file(&ballast)?;
        // It has caught up once it can lead again.
        let a = house.number("b", "a")?;
        wait_for("the full one to have caught up", || {
            let (leader, _) = house.leader()?;
            house.kantctl(&leader)?.run(&["admin", "controller", "transfer", &a.to_string()])?;
            Ok((house.list("b")?.leader == Some(a)).then_some(()))
        })?;
        load.wait_for_more(3)
    })?;
    let jobs = record.judge(&house, "a")?;
    // A refused node waits a minute before it reconnects; a node that cannot be served yet does not.
    let told = std::fs::read_to_string(house.dir().join("kantd-n1.log"))?;
    assert!(!told.contains("refuses this node"), "{told}");
    say(&format!("a full disk: {jobs} jobs, 0 lost, 0 doubled"));
    // A mounted directory cannot be removed.
    drop(disk);
    Ok(())
}
