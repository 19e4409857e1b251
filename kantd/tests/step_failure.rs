//! Launches that fail: each says what, where, as whom and why, and leaves nothing behind.

mod stand;

use common::id::{Attempt, GpuIndex};
use common::job::{EndCause, Launch};
use common::unit::Tasks;
use common::wire::node::StepPhase;
use kantd::cgroup::Kind;
use net::OwnerRules;
use stand::{Stand, assert_failed_with, assert_node_fault, assert_unclear_fault, with_share};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn an_output_path_the_user_cannot_write() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("touch ran");
    order.stdout = "/root/kant-never.out".into();
    let id = order.id;
    let end = stand.run(order).await;
    assert_failed_with(&end, &["/root/kant-never.out", "ada (uid 12345)", "EACCES", "n1"]);
    assert!(!stand.work_dir().join("ran").exists());
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_file_of_another_user_is_not_emptied() {
    needs_root!();
    let mut stand = Stand::new().await;
    let theirs = stand.work_dir().join("out");
    fs::write(&theirs, "mine\n").unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o600)).unwrap();
    let order = stand.order("true");
    let end = stand.run(order).await;
    assert_failed_with(&end, &["EACCES", "--output"]);
    assert_eq!(stand.written("out"), "mine\n");
}

#[tokio::test]
async fn a_missing_working_directory() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("true");
    order.work_dir = "/no/such/place".into();
    order.stdout = "/dev/null".into();
    let end = stand.run(order).await;
    assert_failed_with(&end, &["/no/such/place", "--chdir", "ENOENT"]);
}

#[tokio::test]
async fn a_missing_input_file() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("true");
    order.stdin = Some("missing".into());
    let end = stand.run(order).await;
    assert_failed_with(&end, &["/missing", "reading", "--input"]);
}

#[tokio::test]
async fn a_missing_interpreter() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("");
    order.script = "#!/opt/none/python9\nprint()\n".into();
    let id = order.id;
    let end = stand.run(order).await;
    assert_failed_with(&end, &["interpreter", "/opt/none/python9", "n1"]);
    stand.assert_no_group(id);
}

#[tokio::test]
async fn one_task_that_cannot_start_ends_all() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = with_share(stand.order(""), |share| share.tasks = Tasks(4));
    order.launch = Launch::PerTask;
    order.args = vec!["x".repeat(3 << 20)];
    let end = stand.run(order).await;
    assert_failed_with(&end, &["E2BIG", "too large"]);
}

#[tokio::test]
async fn a_job_of_root() {
    needs_root!();
    let mut stand = Stand::new().await;
    let mut order = stand.order("touch ran");
    order.owner.uid.0 = 0;
    let end = stand.run(order).await;
    assert_failed_with(&end, &["root", "allow_root_jobs"]);
    assert!(!stand.work_dir().join("ran").exists());
}

#[tokio::test]
async fn a_job_of_a_user_or_with_a_group_that_the_node_does_not_know() {
    needs_root!();
    let mut stand = Stand::new().await;
    stand.rules.owners = OwnerRules::default();
    stand.open().await;
    let unknown = stand.order("touch ran");
    // As where the directory service is down: one user alone must not drain the node.
    let end = stand.run(unknown).await;
    assert_unclear_fault(&end, &["12345", "node n1", "allow_unknown_users"]);
    let mut system = stand.order("touch ran");
    (system.owner.uid.0, system.owner.gid.0) = (1, 1);
    assert_failed_with(&stand.run(system).await, &["uid 1", "node n1", "uid_min"]);
    stand.rules.owners.allow_unknown_users = true;
    stand.open().await;
    let mut foreign = stand.order("touch ran");
    foreign.owner.gid.0 = 0;
    assert_unclear_fault(&stand.run(foreign).await, &["group 0", "node n1", "`id`"]);
    assert!(!stand.work_dir().join("ran").exists());
}

#[tokio::test]
async fn an_order_for_another_node_or_a_gpu_that_is_gone() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("true");
    let elsewhere =
        with_share(order, |share| share.node = common::id::NodeName::new("n9").unwrap());
    let id = elsewhere.id;
    let end = stand.run(elsewhere).await;
    assert_node_fault(&end, &["does not name node n1"]);
    assert!(!stand.step_dir(id).exists());
    let order = with_share(stand.order("true"), |share| share.gpus = vec![GpuIndex(7)]);
    let end = stand.run(order).await;
    assert_node_fault(&end, &["no GPU 7"]);
    stand.steps().forget(id);
    let steps = stand.steps().clone();
    stand::until("one is forgotten", || steps.status().len() == 1).await;
}

#[tokio::test]
async fn cpus_this_machine_does_not_have() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("true");
    let order = with_share(order, |share| share.cpus = [60_000].into_iter().collect());
    let id = order.id;
    let end = stand.run(order).await;
    assert_node_fault(&end, &["failed to confine", "60000", "cpuset.cpus"]);
    stand.assert_no_group(id);
}

#[tokio::test]
async fn a_spool_that_users_cannot_pass_through() {
    needs_root!();
    let mut stand = Stand::new().await;
    fs::set_permissions(stand.spool(), fs::Permissions::from_mode(0o700)).unwrap();
    let order = stand.order("true");
    let end = stand.run(order).await;
    assert_node_fault(&end, &["spool directory", "0711"]);
}

#[tokio::test]
async fn a_spool_that_cannot_hold_the_order() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("true");
    let steps = stand.spool().join("steps");
    fs::remove_dir(&steps).unwrap();
    fs::write(&steps, "in the way").unwrap();
    let end = stand.run(order).await;
    assert_node_fault(&end, &["failed to write the order", "steps"]);
    fs::remove_file(&steps).unwrap();
    fs::create_dir(&steps).unwrap();
}

/// The supervisor sees a directory where /etc/passwd is, and nobody else does.
#[tokio::test]
async fn a_user_database_that_does_not_answer_costs_nobody_their_groups() {
    needs_root!();
    let mut stand = Stand::new().await;
    stand.close();
    let wrapper = stand.work_dir().join("kantd-without-users");
    let kantd = stand.program.display().to_string();
    let lines = format!(
        "#!/bin/sh\nexec unshare --mount sh -c \\\n\
         'mount -t tmpfs none /etc && mkdir /etc/passwd && exec {kantd} \"$@\"' kantd \"$@\"\n"
    );
    fs::write(&wrapper, lines).unwrap();
    stand::open_to_all(&wrapper, 0o755);
    stand.program = wrapper;
    stand.open().await;
    let order = stand.order("touch ran");
    let end = stand.run(order).await;
    assert_node_fault(&end, &["user database of node n1", "ada (uid 12345)"]);
    assert!(!stand.work_dir().join("ran").exists());
}

#[tokio::test]
async fn a_program_that_is_no_kantd() {
    needs_root!();
    let mut stand = Stand::new().await;
    stand.close();
    stand.program = "/bin/false".into();
    stand.open().await;
    let order = stand.order("true");
    let id = order.id;
    let end = stand.run(order).await;
    assert_node_fault(&end, &["failed to start the supervisor"]);
    // It is remembered: a restart does not try again.
    stand.close();
    stand.open().await;
    assert_node_fault(&stand.end(id).await, &["failed to start the supervisor"]);
}

#[tokio::test]
async fn kantd_that_is_not_root_runs_its_own_users_jobs_only() {
    needs_root!();
    let mut stand = Stand::of_kind(Some(Kind::None)).await;
    stand.close();
    let wrapper = stand.work_dir().join("kantd-as-user");
    let kantd = stand.program.display().to_string();
    let lines = format!(
        "#!/bin/sh\nchown -R 777:777 \"$3\"\n\
         exec setpriv --reuid=777 --regid=777 --clear-groups {kantd} \"$@\"\n"
    );
    fs::write(&wrapper, lines).unwrap();
    stand::open_to_all(&wrapper, 0o755);
    stand.program = wrapper;
    // The number is one of the system's.
    stand.rules.owners.uid_min = 0;
    stand.open().await;
    let mut own = stand.order("id -u");
    (own.owner.uid.0, own.owner.gid.0) = (777, 777);
    let end = stand.run(own).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "{end:?}");
    assert_eq!(stand.written("out"), "777\n");
    let end = stand.run(stand.order("true")).await;
    assert_failed_with(&end, &["ada (uid 12345)", "not root but uid 777"]);
}

#[tokio::test]
async fn a_half_made_directory_that_could_not_be_removed_is_finished() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("echo ran");
    fs::create_dir(stand.step_dir(order.id)).unwrap();
    let end = stand.run(order).await;
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 0), "{end:?}");
    assert_eq!(stand.written("out"), "ran\n");
}

#[tokio::test]
async fn a_job_that_the_spool_cannot_hold_yet_can_be_stopped() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = stand.order("touch ran");
    let id = order.id;
    // Nothing can be locked there: whoever keeps the step tries again and again.
    fs::create_dir_all(stand.step_dir(id).join("lock")).unwrap();
    stand.steps().launch(order, &stand.gpus);
    stand.steps().go(id);
    stand::until("the order is written", || stand.step_dir(id).join("order").exists()).await;
    assert_eq!(stand.steps().status()[0].phase, StepPhase::Preparing);
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.started_at), (EndCause::Stopped, None), "{end:?}");
    assert!(!stand.work_dir().join("ran").exists());
    stand.steps().forget(id);
    stand::until("it is forgotten", || !stand.step_dir(id).exists()).await;
}

#[tokio::test]
async fn a_job_whose_output_can_not_be_opened_yet_can_be_stopped() {
    needs_root!();
    let mut stand = Stand::new().await;
    let fifos = ["out", "later"].map(|name| stand.work_dir().join(name));
    for fifo in &fifos {
        nix::unistd::mkfifo(fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        stand::open_to_all(fifo, 0o666);
    }
    let order = stand.order("echo heard");
    let id = order.id;
    stand.steps().launch(order.clone(), &stand.gpus);
    stand.until(id, |phase| *phase == StepPhase::Preparing).await;
    let script = stand.step_dir(id).join("script");
    stand::until("the files are being opened", || script.exists()).await;
    stand.steps().stop(id);
    let end = stand.end(id).await;
    assert_eq!((end.cause, end.started_at), (EndCause::Stopped, None), "{end:?}");
    stand.assert_no_group(id);
    // With a reader it is ready, and heard. On a FIFO of its own: whoever opened the first one was
    // killed, which takes a moment, and would be a writer who says nothing.
    let mut second = order;
    second.stdout = "later".into();
    let [_, later] = fifos;
    second.id.attempt = Attempt(2);
    let id = second.id;
    stand.steps().launch(second, &stand.gpus);
    stand.steps().go(id);
    let heard = tokio::task::spawn_blocking(move || fs::read_to_string(later).unwrap());
    assert_eq!(heard.await.unwrap(), "heard\n");
    assert!(stand.end(id).await.exit.is_success());
}
