//! Programs that are started in a step while it runs: as a part of it, on every node of the job,
//! whatever they do no word on how it ends, and gone with it.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod leftovers;
mod stand;

use common::id::{AttemptId, TaskNumber};
use common::job::{EndCause, ExitStatus};
use common::time::Span;
use common::wire::node::{
    LaunchOrder, Manner, SignalTask, StartTask, TaskNews, TaskState, WatchTask,
};
use kantd::step::StartLimits;
use leftovers::Before;
use stand::{Stand, is_alive, until, with_second_node};
use std::collections::BTreeMap;

const TASK: TaskNumber = TaskNumber(7);

async fn node() -> Stand {
    let mut stand = Stand::new().await;
    stand.close();
    stand.rules.private_dirs = vec!["/tmp".into(), "/dev/shm".into()];
    stand.open().await;
    stand
}

/// This node's part in a job whose script runs on the node before it.
fn second(stand: &Stand) -> LaunchOrder {
    let mut order = with_second_node(stand.order("true"), true);
    order.addresses = vec!["10.0.0.2".into(), "10.0.0.1".into()];
    order
}

fn shell(stand: &Stand, id: AttemptId, text: &str) -> StartTask {
    StartTask {
        question: 1,
        id,
        task: TASK,
        program: ["/bin/sh", "-c", text].map(str::to_owned).to_vec(),
        environment: BTreeMap::from([
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("MINE".to_owned(), "yes".to_owned()),
            ("SLURM_NODEID".to_owned(), "of the caller".to_owned()),
        ]),
        work_dir: stand.work_dir().display().to_string(),
        manner: Manner::default(),
    }
}

/// What became of it, and all that it wrote.
async fn ended(stand: &Stand, id: AttemptId, task: TaskNumber) -> (TaskState, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        let (stdout_from, stderr_from) = (out.len() as u64, err.len() as u64);
        let wait = Span::from_seconds(20);
        let (question, lease) = (2, None);
        let watch = WatchTask { question, id, task, stdout_from, stderr_from, wait, lease };
        let TaskNews { state, stdout, stderr, .. } = stand.steps().watch_task(watch).await;
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
async fn it_is_a_part_of_the_job_on_a_node_where_nothing_of_it_ran() {
    needs_root!();
    let mut stand = node().await;
    let before = Before::of(&stand);
    let id = stand.start(before.own(second(&stand))).await;
    let start = shell(
        &stand,
        id,
        "id -u; ls -A /dev/shm; pwd; echo $MINE $SLURM_NODEID $SLURM_JOB_ID $KANT_NODE \
         p$SLURM_PROCID; cat $OMPI_MCA_orte_default_hostfile $HYDRA_HOST_FILE; cat; \
         touch /dev/shm/mine; echo oh >/dev/stderr; grep -c /$KANT_STEP /proc/self/cgroup >&2; \
         exit 3",
    );
    let begun = stand.steps().start_task(start).await.state;
    assert!(!matches!(begun, TaskState::Failed(_)), "{begun:?}");
    let (state, out, err) = ended(&stand, id, TASK).await;
    assert_eq!(state, exited(3), "{out}{err}");
    let (uid, job, dir) = (before.uid(), id.key, stand.work_dir());
    let first = format!("{uid}\n{}\nyes 1 {job} n1 p\n", dir.display());
    let hosts = "10.0.0.2 slots=1\n10.0.0.1 slots=1\n10.0.0.2:1\n10.0.0.1:1\n";
    assert_eq!(out, format!("{first}{hosts}"));
    let groups = err.strip_prefix("oh\n").unwrap().trim();
    assert_ne!(groups, "0", "it is in the job's group");
    assert!(!std::fs::exists("/dev/shm/mine").unwrap());
    let task = TaskNumber(8);
    let stays = StartTask { task, ..shell(&stand, id, "sleep 600") };
    assert_eq!(stand.steps().start_task(stays).await.state, TaskState::Running);
    stand.steps().stop(id);
    let end = stand.end(id).await;
    match ended(&stand, id, task).await.0 {
        TaskState::Ended(exit) => assert_eq!(exit.signal, Some(15)),
        state => assert!(why(state).contains("ended with the job")),
    }
    assert_eq!((end.cause, end.exit), (EndCause::Stopped, ExitStatus::default()));
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn all_of_it_ends_with_the_job_and_the_job_does_not_end_with_it() {
    needs_root!();
    let mut stand = node().await;
    let before = Before::of(&stand);
    let order = before.own(stand.order("while [ ! -e done ]; do sleep 0.02; done"));
    let id = stand.start(order).await;
    let daemon = "(setsid sh -c 'echo $$ > daemon; trap \"\" TERM; while :; do sleep 1; done' &) \
                  ; kill -9 $$";
    stand.steps().start_task(shell(&stand, id, daemon)).await;
    let (state, ..) = ended(&stand, id, TASK).await;
    assert_eq!(state, TaskState::Ended(ExitStatus { code: 0, signal: Some(9) }));
    let daemon = stand.pid("daemon").await;
    assert!(is_alive(daemon));
    std::fs::write(stand.work_dir().join("done"), "").unwrap();
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::Exited);
    assert!(end.exit.is_success(), "{end:?}");
    assert!(!is_alive(daemon));
    let late = StartTask { task: TaskNumber(8), ..shell(&stand, id, "true") };
    let late = stand.steps().start_task(late).await;
    assert!(why(late.state).contains("is over there"));
    before.assert_nothing_left(&stand, id).await;
}

#[tokio::test]
async fn a_number_is_started_once_and_a_new_kantd_knows_how_it_ended() {
    needs_root!();
    let mut stand = node().await;
    let id = stand.start(second(&stand)).await;
    let start =
        shell(&stand, id, "echo once >> runs; while [ ! -e go ]; do sleep 0.02; done; exit 4");
    for _ in 0..2 {
        let news = stand.steps().start_task(start.clone()).await;
        assert_eq!(news.state, TaskState::Running);
    }
    stand.line("runs").await;
    stand.close();
    std::fs::write(stand.work_dir().join("go"), "").unwrap();
    stand.open().await;
    assert_eq!(ended(&stand, id, TASK).await.0, exited(4));
    assert_eq!(stand.written("runs"), "once\n");
    stand.steps().stop(id);
    stand.end(id).await;
}

#[tokio::test]
async fn a_signal_reaches_it_and_what_it_started_and_nothing_else_of_the_job() {
    needs_root!();
    let mut stand = node().await;
    let order = stand.order("trap 'echo hit > hit' USR1; while [ ! -e done ]; do sleep 0.02; done");
    let id = stand.start(order).await;
    let text = "trap 'exit 5' USR1; sh -c 'trap \"echo too > too; exit\" USR1; echo up > up; \
                while :; do sleep 0.02; done'; exit 6";
    stand.steps().start_task(shell(&stand, id, text)).await;
    stand.line("up").await;
    let signal = SignalTask { question: 3, id, task: TASK, signal: "USR1".parse().unwrap() };
    assert_eq!(stand.steps().signal_task(&signal).state, TaskState::Running);
    assert_eq!(ended(&stand, id, TASK).await.0, exited(5));
    assert_eq!(stand.line("too").await, "too");
    let unknown = SignalTask { task: TaskNumber(8), ..signal.clone() };
    assert!(why(stand.steps().signal_task(&unknown).state).contains("knows nothing"));
    std::fs::write(stand.work_dir().join("done"), "").unwrap();
    assert!(stand.end(id).await.exit.is_success());
    assert!(!stand.work_dir().join("hit").exists());
}

#[tokio::test]
async fn what_cannot_be_started_is_said_and_a_missing_directory_is_no_obstacle() {
    needs_root!();
    let mut stand = node().await;
    let id = stand.start(second(&stand)).await;
    let missing = StartTask { program: vec!["/no/such".into()], ..shell(&stand, id, "") };
    let failed = why(stand.steps().start_task(missing).await.state);
    assert!(failed.contains("/no/such") && failed.contains("ENOENT"), "{failed}");
    let task = TaskNumber(8);
    let elsewhere = StartTask { task, work_dir: "/no/dir".into(), ..shell(&stand, id, "pwd") };
    stand.steps().start_task(elsewhere).await;
    let (state, out, err) = ended(&stand, id, task).await;
    assert_eq!((state, out.as_str()), (exited(0), "/tmp\n"));
    assert!(err.contains("node n1 has no directory /no/dir"), "{err}");
    let unknown = AttemptId { attempt: common::id::Attempt(9), ..id };
    let unknown = StartTask { id: unknown, ..shell(&stand, id, "true") };
    assert!(why(stand.steps().start_task(unknown).await.state).contains("does not have"));
    stand.steps().stop(id);
    stand.end(id).await;
}

#[tokio::test]
async fn a_program_of_the_nodes_own_that_is_missing_is_named_as_it_was_tried() {
    needs_root!();
    let mut stand = node().await;
    stand.close();
    stand.rules.kantctl = Some("/no/such/kantctl".into());
    stand.open().await;
    let id = stand.start(second(&stand)).await;
    let manner = Manner { own_program: true, ..Manner::default() };
    let program = vec!["/usr/bin/of-the-callers".into()];
    let start = StartTask { program, manner, ..shell(&stand, id, "") };
    let failed = why(stand.steps().start_task(start).await.state);
    assert!(failed.contains("program /no/such/kantctl"), "{failed}");
    stand.steps().stop(id);
    stand.end(id).await;
}

#[tokio::test]
async fn one_that_is_asked_for_early_waits_until_the_job_runs() {
    needs_root!();
    let mut stand = node().await;
    let order = second(&stand);
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    let start = shell(&stand, id, "echo here");
    let steps = stand.steps().clone();
    let asked = tokio::spawn(async move { steps.start_task(start).await });
    let dir = stand.step_dir(id);
    until("it was asked for", || dir.join(format!("task-{TASK}")).exists()).await;
    stand.steps().go(id);
    assert!(!matches!(asked.await.unwrap().state, TaskState::Failed(_)));
    assert_eq!(ended(&stand, id, TASK).await.1, "here\n");
    stand.steps().stop(id);
    stand.end(id).await;
}

#[tokio::test]
async fn no_more_wait_for_a_job_to_begin_than_its_node_can_bear() {
    needs_root!();
    /// In files, and waiting in memory for their turn to be one.
    const FILES: usize = 4;
    const MOST: u64 = 64;
    let mut stand = node().await;
    stand.close();
    stand.starts = StartLimits { at_once: FILES, waiting: MOST as usize, ..stand.starts };
    stand.open().await;
    let order = second(&stand);
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..MOST {
        let start = StartTask { task: TaskNumber(number), ..shell(&stand, id, "true") };
        let steps = stand.steps().clone();
        asked.spawn(async move { steps.start_task(start).await.state });
    }
    let dir = stand.step_dir(id);
    let files = || (0..MOST).filter(|n| dir.join(format!("task-{n}")).exists()).count();
    until("as many as may are in files", || files() == FILES).await;
    let more = StartTask { task: TaskNumber(MOST), ..shell(&stand, id, "true") };
    let refused = why(stand.steps().start_task(more.clone()).await.state);
    assert!(refused.contains("64 programs wait for their start"), "{refused}");
    assert_eq!(files(), FILES);
    stand.steps().go(id);
    for state in asked.join_all().await {
        assert!(!matches!(state, TaskState::Failed(_)), "{state:?}");
    }
    assert!(!matches!(stand.steps().start_task(more).await.state, TaskState::Failed(_)));
    stand.steps().stop(id);
    stand.end(id).await;
}
