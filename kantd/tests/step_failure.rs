//! Failed launches: each message names the object, the node, the user and the reason, and nothing
//! is left behind.

use crate::harness::{
    self, StepHarness, assert_exited, assert_failed_with, assert_node_fault,
    assert_stopped_before_it_ran, assert_unclear_fault, with_share,
};
use common::id::{Attempt, GpuIndex};
use common::job::Launch;
use common::unit::Tasks;
use common::wire::node::{LaunchOrder, StepPhase};
use kantd::cgroup::Kind;
use net::OwnerRules;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What is wrong with an order, the change that makes it so, and the words of the message.
type Fault = (&'static str, fn(&mut LaunchOrder), &'static [&'static str]);

const FAULTS_OF_JOBS: [Fault; 6] = [
    (
        "an output path the user cannot write",
        |order| order.stdout = "/root/kant-never.out".into(),
        &["/root/kant-never.out", "ada (uid 12345)", "EACCES", "n1"],
    ),
    (
        "a missing working directory",
        |order| {
            order.work_dir = "/no/such/place".into();
            order.stdout = "/dev/null".into();
        },
        &["/no/such/place", "--chdir", "ENOENT"],
    ),
    (
        "a missing input file",
        |order| order.stdin = Some("missing".into()),
        &["/missing", "reading", "--input"],
    ),
    (
        "a missing interpreter",
        |order| order.script = "#!/opt/none/python9\nprint()\n".into(),
        &["interpreter", "/opt/none/python9", "n1"],
    ),
    (
        "a task that cannot start ends all tasks",
        |order| {
            *order = with_share(order.clone(), |share| share.tasks = Tasks(4));
            order.launch = Launch::PerTask;
            order.args = vec!["x".repeat(3 << 20)];
        },
        &["E2BIG", "too large"],
    ),
    ("a job of root", |order| order.owner.uid.0 = 0, &["root", "allow_root_jobs"]),
];

#[tokio::test]
async fn a_fault_of_the_job_is_named_and_leaves_nothing() {
    let Some(mut harness) = StepHarness::new().await else { return };
    for (fault, change, words) in FAULTS_OF_JOBS {
        println!("{fault}");
        let mut order = harness.order("touch ran");
        change(&mut order);
        let id = order.id;
        let end = harness.run(order).await;
        assert_failed_with(&end, words);
        assert!(!harness.work_dir().join("ran").exists(), "{fault}");
        harness.assert_no_group(id);
    }
}

#[tokio::test]
async fn a_file_of_another_user_is_not_truncated() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let theirs = harness.work_dir().join("out");
    fs::write(&theirs, "mine\n").unwrap();
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o600)).unwrap();
    let end = harness.run(harness.order("true")).await;
    assert_failed_with(&end, &["EACCES", "--output"]);
    assert_eq!(harness.written("out"), "mine\n");
}

#[tokio::test]
async fn a_job_of_a_user_or_with_a_group_that_the_node_does_not_know() {
    let Some(mut harness) = StepHarness::new().await else { return };
    harness.rules.owners = OwnerRules::default();
    harness.open().await;
    let unknown = harness.order("touch ran");
    // As when the directory service is down: one user alone must not drain the node.
    let end = harness.run(unknown).await;
    assert_unclear_fault(&end, &["12345", "node n1", "allow_unknown_users"]);
    let mut system = harness.order("touch ran");
    (system.owner.uid.0, system.owner.gid.0) = (1, 1);
    assert_failed_with(&harness.run(system).await, &["uid 1", "node n1", "uid_min"]);
    harness.rules.owners.allow_unknown_users = true;
    harness.open().await;
    let mut foreign = harness.order("touch ran");
    foreign.owner.gid.0 = 0;
    assert_unclear_fault(&harness.run(foreign).await, &["group 0", "node n1", "`id`"]);
    assert!(!harness.work_dir().join("ran").exists());
}

#[tokio::test]
async fn an_order_for_another_node_or_a_missing_gpu() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("true");
    let elsewhere =
        with_share(order, |share| share.node = common::id::NodeName::new("n9").unwrap());
    let id = elsewhere.id;
    let end = harness.run(elsewhere).await;
    assert_node_fault(&end, &["does not name node n1"]);
    assert!(!harness.step_dir(id).exists());
    let order = with_share(harness.order("true"), |share| share.gpus = [GpuIndex(7)].into());
    let end = harness.run(order).await;
    assert_node_fault(&end, &["no GPU 7"]);
    harness.steps().forget(id);
    let steps = harness.steps().clone();
    harness::until("one is forgotten", || steps.status().len() == 1).await;
}

#[tokio::test]
async fn cpus_this_machine_does_not_have() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("true");
    let order = with_share(order, |share| share.cpus = [60_000].into_iter().collect());
    let id = order.id;
    let end = harness.run(order).await;
    assert_node_fault(&end, &["failed to make the cgroup", "60000", "cpuset.cpus"]);
    harness.assert_no_group(id);
}

#[tokio::test]
async fn a_spool_that_users_cannot_traverse() {
    let Some(mut harness) = StepHarness::new().await else { return };
    fs::set_permissions(harness.spool(), fs::Permissions::from_mode(0o700)).unwrap();
    let end = harness.run(harness.order("true")).await;
    assert_node_fault(&end, &["spool directory", "0711"]);
}

#[tokio::test]
async fn a_spool_that_cannot_hold_the_spec() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("true");
    let steps = harness.spool().join("steps");
    fs::remove_dir(&steps).unwrap();
    fs::write(&steps, "in the way").unwrap();
    let end = harness.run(order).await;
    assert_node_fault(&end, &["failed to write the spec", "steps"]);
    fs::remove_file(&steps).unwrap();
    fs::create_dir(&steps).unwrap();
}

/// Only the supervisor sees a directory in place of /etc/passwd.
#[tokio::test]
async fn a_user_database_that_does_not_answer_is_the_nodes_fault() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let wrapper = harness.work_dir().join("kantd-without-users");
    let kantd = harness.program.display().to_string();
    let lines = format!(
        "#!/bin/sh\nexec unshare --mount sh -c \\\n\
         'mount -t tmpfs none /etc && mkdir /etc/passwd && exec {kantd} \"$@\"' kantd \"$@\"\n"
    );
    fs::write(&wrapper, lines).unwrap();
    harness::open_to_all(&wrapper, 0o755);
    harness.program = wrapper;
    harness.restart().await;
    let end = harness.run(harness.order("touch ran")).await;
    assert_node_fault(&end, &["user database of node n1", "ada (uid 12345)"]);
    assert!(!harness.work_dir().join("ran").exists());
}

#[tokio::test]
async fn a_program_that_is_not_kantd() {
    let Some(mut harness) = StepHarness::new().await else { return };
    harness.program = "/bin/false".into();
    harness.restart().await;
    let order = harness.order("true");
    let id = order.id;
    let end = harness.run(order).await;
    assert_node_fault(&end, &["failed to start the supervisor"]);
    // The failure is recorded: a restart does not try again.
    harness.restart().await;
    assert_node_fault(&harness.end(id).await, &["failed to start the supervisor"]);
}

#[tokio::test]
async fn kantd_that_is_not_root_runs_its_own_users_jobs_only() {
    let Some(mut harness) = StepHarness::with_cgroup_kind(Some(Kind::None)).await else { return };
    let wrapper = harness.work_dir().join("kantd-as-user");
    let kantd = harness.program.display().to_string();
    let lines = format!(
        "#!/bin/sh\nchown -R 777:777 \"$3\"\n\
         exec setpriv --reuid=777 --regid=777 --clear-groups {kantd} \"$@\"\n"
    );
    fs::write(&wrapper, lines).unwrap();
    harness::open_to_all(&wrapper, 0o755);
    harness.program = wrapper;
    // The uid is in the range of system users.
    harness.rules.owners.uid_min = 0;
    harness.open().await;
    let mut own = harness.order("id -u");
    (own.owner.uid.0, own.owner.gid.0) = (777, 777);
    let end = harness.run(own).await;
    assert_exited(&end, 0);
    assert_eq!(harness.written("out"), "777\n");
    let end = harness.run(harness.order("true")).await;
    assert_failed_with(&end, &["ada (uid 12345)", "runs as uid 777, not as root"]);
}

#[tokio::test]
async fn an_incomplete_directory_that_could_not_be_removed_is_completed() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("echo ran");
    fs::create_dir(harness.step_dir(order.id)).unwrap();
    let end = harness.run(order).await;
    assert_exited(&end, 0);
    assert_eq!(harness.written("out"), "ran\n");
}

#[tokio::test]
async fn a_job_whose_directory_cannot_be_locked_can_be_stopped() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = harness.order("touch ran");
    let id = order.id;
    // The directory cannot be locked, so that the driver keeps trying.
    fs::create_dir_all(harness.step_dir(id).join("lock")).unwrap();
    harness.steps().launch(order, &harness.gpus);
    harness.steps().start_ready_step(id);
    harness::until("the spec is written", || harness.step_dir(id).join("spec").exists()).await;
    assert_eq!(harness.steps().status()[0].phase, StepPhase::Preparing);
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_stopped_before_it_ran(&end);
    assert!(!harness.work_dir().join("ran").exists());
    harness.steps().forget(id);
    harness::until("it is forgotten", || !harness.step_dir(id).exists()).await;
}

#[tokio::test]
async fn a_job_whose_output_cannot_be_opened_yet_can_be_stopped() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let fifos = ["out", "later"].map(|name| harness.work_dir().join(name));
    for fifo in &fifos {
        nix::unistd::mkfifo(fifo, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        harness::open_to_all(fifo, 0o666);
    }
    let order = harness.order("echo written");
    let id = order.id;
    harness.steps().launch(order.clone(), &harness.gpus);
    harness.until(id, |phase| *phase == StepPhase::Preparing).await;
    let script = harness.step_dir(id).join("script");
    harness::until("the files are being opened", || script.exists()).await;
    harness.steps().stop(id);
    let end = harness.end(id).await;
    assert_stopped_before_it_ran(&end);
    harness.assert_no_group(id);
    // With a reader the job becomes ready and runs. It uses another FIFO: the killed child may have
    // the first one open for another moment, as a writer that writes nothing.
    let mut second = order;
    second.stdout = "later".into();
    let [_, later] = fifos;
    second.id.attempt = Attempt(2);
    let id = second.id;
    harness.steps().launch(second, &harness.gpus);
    harness.steps().start_ready_step(id);
    let read = tokio::task::spawn_blocking(move || fs::read_to_string(later).unwrap());
    assert_eq!(read.await.unwrap(), "written\n");
    assert!(harness.end(id).await.exit.is_success());
}
