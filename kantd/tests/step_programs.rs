//! Programs started in a running step: they run in the step, on every node of the job, do not
//! affect how it ends, and end with it.

use crate::harness::{StepHarness, is_alive, shell_in, until, with_second_node};
use crate::leftovers::Before;
use common::id::{AttemptId, TaskNumber};
use common::job::{EndCause, ExitStatus};
use common::time::Span;
use common::wire::node::{
    LaunchOrder, Manner, SignalTask, StartTask, TaskNews, TaskState, WatchTask,
};
use kantd::step::StartLimits;

const TASK: TaskNumber = TaskNumber(7);

/// This node's part of a job whose script runs on another node before it.
fn second(harness: &StepHarness) -> LaunchOrder {
    let mut order = with_second_node(harness.order("true"), true);
    order.addresses = vec!["10.0.0.2".into(), "10.0.0.1".into()];
    order
}

fn shell(harness: &StepHarness, id: AttemptId, text: &str) -> StartTask {
    let mut start = shell_in(id, TASK, text);
    for (name, value) in [("MINE", "yes"), ("SLURM_NODEID", "of the caller")] {
        start.environment.insert(name.to_owned(), value.to_owned());
    }
    StartTask { work_dir: harness.work_dir().display().to_string(), ..start }
}

/// The end of a program, and all its output.
async fn ended(
    harness: &StepHarness,
    id: AttemptId,
    task: TaskNumber,
) -> (TaskState, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        let (stdout_from, stderr_from) = (out.len() as u64, err.len() as u64);
        let wait = Span::from_seconds(20);
        let (question, lease) = (2, None);
        let watch = WatchTask { question, id, task, stdout_from, stderr_from, wait, lease };
        let TaskNews { state, stdout, stderr, .. } = harness.steps().watch_task(watch).await;
        let is_all = stdout.is_empty() && stderr.is_empty();
        out.extend(stdout);
        err.extend(stderr);
        if is_all && state != TaskState::Running {
            let text = |bytes| String::from_utf8(bytes).unwrap();
            return (state, text(out), text(err));
        }
    }
}

fn exited(code: u8) -> TaskState {
    TaskState::Ended(ExitStatus { code, signal: None })
}

fn why(state: TaskState) -> String {
    match state {
        TaskState::Failed(why) => why,
        other => panic!("it did not fail: {other:?}"),
    }
}

#[tokio::test]
async fn a_program_is_part_of_the_job_on_a_node_without_tasks() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let before = Before::of(&harness);
    let id = harness.start(before.own(second(&harness))).await;
    let start = shell(
        &harness,
        id,
        "id -u; ls -A /dev/shm; pwd; echo $MINE $SLURM_NODEID $SLURM_JOB_ID $KANT_NODE \
         p$SLURM_PROCID; cat $OMPI_MCA_orte_default_hostfile $HYDRA_HOST_FILE; cat; \
         touch /dev/shm/mine; echo oh >/dev/stderr; grep -c /$KANT_STEP /proc/self/cgroup >&2; \
         exit 3",
    );
    let begun = harness.steps().start_task(start).await.state;
    assert!(!matches!(begun, TaskState::Failed(_)), "{begun:?}");
    let (state, out, err) = ended(&harness, id, TASK).await;
    assert_eq!(state, exited(3), "{out}{err}");
    let (uid, job, dir) = (before.uid(), id.key, harness.work_dir());
    let first = format!("{uid}\n{}\nyes 1 {job} n1 p\n", dir.display());
    let hosts = "10.0.0.2 slots=1\n10.0.0.1 slots=1\n10.0.0.2:1\n10.0.0.1:1\n";
    assert_eq!(out, format!("{first}{hosts}"));
    let groups = err.strip_prefix("oh\n").unwrap().trim();
    assert_ne!(groups, "0", "it is in the job's cgroup");
    assert!(!std::fs::exists("/dev/shm/mine").unwrap());
    let task = TaskNumber(8);
    let stays = StartTask { task, ..shell(&harness, id, "sleep 600") };
    assert_eq!(harness.steps().start_task(stays).await.state, TaskState::Running);
    harness.steps().stop(id);
    let end = harness.end(id).await;
    match ended(&harness, id, task).await.0 {
        TaskState::Ended(exit) => assert_eq!(exit.signal, Some(15)),
        state => assert!(why(state).contains("ended with the job")),
    }
    assert_eq!((end.cause, end.exit), (EndCause::Stopped, ExitStatus::default()));
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_program_ends_with_the_job_and_the_job_not_with_the_program() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let before = Before::of(&harness);
    let order = before.own(harness.order("while [ ! -e done ]; do sleep 0.02; done"));
    let id = harness.start(order).await;
    let daemon = "(setsid sh -c 'echo $$ > daemon; trap \"\" TERM; while :; do sleep 1; done' &) \
                  ; kill -9 $$";
    harness.steps().start_task(shell(&harness, id, daemon)).await;
    let (state, ..) = ended(&harness, id, TASK).await;
    assert_eq!(state, TaskState::Ended(ExitStatus { code: 0, signal: Some(9) }));
    let daemon = harness.pid("daemon").await;
    assert!(is_alive(daemon));
    std::fs::write(harness.work_dir().join("done"), "").unwrap();
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::Exited);
    assert!(end.exit.is_success(), "{end:?}");
    assert!(!is_alive(daemon));
    let late = StartTask { task: TaskNumber(8), ..shell(&harness, id, "true") };
    let late = harness.steps().start_task(late).await;
    assert!(why(late.state).contains("has ended there"));
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn a_task_number_is_started_once_and_a_new_kantd_knows_its_end() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let id = harness.start(second(&harness)).await;
    let start =
        shell(&harness, id, "echo once >> runs; while [ ! -e go ]; do sleep 0.02; done; exit 4");
    for _ in 0..2 {
        let news = harness.steps().start_task(start.clone()).await;
        assert_eq!(news.state, TaskState::Running);
    }
    harness.line("runs").await;
    harness.close();
    std::fs::write(harness.work_dir().join("go"), "").unwrap();
    harness.open().await;
    assert_eq!(ended(&harness, id, TASK).await.0, exited(4));
    assert_eq!(harness.written("runs"), "once\n");
    harness.steps().stop(id);
    harness.end(id).await;
}

#[tokio::test]
async fn a_signal_reaches_a_program_and_its_children_and_no_others() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let order =
        harness.order("trap 'echo hit > hit' USR1; while [ ! -e done ]; do sleep 0.02; done");
    let id = harness.start(order).await;
    let text = "trap 'exit 5' USR1; sh -c 'trap \"echo too > too; exit\" USR1; echo up > up; \
                while :; do sleep 0.02; done'; exit 6";
    harness.steps().start_task(shell(&harness, id, text)).await;
    harness.line("up").await;
    let signal = SignalTask { question: 3, id, task: TASK, signal: "USR1".parse().unwrap() };
    assert_eq!(harness.steps().signal_task(&signal).state, TaskState::Running);
    assert_eq!(ended(&harness, id, TASK).await.0, exited(5));
    assert_eq!(harness.line("too").await, "too");
    let unknown = SignalTask { task: TaskNumber(8), ..signal.clone() };
    assert!(why(harness.steps().signal_task(&unknown).state).contains("does not know"));
    std::fs::write(harness.work_dir().join("done"), "").unwrap();
    assert!(harness.end(id).await.exit.is_success());
    assert!(!harness.work_dir().join("hit").exists());
}

#[tokio::test]
async fn a_failed_start_is_reported_and_a_missing_directory_prevents_none() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let id = harness.start(second(&harness)).await;
    let missing = StartTask { program: vec!["/no/such".into()], ..shell(&harness, id, "") };
    let failed = why(harness.steps().start_task(missing).await.state);
    assert!(failed.contains("/no/such") && failed.contains("ENOENT"), "{failed}");
    let task = TaskNumber(8);
    let elsewhere = StartTask { task, work_dir: "/no/dir".into(), ..shell(&harness, id, "pwd") };
    harness.steps().start_task(elsewhere).await;
    let (state, out, err) = ended(&harness, id, task).await;
    assert_eq!((state, out.as_str()), (exited(0), "/tmp\n"));
    assert!(err.contains("node n1 has no directory /no/dir"), "{err}");
    let unknown = AttemptId { attempt: common::id::Attempt(9), ..id };
    let unknown = StartTask { id: unknown, ..shell(&harness, id, "true") };
    assert!(
        why(harness.steps().start_task(unknown).await.state).contains("does not run on this node")
    );
    harness.steps().stop(id);
    harness.end(id).await;
}

#[tokio::test]
async fn a_missing_program_of_the_node_is_named_by_its_path_there() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    harness.rules.kantctl = Some("/no/such/kantctl".into());
    harness.restart().await;
    let id = harness.start(second(&harness)).await;
    let manner = Manner { own_program: true, ..Manner::default() };
    let program = vec!["/usr/bin/of-the-callers".into()];
    let start = StartTask { program, manner, ..shell(&harness, id, "") };
    let failed = why(harness.steps().start_task(start).await.state);
    assert!(failed.contains("program /no/such/kantctl"), "{failed}");
    harness.steps().stop(id);
    harness.end(id).await;
}

#[tokio::test]
async fn a_program_requested_early_waits_until_the_job_runs() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let order = second(&harness);
    let id = order.id;
    harness.steps().launch(order, &harness.gpus);
    let start = shell(&harness, id, "echo here");
    let steps = harness.steps().clone();
    let asked = tokio::spawn(async move { steps.start_task(start).await });
    let dir = harness.step_dir(id);
    until("it was requested", || dir.join(format!("task-{TASK}")).exists()).await;
    harness.steps().start_ready_step(id);
    assert!(!matches!(asked.await.unwrap().state, TaskState::Failed(_)));
    assert_eq!(ended(&harness, id, TASK).await.1, "here\n");
    harness.steps().stop(id);
    harness.end(id).await;
}

#[tokio::test]
async fn the_number_of_programs_waiting_for_a_job_is_bounded() {
    /// Starts in files, and starts that wait in memory.
    const FILES: usize = 4;
    const MOST: u64 = 64;
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    harness.close();
    harness.starts = StartLimits { at_once: FILES, waiting: MOST as usize, ..harness.starts };
    harness.open().await;
    let order = second(&harness);
    let id = order.id;
    harness.steps().launch(order, &harness.gpus);
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..MOST {
        let start = StartTask { task: TaskNumber(number), ..shell(&harness, id, "true") };
        let steps = harness.steps().clone();
        asked.spawn(async move { steps.start_task(start).await.state });
    }
    let dir = harness.step_dir(id);
    let files = || (0..MOST).filter(|n| dir.join(format!("task-{n}")).exists()).count();
    until("the files are used up", || files() == FILES).await;
    let more = StartTask { task: TaskNumber(MOST), ..shell(&harness, id, "true") };
    let refused = why(harness.steps().start_task(more.clone()).await.state);
    assert!(refused.contains("64 programs wait to be started"), "{refused}");
    assert_eq!(files(), FILES);
    harness.steps().start_ready_step(id);
    for state in asked.join_all().await {
        assert!(!matches!(state, TaskState::Failed(_)), "{state:?}");
    }
    assert!(!matches!(harness.steps().start_task(more).await.state, TaskState::Failed(_)));
    harness.steps().stop(id);
    harness.end(id).await;
}
