//! Disaster recovery and operator mistakes: restoring a backup and rebuilding a controller neither
//! damage a running cluster nor mix two clusters.

use anyhow::Context as _;
use common::id::{ClusterId, ControllerId};
use common::wire::api::ControllerRole;
use e2e::{Controllers, Person, is_root, wait_for};
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

const HELD: [&str; 5] = ["submit", "--parsable", "--hold", "--wrap", "true"];

fn numbers(controllers: &Controllers, asked: &str) -> anyhow::Result<BTreeSet<ControllerId>> {
    Ok(controllers.list(asked)?.controllers.iter().map(|one| one.id).collect())
}

#[test]
fn a_backup_is_not_restored_while_the_cluster_is_running() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let (leader, _) = controllers.leader()?;
    let lost = ["b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let kantctl = controllers.kantctl(&leader)?;
    kantctl.ok(&HELD)?;
    let saved = controllers.dir().join("saved").display().to_string();
    kantctl.ok(&["admin", "backup", &saved])?;
    kantctl.refused(&["admin", "backup", &saved], "never overwritten")?;
    let before = numbers(&controllers, &leader)?;
    controllers.kill(lost)?;
    let state = controllers.config(lost)?.state_dir.clone();
    std::fs::remove_dir_all(&state)?;
    // The backup has the addresses of the controllers, even if the configuration does not.
    for forgets in [false, true] {
        if forgets {
            controllers.reconfigure(lost, |config| config.peers.clear())?;
        }
        let answer = controllers.try_verb(lost, &["restore", &saved])?;
        assert_ne!(answer.code, 0);
        for words in ["answers at 127.0.0.1:", "controller ", "kantctld join", "--force"] {
            assert!(answer.stderr.contains(words), "{words}: {}", answer.stderr);
        }
        assert!(!Path::new(&state).join("controller.toml").exists());
    }
    assert_eq!(numbers(&controllers, &leader)?, before);
    kantctl.ok(&HELD)?;
    Ok(())
}

#[test]
fn each_restore_of_a_backup_is_a_new_cluster_with_new_job_ids() -> anyhow::Result<()> {
    let mut controllers = Controllers::one()?;
    let kantctl = controllers.kantctl("a")?;
    let number = || -> anyhow::Result<u32> { Ok(kantctl.ok(&HELD)?.trim().parse()?) };
    let first = number()?;
    let saved = controllers.dir().join("saved").display().to_string();
    kantctl.ok(&["admin", "backup", &saved])?;
    let forgotten = number()?;
    let old = controllers.list("a")?;
    let state = controllers.config("a")?.state_dir.clone();
    let mut clusters: BTreeSet<ClusterId> = [old.cluster].into();
    for turn in 1..=2 {
        controllers.kill("a")?;
        std::fs::rename(&state, controllers.dir().join(format!("old-{turn}")))?;
        controllers.verb("a", &["restore", &saved])?;
        controllers.start("a")?;
        controllers.leader()?;
        let list = controllers.list("a")?;
        assert!(clusters.insert(list.cluster), "a new id each time: {list:?}");
        assert!(list.answering.0 > old.answering.0 + 10, "{list:?}");
        assert_eq!(kantctl.job(&first.to_string())?.outcome, None);
        assert_eq!(kantctl.run(&["show", "job", &forgotten.to_string()])?.code, 1);
        assert!(number()? > forgotten + 1_000_000, "no node knows this job id");
    }
    // A controller of the first restore cannot join the second.
    controllers.add("b")?;
    std::fs::rename(controllers.dir().join("old-2"), &controllers.config("b")?.state_dir)?;
    let (to, invitation) = (controllers.address("a"), controllers.invite("a")?);
    controllers.verb_refused(
        "b",
        &["rebuild", "--to", &to, "--invitation", &invitation],
        "it belonged to cluster",
    )?;
    assert_eq!(controllers.list("a")?.controllers.len(), 1);
    Ok(())
}

#[test]
fn a_cluster_is_restored_from_a_backup_that_its_controller_made_by_itself() -> anyhow::Result<()> {
    let mut controllers = Controllers::one()?;
    let kantctl = controllers.kantctl("a")?;
    let job = kantctl.ok(&HELD)?.trim().to_owned();
    let state = controllers.config("a")?.state_dir.clone();
    let dir = Path::new(&state).join("backups");
    let made = || {
        let Ok(mut entries) = std::fs::read_dir(&dir) else { return Ok(None) };
        let file = entries.next().transpose()?.map(|entry| entry.path());
        Ok(file.filter(|file| file.extension().is_none()))
    };
    let backup = wait_for("the first backup", made)?;
    controllers.kill("a")?;
    let kept = controllers.dir().join("backup");
    std::fs::copy(&backup, &kept)?;
    assert_eq!(std::fs::metadata(&backup)?.permissions().mode() & 0o777, 0o600);
    std::fs::remove_dir_all(&state)?;
    controllers.verb("a", &["restore", &kept.display().to_string()])?;
    controllers.start("a")?;
    controllers.leader()?;
    assert_eq!(kantctl.job(&job)?.outcome, None);
    Ok(())
}

#[test]
fn a_rebuild_removes_only_its_own_unresponsive_id_and_can_be_repeated() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    let (leader, _) = controllers.leader()?;
    let mut others = ["a", "b", "c"].into_iter().filter(|name| *name != leader);
    let (lost, other) = (others.next().context("b")?, others.next().context("c")?);
    let (old, before) = (controllers.number(&leader, lost)?, numbers(&controllers, &leader)?);
    let to = controllers.address(&leader);
    // One invitation for all attempts: a refusal does not use it up.
    let invitation = controllers.invite(&leader)?;
    let rebuild = ["rebuild", "--to", &to, "--invitation", &invitation];

    // A state directory copied from a running controller.
    controllers.add("d")?;
    let copy = controllers.config("d")?.state_dir.clone();
    std::fs::create_dir(&copy)?;
    let membership = Path::new(&controllers.config(other)?.state_dir).join("controller.toml");
    std::fs::copy(membership, Path::new(&copy).join("controller.toml"))?;
    controllers.verb_refused("d", &rebuild, "is running and cannot be replaced")?;
    assert_eq!(numbers(&controllers, &leader)?, before);

    // An address of another controller: no controller is removed for one that cannot join.
    controllers.kill(lost)?;
    let own = controllers.address(lost);
    let taken = controllers.address(other);
    controllers.reconfigure(lost, |config| config.advertise = taken)?;
    controllers.verb_refused(lost, &rebuild, "already")?;
    assert_eq!(numbers(&controllers, &leader)?, before);
    controllers.reconfigure(lost, |config| config.advertise = own)?;

    // The rebuild fails after the cluster has answered.
    let state = controllers.config(lost)?.state_dir.clone();
    let in_the_way = Path::new(&state).join("log.lost-1");
    std::os::unix::fs::symlink("nowhere", &in_the_way)?;
    controllers.verb_refused(lost, &rebuild, "move aside")?;
    // The change takes effect at once; the removed id is listed until the joint configuration ends.
    let half = wait_for("the change to end", || {
        let list = controllers.list(&leader)?;
        Ok((!list.changing).then(|| list.controllers.iter().map(|one| one.id).collect()))
    });
    let half: BTreeSet<ControllerId> = half?;
    assert!(half.len() == 3 && !half.contains(&old), "{half:?}");
    let joins = controllers.list(&leader)?.controllers.into_iter().find(|one| one.name == lost);
    assert_eq!(joins.context("it is known")?.role, ControllerRole::Joining);
    controllers.kantctl(&leader)?.ok(&HELD)?;

    std::fs::remove_file(&in_the_way)?;
    controllers.verb(lost, &rebuild)?;
    controllers.start(lost)?;
    controllers.wait_for_voters(&leader, 3)?;
    assert_eq!(numbers(&controllers, &leader)?, half, "the assigned id, and no fourth");
    Ok(())
}

#[test]
fn status_with_wait_waits_for_a_restarted_controller() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    for name in ["a", "b", "c"] {
        controllers.stop(name)?;
        controllers.launch(name)?;
        let kantctl = controllers.kantctl(name)?;
        let answer = kantctl.run(&["admin", "controller", "status", "--wait"])?;
        assert_eq!(answer.code, 0, "{answer:?}");
        let list = controllers.list(name)?;
        assert_eq!(list.leader, Some(list.answering), "as the leader sees it");
        let is_there = |role| matches!(role, ControllerRole::Leader | ControllerRole::Voter);
        assert!(list.controllers.iter().all(|one| is_there(one.role)), "{list:?}");
        assert!(list.controllers.iter().all(|one| one.heard == Some(true)), "{list:?}");
        let status = kantctl.ok(&["status"])?;
        assert!(status.contains("leads") || status.contains("follows controller"), "{status}");
    }
    // With several configuration files, the one that was read is named.
    let (leader, _) = controllers.leader()?;
    let output = controllers.kantctl(&leader)?.ok(&["reload"])?;
    assert!(output.contains(", the leader: nothing changed"), "{output}");
    Ok(())
}

#[test]
fn files_written_by_root_belong_to_the_owner_of_the_state_directory() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can act for another");
        return Ok(());
    }
    let mut controllers = Controllers::new()?;
    std::fs::set_permissions(controllers.dir(), std::fs::Permissions::from_mode(0o711))?;
    controllers.add("a")?;
    let state = controllers.config("a")?.state_dir.clone();
    let state = Path::new(&state);
    std::fs::create_dir(state)?;
    Person::plain().own(state)?;
    let owner = std::fs::metadata(state)?.uid();
    assert_ne!(owner, 0);
    let key = state.join("key");
    controllers.reconfigure("a", |config| config.cluster_key = key.display().to_string())?;
    controllers.verb("a", &["found"])?;
    for made in [&key, &state.join("controller.toml")] {
        assert_eq!(std::fs::metadata(made)?.uid(), owner, "{}", made.display());
    }
    Ok(())
}
