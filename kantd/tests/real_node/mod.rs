//! A node on loopback: the real kantd with its directory, and helpers to wait for what it does.

use crate::controller::{Controller, NodeChannel, PATIENCE, order, until, wanted};
use common::id::{AttemptId, NodeName};
use common::job::StepEnd;
use common::wire::node::{DesiredStep, StepPhase, Want};
use net::{Authority, ClusterKey, Credentials};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus as ChildStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A node `g-1`: a directory with everything that its kantd needs.
pub struct Node {
    pub dir: TempDir,
}

impl Node {
    /// A node with its own key, for the controller at `addr`.
    pub fn new(key: &ClusterKey, addr: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let node = Self { dir };
        let authority = Authority::new(key).unwrap();
        fs::create_dir(node.path("spool")).unwrap();
        fs::set_permissions(node.path("spool"), Permissions::from_mode(0o711)).unwrap();
        let credentials = Credentials::issued_by(&authority, NodeName::new("g-1").unwrap());
        credentials.unwrap().save(&node.path("spool")).unwrap();
        let config = format!(
            "name = \"g-1\"\ncontrollers = [\"{addr}\"]\ncgroup = \"off\"\n\
             allow_root_jobs = true\nmemory_kept_back = \"1M\"\n\
             spool_dir = \"{}\"\nsocket = \"{}\"\nservice_ports = \"{}\"\n",
            node.path("spool").display(),
            node.path("run/kantd.sock").display(),
            own_ports(),
        );
        fs::write(node.path("kantd.toml"), config).unwrap();
        node
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn start(&self) -> Kantd {
        self.start_with(&[])
    }

    pub fn start_with(&self, environment: &[(&str, String)]) -> Kantd {
        let log = File::options().create(true).append(true).open(self.path("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kantd"))
            .arg("--config")
            .arg(self.path("kantd.toml"))
            .env_remove("RUST_LOG")
            .env_remove("NOTIFY_SOCKET")
            .envs(environment.iter().map(|(name, value)| (*name, value.as_str())))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Kantd(child)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    /// Number of steps that have a directory in the spool.
    pub fn spooled(&self) -> usize {
        let entries = fs::read_dir(self.path("spool/steps")).unwrap();
        entries
            .filter(|e| !e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'))
            .count()
    }
}

pub async fn node_and_controller() -> (Controller, Node) {
    let key = ClusterKey::generate().unwrap();
    let controller = Controller::start(&key).await;
    let node = Node::new(&key, &controller.addr.to_string());
    (controller, node)
}

/// Ports for the replicas of one node alone, below those that the kernel gives.
fn own_ports() -> String {
    static BLOCKS: AtomicU16 = AtomicU16::new(0);
    // Programs of tests that run beside this one begin elsewhere.
    let from = 24_000 + (std::process::id() % 12) as u16 * 500;
    let from = from + BLOCKS.fetch_add(1, Ordering::Relaxed) % 50 * 10;
    format!("{from}-{}", from + 9)
}

/// A running kantd; it is killed when dropped, its steps are not.
pub struct Kantd(Child);

impl Kantd {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }

    pub fn wait(&mut self) -> ChildStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < PATIENCE, "kantd does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Kantd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Polls for a condition.
pub async fn eventually(what: &str, is_it: impl Fn() -> bool) {
    let wait = async {
        while !is_it() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("timed out: {what}"));
}

pub fn ordered(id: AttemptId, script: &str, work_dir: &Path) -> DesiredStep {
    let order = order(id, "g-1", script, work_dir.to_str().unwrap());
    DesiredStep { order: Some(order), ..wanted(id, Want::Run) }
}

/// Reads reports until an attempt has ended.
pub async fn until_ended(channel: &mut NodeChannel, id: AttemptId) -> StepEnd {
    match until(channel, id, |phase| matches!(phase, StepPhase::Ended(_))).await {
        StepPhase::Ended(end) => *end,
        _ => unreachable!("only an end is waited for"),
    }
}
