//! The site's programs before and after a step: what they know, what their failures mean, and that
//! nothing of them stays either.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod leftovers;
mod stand;

use common::id::GpuIndex;
use common::job::EndCause;
use common::time::Span;
use leftovers::Before;
use stand::{Stand, with_share};
use std::fs;

/// A node with these two.
async fn node(prolog: &str, epilog: &str) -> Stand {
    let mut stand = Stand::new().await;
    stand.close();
    stand.rules.prolog = Some(stand.program_of("prolog", prolog));
    stand.rules.epilog = Some(stand.program_of("epilog", epilog));
    stand.rules.hook_limit = Span::from_minutes(1);
    stand.open().await;
    stand
}

/// What kantd is told of a failed one.
fn told(stand: &Stand) -> Option<String> {
    fs::read_to_string(stand.spool().join("hook-failed")).ok()
}

#[tokio::test]
async fn both_run_as_root_around_the_job_and_know_whose_it_is() {
    needs_root!();
    let mut stand = node("", "").await;
    let log = stand.home().join("log");
    let line = format!(
        "echo $KANT_HOOK $SLURM_JOB_ID $SLURM_JOB_UID $KANT_NODE $KANT_GPUS $(id -u) >> {}\n\
         setsid sleep 600 &",
        log.display()
    );
    stand.program_of("prolog", &line);
    stand.program_of("epilog", &line);
    fs::write(&log, "").unwrap();
    stand::open_to_all(&log, 0o666);
    let before = Before::of(&stand);
    let order = stand.order(&format!("echo job >> {}; exit 5", log.display()));
    let order = before.own(with_share(order, |share| share.gpus = vec![GpuIndex(1)]));
    let (id, uid) = (order.id, before.uid());
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 5), "{end:?}");
    let about = format!("{} {uid} n1 GPU-0000-1 0", id.key);
    let expected = format!("prolog {about}\njob\nepilog {about}\n");
    assert_eq!(fs::read_to_string(log).unwrap(), expected);
    assert_eq!(told(&stand), None);
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_prolog_that_fails_keeps_the_job_from_starting_and_says_why() {
    needs_root!();
    let mut stand = node("echo the scratch disk is gone; exit 3", "true").await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("touch ran"));
    let id = order.id;
    let end = stand.run(order).await;
    stand::assert_node_fault(&end, &["prolog", "exited with 3: the scratch disk is gone"]);
    assert!(!stand.work_dir().join("ran").exists());
    assert!(told(&stand).is_some_and(|told| told.contains("the scratch disk is gone")));
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn an_epilog_that_fails_is_the_nodes_trouble_and_not_the_jobs() {
    needs_root!();
    let mut stand = node("true", "kill -SEGV $$").await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("true"));
    let id = order.id;
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "{end:?}");
    let told = told(&stand).unwrap_or_default();
    assert!(told.contains("epilog") && told.contains("was ended by signal 11"), "{told}");
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn an_epilog_runs_also_where_its_steps_directory_is_lost() {
    needs_root!();
    let mut stand = node("true", "").await;
    let ran = stand.home().join("ran");
    stand.program_of("epilog", &format!("echo said; echo $KANT_HOOK >{}", ran.display()));
    let order = stand.order("echo $$ >pid; while [ ! -e done ]; do sleep 0.02; done");
    let id = stand.start(order).await;
    stand.pid("pid").await;
    fs::rename(stand.step_dir(id), stand.home().join("lost")).unwrap();
    fs::write(stand.work_dir().join("done"), "").unwrap();
    stand::until("it ran", || fs::read_to_string(&ran).is_ok_and(|t| t == "epilog\n")).await;
    stand::until("nothing of it is left", || stand.groups(id).is_empty()).await;
    assert_eq!(told(&stand), None, "the node is not to be drained for it");
}

#[tokio::test]
async fn one_that_is_not_there_fails_as_well() {
    needs_root!();
    let mut stand = node("true", "true").await;
    fs::remove_file(stand.home().join("prolog")).unwrap();
    let before = Before::of(&stand);
    let order = before.own(stand.order("true"));
    let id = order.id;
    let end = stand.run(order).await;
    stand::assert_node_fault(&end, &["failed to run the prolog", "prolog", "No such file"]);
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_prolog_that_is_under_way_dies_with_its_supervisor() {
    needs_root!();
    let mut stand = node("sleep 600", "true").await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("true"));
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    let running = stand.step_dir(id).join("prolog");
    stand::until("the prolog runs", || running.exists()).await;
    stand.kill_supervisor(id).await;
    assert_eq!(stand.end(id).await.cause, EndCause::Lost);
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn what_a_tasks_prolog_says_changes_its_environment_and_it_is_the_users() {
    needs_root!();
    let mut stand = Stand::new().await;
    let prolog = stand.program_of(
        "task-prolog",
        "echo export SITE=it has = and spaces; echo unset GONE; echo print hello from $(id -u)
         echo rubbish; cat",
    );
    stand::open_to_all(&prolog, 0o755);
    stand.close();
    stand.rules.task_prolog = Some(prolog.clone());
    stand.open().await;
    let mut order = stand.order("echo \"$SITE\" \"${GONE-gone}\" \"$1\"; exit 9");
    order.environment.insert("GONE".into(), "here".into());
    order.args = vec!["a b".into()];
    let end = stand.run(order).await;
    assert_eq!(end.exit.code, 9, "{end:?}");
    let expected = format!("hello from {}\nit has = and spaces gone a b\n", stand::USER);
    assert_eq!(stand.written("out"), expected);

    fs::write(&prolog, "#!/bin/sh\necho print no scratch here\nexit 3\n").unwrap();
    let end = stand.run(stand.order("touch ran")).await;
    assert_eq!(end.exit.code, 1, "{end:?}");
    let out = stand.written("out");
    assert!(out.contains("no scratch here\n") && out.contains("failed: exit code 3"), "{out}");
    stand::open_to_all(&prolog, 0o777);
    let end = stand.run(stand.order("touch ran")).await;
    stand::assert_node_fault(&end, &["task_prolog", "0777", "chmod go-w"]);
    assert!(!stand.work_dir().join("ran").exists());
}
