//! Prolog and epilog: their environment, the effect of their failures, and that nothing of them is
//! left.

use crate::harness::{self, StepHarness, assert_exited, with_share};
use crate::leftovers::{Before, run_and_check};
use common::id::GpuIndex;
use common::job::EndCause;
use common::time::Span;
use std::fs;

/// A node with this prolog and epilog.
async fn node(prolog: &str, epilog: &str) -> Option<StepHarness> {
    let mut harness = StepHarness::new().await?;
    harness.rules.prolog = Some(harness.program_of("prolog", prolog));
    harness.rules.epilog = Some(harness.program_of("epilog", epilog));
    harness.rules.hook_limit = Span::from_minutes(1);
    harness.restart().await;
    Some(harness)
}

/// The failure that was reported to kantd.
fn reported_failure(harness: &StepHarness) -> Option<String> {
    fs::read_to_string(harness.spool().join("hook-failed")).ok()
}

#[tokio::test]
async fn both_run_as_root_around_the_job_and_know_its_user() {
    let Some(mut harness) = node("", "").await else { return };
    let log = harness.home().join("log");
    let line = format!(
        "echo $KANT_HOOK $SLURM_JOB_ID $SLURM_JOB_UID $KANT_NODE $KANT_GPUS $(id -u) >> {}\n\
         setsid sleep 600 &",
        log.display()
    );
    harness.program_of("prolog", &line);
    harness.program_of("epilog", &line);
    fs::write(&log, "").unwrap();
    harness::open_to_all(&log, 0o666);
    let before = Before::of(&harness);
    let order = harness.order(&format!("echo job >> {}; exit 5", log.display()));
    let order = before.own(with_share(order, |share| share.gpus = [GpuIndex(1)].into()));
    let (id, uid) = (order.id, before.uid());
    let end = harness.run(order).await;
    assert_exited(&end, 5);
    let about = format!("{} {uid} n1 GPU-0000-1 0", id.key);
    let expected = format!("prolog {about}\njob\nepilog {about}\n");
    assert_eq!(fs::read_to_string(log).unwrap(), expected);
    assert_eq!(reported_failure(&harness), None);
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_failing_prolog_keeps_the_job_from_starting_and_gives_the_reason() {
    let Some(mut harness) = node("echo the scratch disk is gone; exit 3", "true").await else {
        return;
    };
    let order = harness.order("touch ran");
    let end = run_and_check(&mut harness, order).await;
    harness::assert_node_fault(&end, &["prolog", "exited with 3: the scratch disk is gone"]);
    assert!(!harness.work_dir().join("ran").exists());
    assert!(
        reported_failure(&harness)
            .is_some_and(|failure| failure.contains("the scratch disk is gone"))
    );
}

#[tokio::test]
async fn a_failing_epilog_is_the_nodes_fault_and_not_the_jobs() {
    let Some(mut harness) = node("true", "kill -SEGV $$").await else { return };
    let order = harness.order("true");
    let end = run_and_check(&mut harness, order).await;
    assert_exited(&end, 0);
    let failure = reported_failure(&harness).unwrap_or_default();
    assert!(failure.contains("epilog") && failure.contains("was ended by signal 11"), "{failure}");
}

#[tokio::test]
async fn an_epilog_runs_even_if_its_steps_directory_is_lost() {
    let Some(mut harness) = node("true", "").await else { return };
    let ran = harness.home().join("ran");
    harness.program_of("epilog", &format!("echo said; echo $KANT_HOOK >{}", ran.display()));
    let order = harness.order("echo $$ >pid; while [ ! -e done ]; do sleep 0.02; done");
    let id = harness.start(order).await;
    harness.pid("pid").await;
    fs::rename(harness.step_dir(id), harness.home().join("lost")).unwrap();
    fs::write(harness.work_dir().join("done"), "").unwrap();
    harness::until("it ran", || fs::read_to_string(&ran).is_ok_and(|t| t == "epilog\n")).await;
    harness::until("nothing of it is left", || harness.groups(id).is_empty()).await;
    assert_eq!(reported_failure(&harness), None, "the node must not be drained");
}

#[tokio::test]
async fn a_missing_hook_fails() {
    let Some(mut harness) = node("true", "true").await else { return };
    fs::remove_file(harness.home().join("prolog")).unwrap();
    let order = harness.order("true");
    let end = run_and_check(&mut harness, order).await;
    harness::assert_node_fault(&end, &["failed to run the prolog", "prolog", "No such file"]);
}

#[tokio::test]
async fn a_running_prolog_dies_with_its_supervisor() {
    let Some(mut harness) = node("sleep 600", "true").await else { return };
    let before = Before::of(&harness);
    let order = before.own(harness.order("true"));
    let id = order.id;
    harness.steps().launch(order, &harness.gpus);
    let running = harness.step_dir(id).join("prolog");
    harness::until("the prolog runs", || running.exists()).await;
    harness.kill_supervisor(id).await;
    assert_eq!(harness.end(id).await.cause, EndCause::Lost);
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_task_prolog_changes_the_environment_and_runs_as_the_user() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let prolog = harness.program_of(
        "task-prolog",
        "echo export SITE=it has = and spaces; echo unset GONE; echo print hello from $(id -u)
         echo rubbish; cat",
    );
    harness::open_to_all(&prolog, 0o755);
    harness.rules.task_prolog = Some(prolog.clone());
    harness.restart().await;
    let mut order = harness.order("echo \"$SITE\" \"${GONE-gone}\" \"$1\"; exit 9");
    order.environment.insert("GONE".into(), "here".into());
    order.args = vec!["a b".into()];
    let end = harness.run(order).await;
    assert_eq!(end.exit.code, 9, "{end:?}");
    let expected = format!("hello from {}\nit has = and spaces gone a b\n", harness::USER);
    assert_eq!(harness.written("out"), expected);

    fs::write(&prolog, "#!/bin/sh\necho print no scratch here\nexit 3\n").unwrap();
    let end = harness.run(harness.order("touch ran")).await;
    assert_eq!(end.exit.code, 1, "{end:?}");
    let out = harness.written("out");
    assert!(out.contains("no scratch here\n") && out.contains("failed: exit code 3"), "{out}");
    harness::open_to_all(&prolog, 0o777);
    let end = harness.run(harness.order("touch ran")).await;
    harness::assert_node_fault(&end, &["task_prolog", "0777", "chmod go-w"]);
    assert!(!harness.work_dir().join("ran").exists());
}
