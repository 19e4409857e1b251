//! The audit log of real daemons: a job submitted on a node, a refusal, a node drained and resumed,
//! and forwarded requests.

use e2e::{Cluster, ClusterOptions, Controllers, Kantctl, Person, wait_for};
use serde_json::Value;
use std::path::Path;

fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The one line with this verb and result.
fn line(path: &Path, verb: &str, result: &str) -> anyhow::Result<Value> {
    let is_it = |line: &Value| line["verb"] == verb && line["result"] == result;
    wait_for(verb, || Ok(lines(path)?.into_iter().find(is_it)))
}

fn timeline(kantctl: &Kantctl, id: &str) -> anyhow::Result<String> {
    Ok(kantctl.job(id)?.timeline.first().map(|line| line.text.clone()).unwrap_or_default())
}

#[test]
fn the_audit_log_records_the_user_the_change_and_the_path_of_a_request() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let log = cluster.dir().join("state/audit.log");
    let (person, operator) = (Person::plain(), cluster.kantctl(Person::me())?);
    let kantctl = cluster.kantctl(person)?;
    let at_node = kantctl.on(&cluster.node_socket("n1"));
    let id = at_node.submit(&["--hold", "--job-name=x\u{e9}"], "#!/bin/sh\n")?;
    assert!(timeline(&kantctl, &id)?.ends_with(" via n1"), "{}", timeline(&kantctl, &id)?);
    let submitted = line(&log, "jobs/submit", "done")?;
    assert_eq!((&submitted["via"], &submitted["target"]), (&"node n1".into(), &id.clone().into()));
    assert_eq!(submitted["uid"], person.uid);

    if let Some(other) = Person::other() {
        let refused = cluster.kantctl(other)?.run(&["cancel", &id])?;
        assert_eq!(refused.code, 1, "{refused:?}");
        let refused = line(&log, "jobs/cancel", "refused")?;
        assert_eq!((&refused["uid"], &refused["code"]), (&other.uid.into(), &"not_yours".into()));
        assert_eq!((&refused["via"], &refused["target"]), (&"socket".into(), &id.clone().into()));
    }
    kantctl.ok(&["cancel", &id])?;
    line(&log, "jobs/cancel", "done")?;

    let answer = operator.ok(&["drain", "--json", "n1", "--reason=new fans"])?;
    assert!(answer.contains("\"n1\""), "{answer}");
    let drained = line(&log, "nodes/drain", "done")?;
    assert_eq!((&drained["target"], &drained["detail"]), (&"n1".into(), &"new fans".into()));
    let by = format!(" by {}", drained["user"].as_str().unwrap_or_default());
    let says = |fact: &str| -> anyhow::Result<()> {
        let shown = operator.ok(&["show", "node", "n1"])?;
        let is_shown = shown.lines().any(|line| line.starts_with(fact) && line.ends_with(&by));
        anyhow::ensure!(is_shown, "no `{fact} ...{by}` in:\n{shown}");
        Ok(())
    };
    says("drained ")?;
    operator.ok(&["resume", "n1"])?;
    says("resumed ")?;
    line(&log, "nodes/resume", "done")?;
    // Queries are not logged.
    let looks = lines(&log)?.iter().filter(|line| line["verb"] == "jobs").count();
    assert_eq!(looks, 0);
    Ok(())
}

#[test]
fn a_forwarded_request_has_one_line_with_its_full_path() -> anyhow::Result<()> {
    let controllers = Controllers::three()?;
    let (leader, _) = controllers.leader()?;
    let other = ["a", "b", "c"].into_iter().find(|name| *name != leader).unwrap_or("a");
    let id = controllers.kantctl(other)?.submit(&["--hold"], "#!/bin/sh\n")?;
    let log = |name: &str| -> anyhow::Result<std::path::PathBuf> {
        Ok(Path::new(&controllers.config(name)?.state_dir).join("audit.log"))
    };
    let submitted = line(&log(&leader)?, "jobs/submit", "done")?;
    assert_eq!((&submitted["via"], &submitted["target"]), (&"socket".into(), &id.into()));
    let through = submitted["through"].as_str().unwrap_or_default();
    assert!(through.starts_with("controller "), "{submitted}");
    let elsewhere = lines(&log(other)?)?;
    assert!(elsewhere.iter().all(|line| line["verb"] != "jobs/submit"), "{elsewhere:?}");
    Ok(())
}
