//! `private`: to an ordinary user, a job of another does not exist.

use common::config::{ControllerConfig, Private, QueueTable};
use common::id::QueueName;
use common::job::Phase;
use common::wire::api::{JobList, NodeList};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, UNTIL_ENOUGH, is_root, wait_for};
use serde_json::Value;
use std::fs::File;

const COORDINATOR: Person = Person { uid: 23_003 };
/// The user bin, whose group has the role.
const VIEWER: Person = Person { uid: 2 };

fn private(config: &mut ControllerConfig) {
    let name = QueueName::new("lab").ok();
    let coordinators = vec!["23003".to_owned()];
    config.queue = vec![QueueTable { name, coordinators, ..QueueTable::default() }];
    config.roles.viewers = vec!["@bin".to_owned()];
    config.private = vec![Private::Jobs, Private::Usage, Private::Nodes];
}

/// The jobs in a user's queue.
fn listed(kantctl: &Kantctl) -> anyhow::Result<Vec<String>> {
    let list: JobList = kantctl.json(&["queue", "--all"])?;
    Ok(list.jobs.iter().map(|job| job.key.to_string()).collect())
}

fn runs(kantctl: &Kantctl) -> anyhow::Result<usize> {
    let text = kantctl.ok(&["history", "--csv", "-o", "id"])?;
    Ok(text.lines().skip(1).count())
}

#[test]
fn a_job_of_another_user_does_not_exist() -> anyhow::Result<()> {
    if !is_root() {
        eprintln!("skipped: only root can act as several users");
        return Ok(());
    }
    let controller = Some(private as fn(&mut ControllerConfig));
    let cluster =
        Cluster::start(ClusterOptions { controller, ..ClusterOptions::cpu_nodes(&["n1"]) })?;
    let owner = cluster.kantctl(Person::plain())?;
    let other = cluster.kantctl(Person { uid: 23_002 })?;
    let readers = [cluster.kantctl(COORDINATOR)?, cluster.kantctl(VIEWER)?];
    let runs_on = owner.submit(&[], UNTIL_ENOUGH)?;
    owner.until(&runs_on, Phase::Running)?;
    let waits = owner.submit(&["--hold", "--job-name=secret"], "#!/bin/sh\n")?;

    let out = other.dir().join("watch.out");
    let mut watch =
        other.command().args(["watch", "--json"]).stdout(File::create(&out)?).spawn()?;
    let watched = || anyhow::Ok(std::fs::read_to_string(&out)?);
    wait_for("the watch", || Ok((!watched()?.is_empty()).then_some(())))?;

    for id in [&runs_on, &waits] {
        for words in [
            &["show", "job"][..],
            &["explain"],
            &["explain", "--solve"],
            &["logs"],
            &["cancel"],
            &["hold"],
            &["release"],
            &["requeue"],
            &["update", "--time=5"],
            &["checkpoint"],
            &["wait"],
        ] {
            let answer = |id: &str| other.run(&[words, &[id]].concat());
            let (hidden, absent) = (answer(id)?, answer("9")?);
            let shown = |text: &str, id: &str| text.replace(&format!(" {id}"), " X");
            assert_ne!(hidden.code, 0, "{words:?} {hidden:?}");
            assert_eq!(hidden.code, absent.code, "{words:?} {hidden:?} {absent:?}");
            assert_eq!(shown(&hidden.stderr, id), shown(&absent.stderr, "9"), "{words:?}");
        }
        let dependency = format!("--dependency=afterany:{id}");
        other.refused(&["submit", "--hold", &dependency, "--wrap", "true"], "there is no job")?;
    }
    assert_eq!(listed(&other)?, [""; 0]);
    assert!(other.json::<NodeList>(&["nodes"])?.nodes.is_empty());
    for reader in &readers {
        assert_eq!(listed(reader)?.len(), 2);
        reader.ok(&["explain", &waits])?;
    }
    let own = other.submit(&["--hold"], "#!/bin/sh\n")?;
    assert_eq!(listed(&other)?, std::slice::from_ref(&own));

    owner.touch("enough")?;
    owner.completed(&runs_on)?;
    owner.ok(&["cancel", &waits])?;
    other.ok(&["cancel", &own])?;
    let is_end = |line: &Value| line["event"] == "JobDone" && line["job"] == own.as_str();
    let lines = || -> anyhow::Result<Vec<Value>> {
        let text = watched()?;
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    };
    wait_for("the end of the own job", || Ok(lines()?.iter().any(is_end).then_some(())))?;
    watch.kill()?;
    watch.wait()?;
    for line in lines()? {
        assert!(line["job"].is_null() || line["job"] == own.as_str(), "{line}");
        assert!(!line["event"].as_str().unwrap_or_default().starts_with("Node"), "{line}");
    }
    assert_eq!((runs(&owner)?, runs(&other)?), (2, 1));
    assert_eq!(runs(&readers[1])?, 3);
    let report = |kantctl: &Kantctl| kantctl.ok(&["report", "--by", "user", "--csv"]);
    assert!(!report(&other)?.contains("23001"), "{}", report(&other)?);
    assert!(report(&readers[1])?.contains("23001"), "{}", report(&readers[1])?);
    Ok(())
}
