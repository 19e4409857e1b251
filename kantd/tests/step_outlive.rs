//! Steps without kantd: kantd dies and comes back, supervisors die, launches are interrupted.

use crate::harness::{self, StepHarness, assert_exited, is_alive};
use common::job::{EndCause, ExitStatus};
use common::time::Span;
use common::wire::node::StepPhase;
use kantd::cgroup::Kind;
use nix::sys::signal::{Signal, kill};
use std::fs;
use std::io::Write;
use std::process::Command;

#[tokio::test]
async fn a_job_that_ends_while_kantd_is_gone_is_adopted_with_its_exit_code() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("echo up > up; while [ ! -e go-on ]; do sleep 0.02; done; exit 42");
    let id = harness.start(order).await;
    harness.line("up").await;
    let supervisor = harness.supervisor(id).as_raw();
    harness.close();
    assert!(is_alive(supervisor));
    fs::write(harness.work_dir().join("go-on"), "").unwrap();
    harness::until("the supervisor is done", || !is_alive(supervisor)).await;
    harness.open().await;
    let end = harness.end(id).await;
    assert_eq!((end.cause, end.exit), (EndCause::Exited, ExitStatus { code: 42, signal: None }));
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_running_job_is_adopted_and_can_be_stopped() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = harness.start(harness.order("echo $$ > pid; exec sleep 600")).await;
    let job = harness.pid("pid").await;
    let before = harness.steps().status();
    harness.restart().await;
    assert_eq!(harness.steps().status(), before, "known at once, with the same start");
    assert!(is_alive(job));
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_eq!((end.cause, end.exit.signal), (EndCause::Stopped, Some(15)));
    assert!(!is_alive(job));
}

#[tokio::test]
async fn the_time_limit_applies_without_kantd() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let mut order = harness.order("echo up > up; exec sleep 600");
    order.time_limit = Some(Span::from_seconds(2));
    let id = harness.start(order).await;
    let supervisor = harness.supervisor(id).as_raw();
    harness.close();
    harness::until("the supervisor is done", || !is_alive(supervisor)).await;
    harness.open().await;
    assert_eq!(harness.end(id).await.cause, EndCause::TimedOut);
}

#[tokio::test]
async fn a_supervisor_leaves_its_parents_process_tree_and_session() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = harness.start(harness.order("echo up > up; sleep 600")).await;
    let supervisor = harness.supervisor(id);
    let session = nix::unistd::getsid(Some(supervisor)).unwrap();
    assert_eq!(session, supervisor);
    assert_eq!(nix::unistd::getpgid(Some(supervisor)).unwrap(), supervisor);
    let status = fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap();
    let parent = status.lines().find_map(|l| l.strip_prefix("PPid:")).unwrap().trim().to_owned();
    assert_ne!(parent, std::process::id().to_string());
    assert_eq!(fs::read_link(format!("/proc/{supervisor}/cwd")).unwrap().to_str(), Some("/"));
    // It ignores signals from terminals and init systems.
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        kill(supervisor, signal).unwrap();
    }
    harness.steps().stop(id);
    assert_eq!(harness.end(id).await.cause, EndCause::Stopped);
}

async fn lose_the_supervisor(harness: Option<StepHarness>) {
    let Some(mut harness) = harness else { return };
    let order = harness.order(
        "echo $$ > pid\n\
         setsid sh -c 'trap \"\" TERM; echo $$ > pid2; while :; do sleep 1; done' &\n\
         sleep 600",
    );
    let id = harness.start(order).await;
    let pids = [harness.pid("pid").await, harness.pid("pid2").await];
    harness.kill_supervisor(id).await;
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::Lost, "{end:?}");
    assert!(end.started_at.is_some());
    for pid in pids {
        assert!(!is_alive(pid), "{pid} is alive");
    }
    harness.assert_no_group(id);
    harness.restart().await;
    assert_eq!(harness.end(id).await, end, "lost once, and recorded");
}

#[tokio::test]
async fn a_step_whose_supervisor_is_killed_is_lost_without_leftovers() {
    lose_the_supervisor(StepHarness::new().await).await;
}

#[tokio::test]
async fn without_cgroups_a_lost_step_is_cleaned_up_by_its_mark() {
    lose_the_supervisor(StepHarness::with_cgroup_kind(Some(Kind::None)).await).await;
}

#[tokio::test]
async fn a_step_from_before_a_reboot_is_lost() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = harness.start(harness.order("sleep 600")).await;
    harness.close();
    harness.kill_supervisor(id).await;
    let journal = harness.step_dir(id).join("journal");
    let text = fs::read_to_string(&journal).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(&journal, text.replace(boot.trim(), "another-boot")).unwrap();
    harness.open().await;
    let end = harness.end(id).await;
    assert_eq!(end.cause, EndCause::Lost);
    assert!(end.message.unwrap().contains("rebooted"));
}

/// The state that kantd leaves when it dies between writing a spec and starting a supervisor.
async fn interrupted(harness: &mut StepHarness) -> common::id::AttemptId {
    let order = harness.order("echo x >> ran");
    let id = order.id;
    harness.steps().launch(order, &harness.gpus);
    harness.until(id, |phase| *phase == StepPhase::Ready).await;
    harness.close();
    harness.kill_supervisor(id).await;
    id
}

#[tokio::test]
async fn a_spec_without_a_supervisor_is_launched() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = interrupted(&mut harness).await;
    for file in ["journal", "lock", "control.sock", "script"] {
        fs::remove_file(harness.step_dir(id).join(file)).unwrap();
    }
    harness.open().await;
    harness.steps().start_ready_step(id);
    assert!(harness.end(id).await.exit.is_success());
    assert_eq!(harness.written("ran"), "x\n");
}

#[tokio::test]
async fn a_spec_that_had_a_supervisor_is_never_launched_again() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = interrupted(&mut harness).await;
    harness.open().await;
    harness.steps().start_ready_step(id);
    assert_eq!(harness.end(id).await.cause, EndCause::Lost);
    assert!(!harness.work_dir().join("ran").exists());
}

#[tokio::test]
async fn a_directory_without_a_spec_is_no_step() {
    let Some(mut harness) = StepHarness::new().await else { return };
    harness.close();
    let torn = harness.spool().join("steps/77.1");
    fs::create_dir(&torn).unwrap();
    fs::write(torn.join("spec.new"), "{\"launch\":").unwrap();
    harness.open().await;
    let steps = harness.steps().clone();
    harness::until("it is gone", || steps.status().is_empty() && !torn.exists()).await;
}

#[tokio::test]
async fn an_unreadable_spec_is_the_nodes_fault() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = interrupted(&mut harness).await;
    fs::remove_file(harness.step_dir(id).join("journal")).unwrap();
    fs::write(harness.step_dir(id).join("spec"), "{}").unwrap();
    harness.open().await;
    harness::assert_node_fault(&harness.end(id).await, &["failed to read the spec"]);
}

#[tokio::test]
async fn a_damaged_spec_without_a_journal_is_no_step() {
    for torn in ["", "{\"launch\":{\"id\"", "\0\0\0\0"] {
        let Some(mut harness) = StepHarness::new().await else { return };
        let id = interrupted(&mut harness).await;
        fs::remove_file(harness.step_dir(id).join("journal")).unwrap();
        fs::write(harness.step_dir(id).join("spec"), torn).unwrap();
        harness.open().await;
        assert_eq!(harness.steps().status(), [], "{torn:?}");
        assert!(!harness.step_dir(id).exists());
    }
}

#[tokio::test]
async fn a_torn_journal_line_does_not_hide_what_came_before() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("exit 9");
    let id = order.id;
    let end = harness.run(order).await;
    harness.close();
    let journal = harness.step_dir(id).join("journal");
    let mut file = fs::OpenOptions::new().append(true).open(journal).unwrap();
    file.write_all(b"{\"ended\":{\"cause\":\"lo").unwrap();
    harness.open().await;
    assert_eq!(harness.end(id).await, end);
}

#[tokio::test]
async fn a_second_supervisor_for_one_step_exits_at_once() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let id = harness.start(harness.order("echo x >> ran; sleep 600")).await;
    let dir = harness.step_dir(id);
    let second = || {
        let program = Command::new(&harness.program).args(["step", "--dir"]).arg(&dir).output();
        let output = program.unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("it has, or had, a supervisor"));
    };
    second();
    let ran = harness.work_dir().join("ran");
    harness::until("its first command is done", || ran.exists()).await;
    let supervisor = harness.supervisor(id).as_raw();
    harness.steps().stop(id);
    harness::until("the first is done", || !is_alive(supervisor)).await;
    second();
    harness.end(id).await;
    assert_eq!(harness.written("ran"), "x\n");
}

#[tokio::test]
async fn without_cgroups_daemonised_processes_are_found_by_descent() {
    let Some(mut harness) = StepHarness::with_cgroup_kind(Some(Kind::None)).await else { return };
    let order = harness.order(
        "setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.1; done' &\n\
         while [ ! -s pid ]; do sleep 0.02; done; exit 6",
    );
    let end = harness.run(order).await;
    assert_exited(&end, 6);
    let pid = harness.pid("pid").await;
    assert!(!is_alive(pid), "{pid} is alive");
}

#[tokio::test]
async fn a_supervisor_killed_at_any_moment_leaves_one_end_and_nothing_else() {
    kill_at_any_moment(StepHarness::new().await).await;
}

#[tokio::test]
async fn a_supervisor_killed_at_any_moment_leaves_one_end_without_cgroups() {
    kill_at_any_moment(StepHarness::with_cgroup_kind(Some(Kind::None)).await).await;
}

async fn kill_at_any_moment(harness: Option<StepHarness>) {
    let Some(mut harness) = harness else { return };
    let mut causes = Vec::new();
    for delay_ms in 0..40 {
        let mut order = harness.order("echo x; echo $$ > $KANT_STEP.pid; sleep 0.01");
        order.stdout = format!("ran-{}", order.id);
        let pid_file = harness.work_dir().join(format!("{}.pid", order.id));
        let (id, file) = (order.id, harness.work_dir().join(&order.stdout));
        harness.steps().launch(order, &harness.gpus);
        harness.steps().start_ready_step(id);
        let journal = harness.step_dir(id).join("journal");
        harness::until("a supervisor", || fs::read(&journal).is_ok_and(|j| j.ends_with(b"\n")))
            .await;
        tokio::time::sleep(std::time::Duration::from_millis(delay_ms)).await;
        let _ = kill(harness.supervisor(id), Signal::SIGKILL);
        let end = harness.end(id).await;
        causes.push(end.cause);
        let ran = fs::read_to_string(file).unwrap_or_default();
        match end.cause {
            EndCause::Exited => assert_eq!((ran.as_str(), end.exit.code), ("x\n", 0)),
            EndCause::Lost => assert!(["", "x\n"].contains(&ran.as_str()), "{ran}"),
            _ => panic!("{end:?}"),
        }
        harness.assert_no_group(id);
        let pid = fs::read_to_string(pid_file).ok().and_then(|text| text.trim().parse().ok());
        assert!(!pid.is_some_and(is_alive), "{pid:?} is alive after {end:?}");
    }
    println!("{causes:?}");
    assert!(causes.contains(&EndCause::Lost));
}
