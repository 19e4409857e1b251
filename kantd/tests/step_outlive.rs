//! Steps and kantd part: kantd dies and comes back, supervisors die, launches are interrupted.

mod stand;

use common::job::{EndCause, ExitStatus};
use common::time::Span;
use common::wire::node::StepPhase;
use kantd::cgroup::Kind;
use nix::sys::signal::{Signal, kill};
use stand::{Stand, is_alive};
use std::fs;
use std::io::Write;
use std::process::Command;

#[tokio::test]
async fn a_job_that_ends_while_kantd_is_gone_is_adopted_with_its_exit_code() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo up > up; while [ ! -e go-on ]; do sleep 0.02; done; exit 42");
    let id = stand.start(order).await;
    stand.line("up").await;
    let supervisor = stand.supervisor(id).as_raw();
    stand.close();
    assert!(is_alive(supervisor));
    fs::write(stand.work_dir().join("go-on"), "").unwrap();
    stand::until("the supervisor is done", || !is_alive(supervisor)).await;
    stand.open().await;
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.exit), (EndCause::Exited, ExitStatus { code: 42, signal: None }));
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_running_job_is_adopted_and_can_be_stopped() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo $$ > pid; exec sleep 600");
    let id = stand.start(order).await;
    let job = stand.pid("pid").await;
    let before = stand.steps().status();
    stand.close();
    stand.open().await;
    assert_eq!(stand.steps().status(), before, "known at once, since the same time");
    assert!(is_alive(job));
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.exit.signal), (EndCause::Stopped, Some(15)));
    assert!(!is_alive(job));
}

#[tokio::test]
async fn the_time_limit_holds_though_kantd_is_gone() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("echo up > up; exec sleep 600");
    order.time_limit = Some(Span::from_seconds(2));
    let id = stand.start(order).await;
    let supervisor = stand.supervisor(id).as_raw();
    stand.close();
    stand::until("the supervisor is done", || !is_alive(supervisor)).await;
    stand.open().await;
    assert_eq!(stand.end(id).await.cause, EndCause::TimedOut);
}

#[tokio::test]
async fn a_supervisor_leaves_the_family_and_the_session_of_its_parent() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo up > up; sleep 600");
    let id = stand.start(order).await;
    let supervisor = stand.supervisor(id);
    let session = nix::unistd::getsid(Some(supervisor)).unwrap();
    assert_eq!(session, supervisor);
    assert_eq!(nix::unistd::getpgid(Some(supervisor)).unwrap(), supervisor);
    let status = fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap();
    let parent = status.lines().find_map(|l| l.strip_prefix("PPid:")).unwrap().trim().to_owned();
    assert_ne!(parent, std::process::id().to_string());
    assert_eq!(fs::read_link(format!("/proc/{supervisor}/cwd")).unwrap().to_str(), Some("/"));
    // Deaf to what a terminal or an init system sends around.
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        kill(supervisor, signal).unwrap();
    }
    stand.steps().stop(id);
    assert_eq!(stand.end(id).await.cause, EndCause::Stopped);
}

async fn lose_the_supervisor(mut stand: Stand) {
    let order = stand.order(
        "echo $$ > pid\n\
         setsid sh -c 'trap \"\" TERM; echo $$ > pid2; while :; do sleep 1; done' &\n\
         sleep 600",
    );
    let id = stand.start(order).await;
    let pids = [stand.pid("pid").await, stand.pid("pid2").await];
    stand.kill_supervisor(id).await;
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::Lost, "{end:?}");
    assert!(end.started_at.is_some());
    for pid in pids {
        assert!(!is_alive(pid), "{pid} is alive");
    }
    stand.assert_no_group(id);
    stand.close();
    stand.open().await;
    assert_eq!(stand.end(id).await, end, "lost once, and written down");
}

#[tokio::test]
async fn a_killed_supervisor_loses_the_step_and_nothing_of_it_is_left() {
    needs_root!();
    lose_the_supervisor(Stand::new().await).await;
}

#[tokio::test]
async fn a_killed_supervisor_without_cgroups_is_cleaned_up_after_by_mark() {
    needs_root!();
    lose_the_supervisor(Stand::of_kind(Some(Kind::None)).await).await;
}

#[tokio::test]
async fn a_step_of_before_the_reboot_is_lost() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("sleep 600");
    let id = stand.start(order).await;
    stand.close();
    stand.kill_supervisor(id).await;
    let journal = stand.step_dir(id).join("journal");
    let text = fs::read_to_string(&journal).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(&journal, text.replace(boot.trim(), "another-boot")).unwrap();
    stand.open().await;
    let end = stand.end(id).await;
    assert_eq!(end.cause, EndCause::Lost);
    assert!(end.message.unwrap().contains("rebooted"));
}

/// The state that kantd leaves when it dies between writing an order and starting a supervisor.
async fn interrupted(stand: &mut Stand) -> common::id::AttemptId {
    let order = stand.order("echo x >> ran");
    let id = order.id;
    stand.steps().launch(order, &stand.gpus);
    stand.until(id, |phase| *phase == StepPhase::Ready).await;
    stand.close();
    stand.kill_supervisor(id).await;
    id
}

#[tokio::test]
async fn an_order_nobody_took_on_is_launched_after_all() {
    needs_root!();
    let mut stand = Stand::new().await;
    let id = interrupted(&mut stand).await;
    for file in ["journal", "lock", "control.sock", "script"] {
        fs::remove_file(stand.step_dir(id).join(file)).unwrap();
    }
    stand.open().await;
    stand.steps().go(id);
    assert!(stand.end(id).await.exit.is_success());
    assert_eq!(stand.written("ran"), "x\n");
}

#[tokio::test]
async fn an_order_somebody_took_on_is_never_launched_again() {
    needs_root!();
    let mut stand = Stand::new().await;
    let id = interrupted(&mut stand).await;
    stand.open().await;
    stand.steps().go(id);
    assert_eq!(stand.end(id).await.cause, EndCause::Lost);
    assert!(!stand.work_dir().join("ran").exists());
}

#[tokio::test]
async fn a_directory_without_an_order_is_no_step() {
    needs_root!();
    let mut stand = Stand::new().await;
    stand.close();
    let torn = stand.spool().join("steps/77.1");
    fs::create_dir(&torn).unwrap();
    fs::write(torn.join("order.new"), "{\"launch\":").unwrap();
    stand.open().await;
    let steps = stand.steps().clone();
    stand::until("it is gone", || steps.status().is_empty() && !torn.exists()).await;
}

#[tokio::test]
async fn an_order_that_cannot_be_read_is_the_nodes_fault() {
    needs_root!();
    let mut stand = Stand::new().await;
    let id = interrupted(&mut stand).await;
    fs::remove_file(stand.step_dir(id).join("journal")).unwrap();
    fs::write(stand.step_dir(id).join("order"), "{}").unwrap();
    stand.open().await;
    stand::assert_node_fault(&stand.end(id).await, &["failed to read the order"]);
}

#[tokio::test]
async fn what_a_power_cut_leaves_of_an_order_that_no_journal_speaks_of_is_no_step() {
    needs_root!();
    for torn in ["", "{\"launch\":{\"id\"", "\0\0\0\0"] {
        let mut stand = Stand::new().await;
        let id = interrupted(&mut stand).await;
        fs::remove_file(stand.step_dir(id).join("journal")).unwrap();
        fs::write(stand.step_dir(id).join("order"), torn).unwrap();
        stand.open().await;
        assert_eq!(stand.steps().status(), [], "{torn:?}");
        assert!(!stand.step_dir(id).exists());
    }
}

#[tokio::test]
async fn a_torn_journal_line_does_not_hide_what_came_before() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("exit 9");
    let id = order.id;
    let end = stand.run(order).await;
    stand.close();
    let journal = stand.step_dir(id).join("journal");
    let mut file = fs::OpenOptions::new().append(true).open(journal).unwrap();
    file.write_all(b"{\"ended\":{\"cause\":\"lo").unwrap();
    stand.open().await;
    assert_eq!(stand.end(id).await, end);
}

#[tokio::test]
async fn a_second_supervisor_for_one_step_gives_up_at_once() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo x >> ran; sleep 600");
    let id = stand.start(order).await;
    let dir = stand.step_dir(id);
    let second = || {
        let program = Command::new(&stand.program).args(["step", "--dir"]).arg(&dir).output();
        let output = program.unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("has it, or had it"));
    };
    second();
    let ran = stand.work_dir().join("ran");
    stand::until("its first command is done", || ran.exists()).await;
    let supervisor = stand.supervisor(id).as_raw();
    stand.steps().stop(id);
    stand::until("the first is done", || !is_alive(supervisor)).await;
    second();
    stand.end(id).await;
    assert_eq!(stand.written("ran"), "x\n");
}

#[tokio::test]
async fn without_cgroups_daemonised_processes_are_found_by_descent() {
    needs_root!();
    let mut stand = Stand::of_kind(Some(Kind::None)).await;
    let order = stand.order(
        "setsid sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.1; done' &\n\
         while [ ! -s pid ]; do sleep 0.02; done; exit 6",
    );
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 6));
    let pid = stand.pid("pid").await;
    assert!(!is_alive(pid), "{pid} is alive");
}

#[tokio::test]
async fn a_supervisor_killed_at_any_moment_leaves_one_end_and_nothing_else() {
    needs_root!();
    kill_at_any_moment(Stand::new().await).await;
}

#[tokio::test]
async fn so_it_does_without_cgroups() {
    needs_root!();
    kill_at_any_moment(Stand::of_kind(Some(Kind::None)).await).await;
}

async fn kill_at_any_moment(mut stand: Stand) {
    let mut causes = Vec::new();
    for delay_ms in 0..40 {
        let mut order = stand.order("echo x; echo $$ > $KANT_STEP.pid; sleep 0.01");
        order.stdout = format!("ran-{}", order.id);
        let pid_file = stand.work_dir().join(format!("{}.pid", order.id));
        let (id, file) = (order.id, stand.work_dir().join(&order.stdout));
        stand.steps().launch(order, &stand.gpus);
        stand.steps().go(id);
        let journal = stand.step_dir(id).join("journal");
        stand::until("a supervisor", || fs::read(&journal).is_ok_and(|j| j.ends_with(b"\n"))).await;
        tokio::time::sleep(std::time::Duration::from_millis(delay_ms)).await;
        let _ = kill(stand.supervisor(id), Signal::SIGKILL);
        let end = stand.end(id).await;
        causes.push(end.cause);
        let ran = fs::read_to_string(file).unwrap_or_default();
        match end.cause {
            EndCause::Exited => assert_eq!((ran.as_str(), end.exit.code), ("x\n", 0)),
            EndCause::Lost => assert!(["", "x\n"].contains(&ran.as_str()), "{ran}"),
            _ => panic!("{end:?}"),
        }
        stand.assert_no_group(id);
        let pid = fs::read_to_string(pid_file).ok().and_then(|text| text.trim().parse().ok());
        assert!(!pid.is_some_and(is_alive), "{pid:?} is alive after {end:?}");
    }
    println!("{causes:?}");
    assert!(causes.contains(&EndCause::Lost));
}
