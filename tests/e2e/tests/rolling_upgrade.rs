//! Controllers are upgraded one after another to a release with other rules: nothing stops, the old
//! release can come back until all have the new one, and not afterwards. The next release is this
//! one with the feature `next-rules`.

use common::id::JobId;
use common::job::Phase;
use common::rules_level::RulesLevel;
use common::wire::api::{UpgradeStep, UpgradeView};
use e2e::{Controllers, Kantctl, LONG, under_load, wait_for};

/// What only the next release understands.
const WITH_NOTE: [&str; 3] = ["drain", "n2", "--reason=disk|replace it"];

fn status(kantctl: &Kantctl) -> anyhow::Result<UpgradeView> {
    kantctl.json(&["admin", "upgrade", "status"])
}

/// Waits until the leader shows that this is the next step.
fn until(
    controllers: &Controllers,
    what: &str,
    is_it: impl Fn(&UpgradeView) -> bool,
) -> anyhow::Result<UpgradeView> {
    wait_for(what, || {
        let Ok((leader, _)) = controllers.leader() else { return Ok(None) };
        Ok(status(&controllers.kantctl(&leader)?).ok().filter(&is_it))
    })
}

/// Does a submission have the effect that it has under the rules of the next release? The job has
/// a comment then.
fn follows_next_rules(kantctl: &Kantctl, job: &str) -> anyhow::Result<bool> {
    let shown: serde_json::Value = kantctl.json(&["show", job])?;
    Ok(shown.to_string().contains("level-2"))
}

fn replace(controllers: &mut Controllers, name: &str, is_next: bool) -> anyhow::Result<()> {
    controllers.stop(name)?;
    controllers.install(name, is_next)?;
    controllers.start(name)?;
    until(controllers, "all controllers to report", |view| {
        !matches!(view.next, UpgradeStep::WaitForController { .. })
    })?;
    Ok(())
}

#[test]
fn an_upgrade_under_load_fails_no_submission_and_cannot_be_undone_at_the_end() -> anyhow::Result<()>
{
    let mut controllers = Controllers::three()?;
    let nodes = ["n1", "n2"];
    nodes.iter().try_for_each(|node| controllers.start_node(node))?;
    controllers.wait_for_nodes("a")?;
    let (long, record) = under_load(&mut controllers, &nodes, |controllers, load| {
        let (leader, _) = controllers.leader()?;
        let kantctl = controllers.kantctl(&leader)?;
        let long = kantctl.submit(&["-o", "/dev/null"], LONG)?;
        load.note(JobId(long.parse()?));
        kantctl.until(&long, Phase::Running)?;
        let others: Vec<&str> = ["a", "b", "c"].into_iter().filter(|n| **n != *leader).collect();
        // One way and back: nothing has changed yet.
        replace(controllers, others[0], true)?;
        load.wait_for_more(10)?;
        replace(controllers, others[0], false)?;
        load.wait_for_more(10)?;
        for name in &others {
            replace(controllers, name, true)?;
            load.wait_for_more(10)?;
        }
        // A leader of the next release, and one controller of this one.
        let id = controllers.list(others[0])?.controllers;
        let id = id.iter().find(|one| one.name == others[0]).map(|one| one.id.to_string());
        let id = id.unwrap_or_default();
        controllers.kantctl(&leader)?.ok(&["admin", "controller", "transfer", &id])?;
        let next = controllers.kantctl(others[0])?;
        next.refused(&WITH_NOTE, "rules level 2")?;
        let job = next.submit(&["-o", "/dev/null"], LONG)?;
        load.note(JobId(job.parse()?));
        assert!(!follows_next_rules(&next, &job)?, "the old rules are in force");
        load.wait_for_more(10)?;
        replace(controllers, &leader, true)?;
        until(controllers, "the rules level to rise", |view| view.level == RulesLevel(2))?;
        load.wait_for_more(10)?;
        Ok(long)
    })?;
    assert_eq!(record.failed, Vec::<String>::new());
    let (leader, _) = controllers.leader()?;
    let kantctl = controllers.kantctl(&leader)?;
    kantctl.ok(&WITH_NOTE)?;
    assert_eq!(kantctl.job(&long)?.attempt, 1);
    std::fs::write(controllers.dir().join("stop"), "")?;
    kantctl.completed(&long)?;
    record.judge(&controllers, &leader)?;
    let job = kantctl.submit(&["--hold"], "#!/bin/sh\n")?;
    assert!(follows_next_rules(&kantctl, &job)?, "the new rules are in force");

    // This release does not start any more, and the next one goes on.
    let other = ["a", "b", "c"].into_iter().find(|name| *name != leader).unwrap_or("a");
    controllers.stop(other)?;
    controllers.install(other, false)?;
    controllers.verb_refused(other, &[], "needs rules level 2")?;
    replace(&mut controllers, other, true)?;
    Ok(())
}
