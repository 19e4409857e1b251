//! A first job, from `kantctl submit` to its exit code, as its user.

use common::job::{Outcome, Phase};
use e2e::{Cluster, ClusterOptions, Person};

fn one_node() -> ClusterOptions {
    ClusterOptions::cpu_nodes(&["n1"])
}

#[test]
fn a_script_runs_and_its_exit_code_comes_back() -> anyhow::Result<()> {
    let cluster = Cluster::start(one_node())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let good =
        kantctl.submit(&["--output=good.out"], "#!/bin/sh\necho hello from $SLURM_JOB_ID\n")?;
    let bad = kantctl.submit(&["--output=bad.out"], "#!/bin/sh\nexit 7\n")?;
    let job = kantctl.finished(&good)?;
    assert_eq!((job.phase, job.outcome), (Phase::Done, Some(Outcome::Completed)));
    let output = kantctl.read("good.out")?;
    assert_eq!(output, format!("hello from {good}\n"));
    let job = kantctl.finished(&bad)?;
    assert_eq!(job.outcome, Some(Outcome::Failed));
    assert_eq!(job.exit.map(|exit| exit.code), Some(7));
    assert_eq!(kantctl.run(&["wait", &bad])?.code, 7, "wait ends with the job's code");
    Ok(())
}

#[test]
fn a_jobs_timeline_has_all_its_events() -> anyhow::Result<()> {
    let cluster = Cluster::start(one_node())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    // A job that ends before its first report has no line for running, so this one waits.
    let script = "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\n";
    let id = kantctl.submit(&[], script)?;
    kantctl.until(&id, Phase::Running)?;
    kantctl.touch("go")?;
    kantctl.finished(&id)?;
    let timeline: Vec<String> = kantctl.job(&id)?.timeline.into_iter().map(|l| l.text).collect();
    let text = timeline.join("\n");
    for word in ["submitted", "start", "run", "n1"] {
        assert!(text.to_lowercase().contains(word), "no `{word}` in:\n{text}");
    }
    Ok(())
}

#[test]
fn a_job_runs_as_its_owner_with_the_owners_groups_files_and_directory() -> anyhow::Result<()> {
    let Some(_) = Person::other() else { return Ok(()) };
    let cluster = Cluster::start(one_node())?;
    let person = Person::plain();
    let kantctl = cluster.kantctl(person)?;
    let script = "#!/bin/sh\nid -u; id -g; id -G; pwd; umask; touch made\n";
    let id = kantctl.submit(&["--output=who.out"], script)?;
    kantctl.completed(&id)?;
    let output = kantctl.read("who.out")?;
    let lines: Vec<&str> = output.lines().collect();
    let uid = person.uid.to_string();
    assert_eq!(lines[..3], [uid.as_str(); 3], "uid, gid and groups");
    assert_eq!(lines[3], kantctl.dir().to_str().unwrap_or_default());
    use std::os::unix::fs::MetadataExt as _;
    for file in ["who.out", "made"] {
        let meta = std::fs::metadata(kantctl.dir().join(file))?;
        assert_eq!((meta.uid(), meta.gid()), (person.uid, person.uid), "{file}");
    }
    Ok(())
}

#[test]
fn only_operators_cancel_and_read_jobs_of_other_users() -> anyhow::Result<()> {
    let Some(other) = Person::other() else { return Ok(()) };
    let cluster = Cluster::start(one_node())?;
    let (mine, theirs) = (cluster.kantctl(Person::plain())?, cluster.kantctl(other)?);
    let id = mine.submit(&[], "#!/bin/sh\nsleep 600\n")?;
    mine.until(&id, Phase::Running)?;
    for verb in ["cancel", "hold", "requeue", "logs"] {
        let answer = theirs.run(&[verb, &id])?;
        assert_eq!(answer.code, 1, "{verb}: {answer:?}");
        assert!(answer.stderr.contains("belongs to"), "{verb}: {}", answer.stderr);
    }
    mine.refused(&["drain", "n1", "--reason", "mine"], "not an operator")?;
    cluster.kantctl(Person::me())?.ok(&["cancel", &id])?;
    assert_eq!(mine.finished(&id)?.outcome, Some(Outcome::Cancelled));
    Ok(())
}

#[test]
fn jobs_of_root_are_refused_by_default() -> anyhow::Result<()> {
    let Some(_) = Person::other() else { return Ok(()) };
    let cluster = Cluster::start(one_node())?;
    let kantctl = cluster.kantctl(Person::me())?;
    let answer = kantctl.run(&["submit", "--wrap", "id"])?;
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("root may not submit jobs"), "{}", answer.stderr);
    Ok(())
}

#[test]
fn kantctl_on_a_node_reaches_the_controller_as_the_same_user() -> anyhow::Result<()> {
    let cluster = Cluster::start(one_node())?;
    let person = Person::plain();
    let kantctl = cluster.kantctl(person)?.on(&cluster.node_socket("n1"));
    let id = kantctl.submit(&[], "#!/bin/sh\ntrue\n")?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.owner.uid.0, person.uid, "the node vouches for the user");
    Ok(())
}

#[test]
fn logs_follow_a_job_to_its_end() -> anyhow::Result<()> {
    let cluster = Cluster::start(one_node())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\nfor i in 1 2 3; do echo line $i; sleep 0.2; done\necho oops >&2\n";
    let id = kantctl.submit(&["--error=err.out"], script)?;
    assert_eq!(kantctl.ok(&["logs", "-f", &id])?, "line 1\nline 2\nline 3\n");
    assert_eq!(kantctl.ok(&["logs", "--stderr", &id])?, "oops\n");
    Ok(())
}

#[test]
fn hold_release_requeue_and_array_tasks_work() -> anyhow::Result<()> {
    let cluster = Cluster::start(one_node())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let held = kantctl.submit(&["--hold"], "#!/bin/sh\ntrue\n")?;
    let job = kantctl.job(&held)?;
    assert_eq!(job.phase, Phase::Pending);
    assert!(kantctl.ok(&["explain", &held])?.contains("release"), "explain gives advice");
    kantctl.ok(&["release", &held])?;
    kantctl.completed(&held)?;

    let script = "#!/bin/sh\necho $SLURM_RESTART_COUNT >> counts\n";
    let again = kantctl.submit(&[], script)?;
    kantctl.finished(&again)?;
    kantctl.ok(&["requeue", &again])?;
    e2e::wait_for("the second attempt", || {
        let job = kantctl.job(&again)?;
        Ok((job.attempt == 2 && job.outcome.is_some()).then_some(()))
    })?;
    // As in Slurm, the variable is unset the first time.
    assert_eq!(kantctl.read("counts")?, "\n1\n");

    let script = "#!/bin/sh\necho $SLURM_ARRAY_TASK_ID > task-$SLURM_ARRAY_TASK_ID\n";
    let array = kantctl.submit(&["--array=2-4"], script)?;
    kantctl.ok(&["wait", &array])?;
    for task in 2..=4 {
        let text = kantctl.read(&format!("task-{task}"))?;
        assert_eq!(text.trim(), task.to_string());
        assert!(kantctl.dir().join(format!("kant-{array}_{task}.out")).exists());
    }
    Ok(())
}
