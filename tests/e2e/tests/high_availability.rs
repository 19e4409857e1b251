//! Three controllers on loopback: any one may burn. And what must be refused is refused, with a
//! clear message and nothing harmed.

use anyhow::Context as _;
use common::job::Outcome;
use common::wire::api::ControllerRole;
use e2e::{Controllers, SmallDisk, is_root, wait_for};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

/// Runs until a file appears; a second start would write a second `begin`.
const LONG: &str = "#!/bin/sh\necho begin\nwhile [ ! -e stop ]; do sleep 0.1; done\necho end\n";

#[test]
fn a_job_survives_the_leader_that_accepted_it() -> anyhow::Result<()> {
    let mut house = Controllers::three()?;
    house.start_node("n1")?;
    let (leader, _) = house.leader()?;
    let follower = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let kantctl = house.kantctl(follower)?;
    // Asked of a follower: it passes the job on.
    let long = kantctl.submit(&["-o", "long.out"], LONG)?;
    wait_for("the job to run", || Ok(kantctl.job(&long)?.started_at.map(|_| ())))?;
    let key = ["submit", "--parsable", "--hold", "script.sh"];
    let held = kantctl.ok(&key)?.trim().to_owned();

    house.kill(&leader)?;
    let (next, _) = house.leader()?;
    assert_ne!(next, leader);
    assert_eq!(kantctl.job(&held)?.outcome, None, "what was acknowledged is there");
    std::fs::write(house.dir().join("stop"), "")?;
    let job = kantctl.finished(&long)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::Completed), 1));
    assert_eq!(std::fs::read_to_string(house.dir().join("long.out"))?, "begin\nend\n");

    // The dead one comes back and follows.
    house.start(&leader)?;
    house.leader()?;
    assert_eq!(house.kantctl(&leader)?.job(&held)?.key.to_string(), held);
    Ok(())
}

#[test]
fn a_leader_that_is_told_to_stop_hands_the_lead_over_first() -> anyhow::Result<()> {
    let mut house = Controllers::three()?;
    let (leader, id) = house.leader()?;
    house.stop(&leader)?;
    assert!(house.log(&leader).contains("another controller leads"), "{}", house.log(&leader));
    let (now, next) = house.leader()?;
    assert_ne!(next, id);
    let wish = next.to_string();
    house.start(&leader)?;
    let told = house.kantctl(&leader)?.run(&["admin", "controller", "remove", &wish])?;
    assert!(told.code == 1 && told.stderr.contains(&format!("controller {wish} ")), "{told:?}");
    let kantctl = house.kantctl(&now)?;
    let answer = kantctl.run(&["admin", "controller", "remove", &wish])?;
    assert_eq!(answer.code, 1, "who leads is not removed");
    assert!(answer.stderr.contains("transfer"), "{}", answer.stderr);
    wait_for("the old leader to have caught up", || {
        let back = kantctl.run(&["admin", "controller", "transfer", &id.to_string()])?;
        Ok((back.code == 0).then_some(()))
    })?;
    assert_eq!(house.leader()?.1, id);
    house.kantctl(&leader)?.ok(&["admin", "controller", "remove", &wish])?;
    let list = house.wait_for_voters(&leader, 2)?;
    assert!(list.controllers.iter().all(|controller| controller.id != next), "{list:?}");
    Ok(())
}

#[test]
fn a_controller_whose_log_is_lost_is_refused_and_rebuilt_from_the_others() -> anyhow::Result<()> {
    let mut house = Controllers::three()?;
    let (leader, _) = house.leader()?;
    let lost = ["b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let old = house.list(lost)?.controllers.into_iter().find(|c| c.name == lost);
    let old = old.context("it is a member")?.id;
    house.kill(lost)?;
    let log = format!("{}/log", house.config(lost)?.state_dir);
    std::fs::remove_dir_all(&log)?;
    let answer = house.try_verb(lost, &[])?;
    assert_ne!(answer.code, 0);
    assert!(answer.stderr.contains("kantctld rebuild"), "{}", answer.stderr);

    let told = house.admit(lost, "rebuild", &leader)?;
    assert!(told.contains("this is now controller"), "{told}");
    house.start(lost)?;
    let list = house.wait_for_voters(&leader, 3)?;
    let new = list.controllers.iter().find(|c| c.name == lost).context("it is one again")?;
    assert!(new.id > old, "an id is never given again: {list:?}");
    assert_eq!(list.controllers.len(), 3);
    Ok(())
}

#[test]
fn what_makes_no_cluster_is_refused_and_harms_nothing() -> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    house.add("a")?;
    house.start("a")?;
    let kantctl = house.kantctl("a")?;

    // Nobody said what an empty directory beside named peers is to become.
    house.add("b")?;
    let answer = house.try_verb("b", &[])?;
    assert!(answer.code != 0 && answer.stderr.contains("kantctld join"), "{}", answer.stderr);
    // A second bootstrap.
    let answer = house.try_verb("a", &["found"])?;
    assert!(answer.code != 0 && answer.stderr.contains("already"), "{}", answer.stderr);
    // Another cluster's key.
    let key = house.config("a")?.cluster_key.clone();
    let other = house.dir().join("other.key").display().to_string();
    house.reconfigure("b", |config| config.cluster_key.clone_from(&other))?;
    let to_a = house.address("a");
    let invitation = house.invite("a")?;
    let join = ["join", "--to", to_a.as_str(), "--invitation", &invitation];
    let answer = house.try_verb("b", &join)?;
    assert!(answer.code != 0 && answer.stderr.contains("no cluster key"), "{}", answer.stderr);
    house.verb("b", &["found"])?;
    std::fs::remove_dir_all(&house.config("b")?.state_dir)?;
    let answer = house.try_verb("b", &join)?;
    assert!(answer.code != 0 && answer.stderr.contains("same cluster key"), "{}", answer.stderr);
    // A directory that has a cluster joins no other.
    house.reconfigure("b", |config| config.cluster_key.clone_from(&key))?;
    house.verb("b", &["found"])?;
    let answer = house.try_verb("b", &join)?;
    assert!(answer.code != 0 && answer.stderr.contains("empty directory"), "{}", answer.stderr);
    // The last voter.
    let answer = kantctl.run(&["admin", "controller", "remove", "1"])?;
    assert!(answer.code == 1 && answer.stderr.contains("is the last voter"), "{answer:?}");
    let answer = kantctl.run(&["admin", "controller", "promote", "7"])?;
    assert!(answer.code == 1 && answer.stderr.contains("no controller 7"), "{answer:?}");
    // A voice without a certificate.
    garbage(&to_a)?;
    let list = house.list("a")?;
    assert_eq!(list.controllers.len(), 1);
    assert_eq!(list.controllers[0].role, ControllerRole::Leader);
    kantctl.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}

/// Bytes that are no handshake: the port closes, and goes on for others.
fn garbage(address: &str) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(e2e::DEADLINE))?;
    stream.write_all(&[0x5a; 4096])?;
    // An alert, or nothing, then the end: closed by the other side either way.
    let _ = stream.read_to_end(&mut Vec::new());
    Ok(())
}

#[test]
fn a_cluster_grows_online_and_an_address_belongs_to_one() -> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    house.add("a")?;
    let told = house.verb("a", &["found"])?;
    assert!(told.contains("kantctld join"), "{told}");
    house.start("a")?;
    let early = house.kantctl("a")?;
    let job = early.ok(&["submit", "--parsable", "--hold", "--wrap", "true"])?.trim().to_owned();
    house.add("b")?;
    // By way of its `peers`.
    house.verb("b", &["join", "--learner", "--invitation", &house.invite("a")?])?;
    house.start("b")?;
    let learner = wait_for("the learner", || {
        let list = house.list("a")?;
        let b = list.controllers.into_iter().find(|c| c.name == "b");
        Ok(b.filter(|b| b.heard == Some(true) && b.behind == Some(0)))
    })?;
    assert_eq!(learner.role, ControllerRole::Learner);
    let by_b = house.kantctl("b")?;
    assert_eq!(by_b.job(&job)?.key.to_string(), job, "asked of one that only listens");
    early.ok(&["admin", "controller", "promote", &learner.id.to_string()])?;
    house.wait_for_voters("a", 2)?;

    let answer = early.run(&["admin", "controller", "promote", &learner.id.to_string()])?;
    assert!(answer.code == 1 && answer.stderr.contains("is already a voter"), "{answer:?}");
    // An address that is another's already.
    house.add("c")?;
    let taken = house.address("b");
    house.reconfigure("c", |config| config.advertise = taken)?;
    let (to, invitation) = (house.address("a"), house.invite("a")?);
    let answer = house.try_verb("c", &["join", "--to", &to, "--invitation", &invitation])?;
    assert!(answer.code != 0 && answer.stderr.contains("already"), "{answer:?}");
    Ok(())
}

#[test]
fn with_a_nearly_full_disk_no_jobs_are_accepted_and_all_else_goes_on() -> anyhow::Result<()> {
    let mut house = Controllers::new()?;
    house.add("a")?;
    house.start("a")?;
    let kantctl = house.kantctl("a")?;
    let submit = ["submit", "--parsable", "--hold", "--wrap", "true"];
    let job = kantctl.ok(&submit)?.trim().to_owned();
    house.stop("a")?;
    house.reconfigure("a", |config| config.disk_reserve_mib = 1 << 40)?;
    house.start("a")?;
    let answer = kantctl.run(&submit)?;
    assert!(answer.code == 1 && answer.stderr.contains("disk_reserve_mib"), "{answer:?}");
    kantctl.ok(&["cancel", &job])?;
    assert_eq!(kantctl.job(&job)?.outcome, Some(Outcome::Cancelled));
    Ok(())
}

#[test]
fn on_a_read_only_disk_a_controller_does_not_start_and_says_which_it_is() -> anyhow::Result<()> {
    if !is_root() {
        // Past the capture of tests' output.
        let _ = writeln!(std::io::stderr(), "skipped: only root can mount a small file system");
        return Ok(());
    }
    let mut house = Controllers::new()?;
    house.add("a")?;
    let dir = house.config("a")?.state_dir.clone();
    let disk = SmallDisk::mount(Path::new(&dir), "80m")?;
    house.reconfigure("a", |config| config.disk_reserve_mib = 0)?;
    house.start("a")?;
    let kantctl = house.kantctl("a")?;
    let submit = ["submit", "--parsable", "--hold", "--wrap", "true"];
    let job = kantctl.ok(&submit)?.trim().to_owned();
    house.stop("a")?;
    disk.set_read_only(true)?;
    let answer = house.try_verb("a", &[])?;
    assert_ne!(answer.code, 0);
    let said = &answer.stderr;
    assert!(said.contains("Read-only file system") && said.contains(&dir), "{said}");
    disk.set_read_only(false)?;
    house.start("a")?;
    assert_eq!(kantctl.job(&job)?.outcome, None, "nothing was harmed");
    house.kill("a")?;
    drop(disk);
    Ok(())
}
