//! Three controllers on loopback: any one may fail, and invalid operations are refused with a clear
//! message and without damage.

use anyhow::Context as _;
use common::job::{Outcome, Phase};
use common::wire::api::ControllerRole;
use e2e::{Controllers, SmallDisk, is_root, wait_for};
use net::{Authority, ClusterKey, Invitation};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

/// A script that runs until a file exists; a second start would write a second `begin`.
const LONG: &str = "#!/bin/sh\necho begin\nwhile [ ! -e stop ]; do sleep 0.1; done\necho end\n";

#[test]
fn a_job_survives_the_leader_that_accepted_it() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    controllers.start_node("n1")?;
    let (leader, _) = controllers.leader()?;
    let follower = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let kantctl = controllers.kantctl(follower)?;
    // A follower forwards the submission.
    let long = kantctl.submit(&["-o", "long.out"], LONG)?;
    kantctl.until(&long, Phase::Running)?;
    let key = ["submit", "--parsable", "--hold", "script.sh"];
    let held = kantctl.ok(&key)?.trim().to_owned();

    controllers.kill(&leader)?;
    let (next, _) = controllers.leader()?;
    assert_ne!(next, leader);
    assert_eq!(kantctl.job(&held)?.outcome, None, "the acknowledged job exists");
    std::fs::write(controllers.dir().join("stop"), "")?;
    let job = kantctl.completed(&long)?;
    assert_eq!(job.attempt, 1);
    assert_eq!(std::fs::read_to_string(controllers.dir().join("long.out"))?, "begin\nend\n");

    // The killed controller returns and follows.
    controllers.start(&leader)?;
    controllers.leader()?;
    assert_eq!(controllers.kantctl(&leader)?.job(&held)?.key.to_string(), held);
    Ok(())
}

#[test]
fn a_leader_transfers_leadership_before_it_stops() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let (leader, id) = controllers.leader()?;
    controllers.stop(&leader)?;
    assert!(
        controllers.log(&leader).contains("another controller leads"),
        "{}",
        controllers.log(&leader)
    );
    let (now, next) = controllers.leader()?;
    assert_ne!(next, id);
    let next_id = next.to_string();
    controllers.start(&leader)?;
    let removal =
        controllers.kantctl(&leader)?.run(&["admin", "controller", "remove", &next_id])?;
    assert!(
        removal.code == 1 && removal.stderr.contains(&format!("controller {next_id} ")),
        "{removal:?}"
    );
    let kantctl = controllers.kantctl(&now)?;
    let answer = kantctl.run(&["admin", "controller", "remove", &next_id])?;
    assert_eq!(answer.code, 1, "the leader is not removed");
    assert!(answer.stderr.contains("transfer"), "{}", answer.stderr);
    wait_for("the old leader to have caught up", || {
        let back = kantctl.run(&["admin", "controller", "transfer", &id.to_string()])?;
        Ok((back.code == 0).then_some(()))
    })?;
    assert_eq!(controllers.leader()?.1, id);
    controllers.kantctl(&leader)?.ok(&["admin", "controller", "remove", &next_id])?;
    let list = controllers.wait_for_voters(&leader, 2)?;
    assert!(list.controllers.iter().all(|controller| controller.id != next), "{list:?}");
    Ok(())
}

#[test]
fn a_controller_that_lost_its_log_is_refused_and_rebuilt_from_the_others() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let (leader, _) = controllers.leader()?;
    let lost = ["b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let old = controllers.list(lost)?.controllers.into_iter().find(|c| c.name == lost);
    let old = old.context("it is a member")?.id;
    controllers.kill(lost)?;
    let log = format!("{}/log", controllers.config(lost)?.state_dir);
    std::fs::remove_dir_all(&log)?;
    let answer = controllers.try_verb(lost, &[])?;
    assert_ne!(answer.code, 0);
    assert!(answer.stderr.contains("kantctld rebuild"), "{}", answer.stderr);

    let output = controllers.admit(lost, "rebuild", &leader)?;
    assert!(output.contains("this is now controller"), "{output}");
    controllers.start(lost)?;
    let list = controllers.wait_for_voters(&leader, 3)?;
    let new = list.controllers.iter().find(|c| c.name == lost).context("it is one again")?;
    assert!(new.id > old, "an id is never reused: {list:?}");
    assert_eq!(list.controllers.len(), 3);
    Ok(())
}

#[test]
fn invalid_cluster_operations_are_refused_without_damage() -> anyhow::Result<()> {
    let mut controllers = Controllers::one()?;
    let kantctl = controllers.kantctl("a")?;

    // With an empty directory and named peers, the operator must say whether to bootstrap or join.
    controllers.add("b")?;
    controllers.verb_refused("b", &[], "kantctld join")?;
    // A second bootstrap.
    controllers.verb_refused("a", &["found"], "already")?;
    // Another cluster's key.
    let to_a = controllers.address("a");
    let invitation = controllers.invite("a")?;
    let join = ["join", "--to", to_a.as_str(), "--invitation", &invitation];
    controllers.verb("b", &["found"])?;
    std::fs::remove_dir_all(&controllers.config("b")?.state_dir)?;
    controllers.verb_refused("b", &join, "key of another cluster")?;
    std::fs::remove_file(&controllers.config("b")?.cluster_key)?;
    let foreign = Authority::new(&ClusterKey::generate()?)?.fingerprint();
    let foreign = Invitation::new(foreign)?.to_string();
    let join_foreign = ["join", "--to", to_a.as_str(), "--invitation", &foreign];
    controllers.verb_refused("b", &join_foreign, "of this host's cluster")?;
    // A directory of one cluster cannot join another.
    controllers.verb("b", &["found"])?;
    controllers.verb_refused("b", &join, "empty directory")?;
    // The last voter.
    kantctl.refused(&["admin", "controller", "remove", "1"], "is the last voter")?;
    kantctl.refused(&["admin", "controller", "promote", "7"], "no controller 7")?;
    // A connection without a certificate.
    garbage(&to_a)?;
    let list = controllers.list("a")?;
    assert_eq!(list.controllers.len(), 1);
    assert_eq!(list.controllers[0].role, ControllerRole::Leader);
    kantctl.ok(&["submit", "--hold", "--wrap", "true"])?;
    Ok(())
}

/// Bytes that are not a handshake: the connection is closed, and others are still served.
fn garbage(address: &str) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(e2e::DEADLINE))?;
    stream.write_all(&[0x5a; 4096])?;
    // The peer may send an alert, and closes the connection.
    let _ = stream.read_to_end(&mut Vec::new());
    Ok(())
}

#[test]
fn controllers_join_online_and_an_address_belongs_to_one_controller() -> anyhow::Result<()> {
    let mut controllers = Controllers::new()?;
    controllers.add("a")?;
    let output = controllers.verb("a", &["found"])?;
    assert!(output.contains("kantctld join"), "{output}");
    controllers.start("a")?;
    let early = controllers.kantctl("a")?;
    let job = early.ok(&["submit", "--parsable", "--hold", "--wrap", "true"])?.trim().to_owned();
    controllers.add("b")?;
    // WholeController its `peers`.
    controllers.verb("b", &["join", "--learner", "--invitation", &controllers.invite("a")?])?;
    controllers.start("b")?;
    let learner = wait_for("the learner", || {
        let list = controllers.list("a")?;
        let b = list.controllers.into_iter().find(|c| c.name == "b");
        Ok(b.filter(|b| b.heard == Some(true) && b.behind == Some(0)))
    })?;
    assert_eq!(learner.role, ControllerRole::Learner);
    let by_b = controllers.kantctl("b")?;
    assert_eq!(by_b.job(&job)?.key.to_string(), job, "answered by a learner");
    early.ok(&["admin", "controller", "promote", &learner.id.to_string()])?;
    controllers.wait_for_voters("a", 2)?;

    early.refused(
        &["admin", "controller", "promote", &learner.id.to_string()],
        "is already a voter",
    )?;
    // An address of another controller.
    controllers.add("c")?;
    let taken = controllers.address("b");
    controllers.reconfigure("c", |config| config.advertise = taken)?;
    let (to, invitation) = (controllers.address("a"), controllers.invite("a")?);
    controllers.verb_refused(
        "c",
        &["join", "--to", &to, "--invitation", &invitation],
        "already",
    )?;
    Ok(())
}

#[test]
fn with_a_nearly_full_disk_only_submissions_are_refused() -> anyhow::Result<()> {
    let mut controllers = Controllers::one()?;
    let kantctl = controllers.kantctl("a")?;
    let submit = ["submit", "--parsable", "--hold", "--wrap", "true"];
    let job = kantctl.ok(&submit)?.trim().to_owned();
    controllers.stop("a")?;
    controllers.reconfigure("a", |config| config.disk_reserve_mib = 1 << 40)?;
    controllers.start("a")?;
    kantctl.refused(&submit, "disk_reserve_mib")?;
    kantctl.ok(&["cancel", &job])?;
    assert_eq!(kantctl.job(&job)?.outcome, Some(Outcome::Cancelled));
    Ok(())
}

#[test]
fn on_a_read_only_disk_a_controller_does_not_start_and_names_the_directory() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can mount a small file system");
        return Ok(());
    }
    let mut controllers = Controllers::new()?;
    controllers.add("a")?;
    let dir = controllers.config("a")?.state_dir.clone();
    let disk = SmallDisk::mount(Path::new(&dir), "80m")?;
    controllers.reconfigure("a", |config| config.disk_reserve_mib = 0)?;
    controllers.start("a")?;
    let kantctl = controllers.kantctl("a")?;
    let submit = ["submit", "--parsable", "--hold", "--wrap", "true"];
    let job = kantctl.ok(&submit)?.trim().to_owned();
    controllers.stop("a")?;
    disk.set_read_only(true)?;
    let answer = controllers.try_verb("a", &[])?;
    assert_ne!(answer.code, 0);
    let stderr = &answer.stderr;
    assert!(stderr.contains("Read-only file system") && stderr.contains(&dir), "{stderr}");
    disk.set_read_only(false)?;
    controllers.start("a")?;
    assert_eq!(kantctl.job(&job)?.outcome, None, "the job is unharmed");
    controllers.kill("a")?;
    drop(disk);
    Ok(())
}
