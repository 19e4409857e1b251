//! kantd as it is run: the real program with real steps, with a stand-in controller.

use crate::controller::{NodeChannel, PATIENCE, id, order, send_all, soon, until, wanted};
use crate::real_node::{Node, eventually, node_and_controller, ordered, until_ended};
use crate::standin;
use common::id::{AttemptId, GpuIndex};
use common::job::{EndCause, ExitStatus};
use common::resource::{Allocation, Share};
use common::time::Span;
use common::wire::node::{FromNode, OutputChunk, ReadOutput, StepPhase, StepStatus, ToNode, Want};
use net::ClusterKey;
use nix::sys::signal::Signal;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Waits for text in the job's output from `offset` on.
async fn read_output(
    channel: &mut NodeChannel,
    id: AttemptId,
    path: &Path,
    offset: u64,
) -> OutputChunk {
    let question = ReadOutput {
        question: 1,
        id,
        owner: order(id, "g-1", "", "/").owner,
        path: path.display().to_string(),
        offset,
        bytes_max: 1000,
        wait: Span::from_seconds(20),
    };
    channel.send(&ToNode::ReadOutput(question)).await.unwrap();
    loop {
        match soon(channel.recv()).await {
            Some(Ok(FromNode::Output(chunk))) => return chunk,
            Some(Ok(FromNode::Report(_) | FromNode::Health(_))) => {}
            other => panic!("expected output, got {other:?}"),
        }
    }
}

fn is_running(phase: &StepPhase) -> bool {
    matches!(phase, StepPhase::Running { .. })
}

/// Reports that it runs, and continues until there is a file `go`.
const PATIENT_SCRIPT: &str =
    "#!/bin/sh\necho started\nwhile [ ! -e go ]; do sleep 0.05; done\necho done\nexit 3\n";

#[tokio::test]
async fn a_job_outlives_kantd_and_the_next_kantd_reports_its_end() {
    let (mut controller, node) = node_and_controller().await;
    let a = id(1, 1);

    let mut kantd = node.start();
    let (mut channel, hello) = controller.welcome().await;
    assert_eq!(hello.steps, []);
    let identity = hello.identity;
    send_all(&channel, vec![ordered(a, PATIENT_SCRIPT, node.dir.path())]).await;
    let running = until(&mut channel, a, is_running).await;
    let out = node.path("out");
    let chunk = read_output(&mut channel, a, &out, 0).await;
    assert_eq!((chunk.bytes, chunk.error), (b"started\n".to_vec(), None));

    // Killed once, stopped in order once: the job does not notice.
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        kantd.signal(signal);
        let status = kantd.wait();
        assert_eq!(status.success(), signal == Signal::SIGTERM, "{status}: {}", node.log());
        drop(channel);
        kantd = node.start();
        let (next, hello) = controller.welcome().await;
        assert_eq!(hello.steps, [StepStatus { id: a, phase: running.clone() }]);
        assert_eq!(hello.identity, identity, "the same installation");
        channel = next;
    }

    send_all(&channel, vec![wanted(a, Want::Run)]).await;
    fs::write(node.path("go"), "").unwrap();
    let end = until_ended(&mut channel, a).await;
    assert_eq!(end.cause, EndCause::Exited);
    assert_eq!(end.exit, ExitStatus { code: 3, signal: None });
    let chunk = read_output(&mut channel, a, &out, 8).await;
    assert_eq!((chunk.bytes, chunk.error), (b"done\n".to_vec(), None));

    assert_eq!(node.spooled(), 1, "kept until the controller knows");
    send_all(&channel, vec![]).await;
    eventually("the step is forgotten", || node.spooled() == 0).await;
}

#[tokio::test]
async fn an_incomplete_step_directory_of_a_killed_kantd_keeps_no_job_from_starting() {
    let (mut controller, node) = node_and_controller().await;
    for half_made in ["spool/steps/76.1", "spool/steps/77.1"] {
        fs::create_dir_all(node.path(half_made)).unwrap();
    }
    fs::write(node.path("spool/steps/77.1/spec.new"), "{").unwrap();
    let _kantd = node.start();
    let (mut channel, hello) = controller.welcome().await;
    assert_eq!(hello.steps, [], "they were never reported");
    // One of them is wanted, the other is not, and a third is unrelated.
    for job in [77, 78] {
        send_all(&channel, vec![ordered(id(job, 1), "#!/bin/sh\n", node.dir.path())]).await;
        let end = until_ended(&mut channel, id(job, 1)).await;
        assert_eq!(end.cause, EndCause::Exited, "{end:?}");
    }
}

#[tokio::test]
async fn a_job_that_is_no_longer_wanted_is_stopped_and_forgotten() {
    let (mut controller, node) = node_and_controller().await;
    let _kantd = node.start();
    let (mut channel, _) = controller.welcome().await;
    let (a, b) = (id(1, 1), id(2, 1));
    send_all(
        &channel,
        vec![
            ordered(a, "#!/bin/sh\nexec sleep 1000\n", node.dir.path()),
            ordered(b, "#!/bin/sh\nexec sleep 1000\n", node.dir.path()),
        ],
    )
    .await;
    until(&mut channel, b, is_running).await;
    // One is cancelled, the other is no longer listed.
    send_all(&channel, vec![wanted(a, Want::Stop)]).await;
    let end = until_ended(&mut channel, a).await;
    assert_eq!(end.cause, EndCause::Stopped);
    send_all(&channel, vec![]).await;
    eventually("both are forgotten", || node.spooled() == 0).await;
}

#[tokio::test]
async fn a_gpu_that_falls_off_the_bus_leaves_the_others_their_numbers() {
    let (mut controller, node) = node_and_controller().await;
    let library = standin::library();
    let mut config = fs::read_to_string(node.path("kantd.toml")).unwrap();
    config.push_str(&format!("nvml_library = \"{}\"\n", library.display()));
    fs::write(node.path("kantd.toml"), config).unwrap();
    let machine = node.path("machine.toml");
    let whole = fs::read_to_string(standin::machine("pcie-4")).unwrap();
    let address = "pci = \"0000:02:00.0\"";
    let broken = whole.replacen(address, &format!("{address}\nlost = true"), 1);
    assert_ne!(broken, whole);
    let environment = [(standin::VARIABLE, machine.display().to_string())];

    fs::write(&machine, &whole).unwrap();
    let mut kantd = node.start_with(&environment);
    let (_, hello) = controller.welcome().await;
    let before = hello.inventory;
    let indices: Vec<u16> = before.gpus.iter().map(|gpu| gpu.index.0).collect();
    assert_eq!(indices, [0, 1, 2, 3]);

    kantd.signal(Signal::SIGKILL);
    kantd.wait();
    fs::write(&machine, &broken).unwrap();
    let mut kantd = node.start_with(&environment);
    let (mut channel, hello) = controller.welcome().await;
    let after = hello.inventory;
    let left: Vec<_> = before.gpus.iter().filter(|gpu| gpu.index.0 != 1).cloned().collect();
    assert_eq!(after.gpus, left, "unchanged, without the lost one");
    for (a, b) in [(0, 2), (2, 3), (3, 3)].map(|(a, b)| (GpuIndex(a), GpuIndex(b))) {
        assert_eq!(after.gpu_matrix.path(a, b), before.gpu_matrix.path(a, b), "{a} {b}");
    }
    let missing = after.limits_missing.join("\n");
    assert!(missing.contains("GPU 1 of the driver is not offered"), "{missing}");

    // A job with number 2 gets that GPU, and none gets the lost one.
    for (job, number) in [(1, 2), (2, 1)] {
        let script = "#!/bin/sh\necho $CUDA_VISIBLE_DEVICES\n";
        let mut step = ordered(id(job, 1), script, node.dir.path());
        let order = step.order.as_mut().unwrap();
        let share = order.allocation.shares()[0].clone();
        let share = Share { gpus: [GpuIndex(number)].into(), ..share };
        order.allocation = Allocation::new(vec![share]).unwrap();
        send_all(&channel, vec![step]).await;
        let end = until_ended(&mut channel, id(job, 1)).await;
        let cause = if number == 1 { EndCause::NodeFault } else { EndCause::Exited };
        assert_eq!(end.cause, cause, "{end:?}");
    }
    let given = fs::read_to_string(node.path("out")).unwrap();
    assert_eq!(given.trim(), before.gpus[2].uuid);

    // The GPU comes back.
    kantd.signal(Signal::SIGTERM);
    kantd.wait();
    fs::write(&machine, &whole).unwrap();
    let _kantd = node.start_with(&environment);
    let (_, hello) = controller.welcome().await;
    assert_eq!(hello.inventory.gpus, before.gpus);
    assert_eq!(hello.inventory.gpu_matrix, before.gpu_matrix);
}

#[tokio::test]
async fn systemd_is_notified_even_without_a_controller() {
    let key = ClusterKey::generate().unwrap();
    // A port without a listener.
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let node = Node::new(&key, &unused.to_string());
    let path = node.path("notify");
    let systemd = UnixDatagram::bind(&path).unwrap();
    systemd.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut kantd = node.start_with(&[
        ("NOTIFY_SOCKET", path.display().to_string()),
        ("WATCHDOG_USEC", "300000".to_owned()),
    ]);
    let expect_notification = |expected: &str| {
        let mut buffer = [0; 256];
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let length = systemd.recv(&mut buffer).expect(expected);
            if std::str::from_utf8(&buffer[..length]).unwrap().contains(expected) {
                return;
            }
        }
        panic!("{expected} did not arrive");
    };
    expect_notification("READY=1");
    assert!(node.path("run/kantd.sock").exists(), "ready means that the socket listens");
    expect_notification("WATCHDOG=1");
    expect_notification("WATCHDOG=1");
    kantd.signal(Signal::SIGTERM);
    expect_notification("STOPPING=1");
    assert!(kantd.wait().success());
    assert!(!node.path("run/kantd.sock").exists());

    let log = node.log();
    for text in
        ["g-1", &unused.to_string(), "certificate_until", "memory", "jobs on this node run on"]
    {
        assert!(log.contains(text), "{text}: {log}");
    }
}

#[tokio::test]
async fn errors_that_keep_kantd_from_starting_name_the_remedy() {
    let key = ClusterKey::generate().unwrap();
    let node = Node::new(&key, "127.0.0.1:1");
    let credentials = node.path("spool/credentials.toml");
    fs::rename(&credentials, node.path("away")).unwrap();
    assert!(!node.start().wait().success());
    let log = node.log();
    assert!(log.contains("kantctl admin node invite g-1") && log.contains("kantd join"), "{log}");

    let other = fs::read_to_string(node.path("away")).unwrap().replace("g-1", "g-2");
    fs::write(&credentials, other).unwrap();
    fs::set_permissions(&credentials, Permissions::from_mode(0o600)).unwrap();
    assert!(!node.start().wait().success());
    assert!(node.log().contains("is that of node g-2"), "{}", node.log());

    fs::rename(node.path("away"), &credentials).unwrap();
    let _first = node.start();
    eventually("the first kantd runs", || node.path("run/kantd.sock").exists()).await;
    assert!(!node.start().wait().success());
    let log = node.log();
    assert!(log.contains("another kantd uses it"), "{log}");
}

#[test]
fn the_inventory_is_shown_as_text_and_as_json() {
    let node = Node::new(&ClusterKey::generate().unwrap(), "127.0.0.1:1");
    let show = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kantd"));
        command.arg("inventory").args(more).arg("--config").arg(node.path("kantd.toml"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let json: common::node::Inventory = serde_json::from_str(&show(&["--json"])).unwrap();
    assert!(!json.cpus.is_empty());
    let text = show(&[]);
    assert!(text.contains(&format!("{} offered: {}", json.cpu_count(), json.cpus)), "{text}");
}
