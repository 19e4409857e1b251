//! A harness for steps: its own spool, working directory and cgroup root, and the real kantd binary
//! as supervisor. Cleans up after itself, whatever happens.

use common::gpu::Gpu;
use common::id::{AttemptId, Gid, NodeName, TaskNumber, Uid};
use common::job::{EndCause, Owner, StepEnd};
use common::resource::{Allocation, Share};
use common::unit::Bytes;
use common::wire::node::{LaunchOrder, Manner, StartTask, StepPhase};
use kantd::cgroup::{self, CgroupParent, Kind};
use kantd::step::{StartLimits, StepChanges, StepRules, Steps, StepsSettings};
use net::OwnerRules;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The longest time that a test waits for anything, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// A user without an entry in any database.
pub const USER: u32 = 12_345;

pub struct StepHarness {
    home: TempDir,
    pub cgroup: CgroupParent,
    pub program: PathBuf,
    pub steps: Option<Steps>,
    changes: Option<StepChanges>,
    pub gpus: Vec<Gpu>,
    /// Applies from the next `open` on.
    pub rules: StepRules,
    pub starts: StartLimits,
}

/// Whether the test runs as root; prints that it is skipped if not.
pub fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        println!("skipped: running jobs as other users in cgroups needs root");
    }
    is_root
}

/// How many times longer everything may take than on an idle machine: a virtual machine may be
/// emulated, and its host busy. Time limits of jobs in tests are multiplied by it.
pub fn slowness() -> u64 {
    let recorded = std::env::var("KANT_TEST_SLOWNESS").ok();
    recorded.map_or(1, |text| text.parse().expect("KANT_TEST_SLOWNESS is a number"))
}

impl StepHarness {
    /// Uses the cgroups of this host, which must exist.
    pub async fn new() -> Option<Self> {
        Self::with_cgroup_kind(None).await
    }

    /// Uses this kind of cgroups. `None`, with a message, unless the test runs as root.
    pub async fn with_cgroup_kind(kind: Option<Kind>) -> Option<Self> {
        if !is_root() {
            return None;
        }
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = format!("kant-test-{}-{number}", std::process::id());
        let detected = cgroup::detect(common::config::CgroupMode::Required, &root);
        let cgroup = match kind {
            Some(kind) => CgroupParent { kind, root },
            None => detected.expect("tests as root need cgroups").parent,
        };
        let home = tempfile::tempdir().unwrap();
        open_to_all(home.path(), 0o755);
        let program = PathBuf::from(env!("CARGO_BIN_EXE_kantd"));
        let gpus = vec![gpu(0, 3), gpu(1, 5)];
        // Jobs here have a uid without an account.
        let owners = OwnerRules { allow_unknown_users: true, ..OwnerRules::default() };
        let rules = StepRules { owners, ..StepRules::default() };
        let starts = StartLimits { patience: PATIENCE, ..StartLimits::default() };
        let mut harness =
            Self { home, cgroup, program, steps: None, changes: None, gpus, rules, starts };
        fs::create_dir(harness.work_dir()).unwrap();
        open_to_all(&harness.work_dir(), 0o777);
        harness.open().await;
        Some(harness)
    }

    /// A harness whose steps have these rules.
    pub async fn with_rules(change: impl FnOnce(&mut StepRules)) -> Option<Self> {
        let mut harness = Self::new().await?;
        change(&mut harness.rules);
        harness.restart().await;
        Some(harness)
    }

    /// A harness with the default private directories: /tmp and /dev/shm.
    pub async fn with_private_dirs() -> Option<Self> {
        let dirs = vec!["/tmp".into(), "/dev/shm".into()];
        Self::with_rules(|rules| rules.private_dirs = dirs).await
    }

    /// Restarts kantd's part, with the rules that the harness has now.
    pub async fn restart(&mut self) {
        self.close();
        self.open().await;
    }

    pub async fn open(&mut self) {
        let settings = StepsSettings {
            spool: self.spool(),
            node: NodeName::new("n1").unwrap(),
            cgroup: self.cgroup.clone(),
            allow_root: false,
            rules: self.rules.clone(),
            program: self.program.clone(),
            starts: self.starts,
            ports: 31000..=31999,
        };
        let (steps, changes) = Steps::open(settings).await.unwrap();
        self.steps = Some(steps);
        self.changes = Some(changes);
    }

    pub fn close(&mut self) {
        self.steps = None;
        self.changes = None;
    }

    pub fn steps(&self) -> &Steps {
        self.steps.as_ref().expect("the harness is open")
    }

    /// The directory of everything in the harness.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn spool(&self) -> PathBuf {
        self.home.path().join("spool")
    }

    /// The working directory of jobs, which all users may write.
    pub fn work_dir(&self) -> PathBuf {
        self.home.path().join("work")
    }

    /// Writes a shell script that root owns.
    pub fn program_of(&self, name: &str, lines: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
        open_to_all(&path, 0o700);
        path
    }

    pub fn step_dir(&self, id: AttemptId) -> PathBuf {
        self.spool().join("steps").join(id.to_string())
    }

    /// A job of [`USER`] on this node: one task, one CPU, 256M, a grace period of ten seconds.
    pub fn order(&self, script: &str) -> LaunchOrder {
        static JOBS: AtomicU32 = AtomicU32::new(1);
        let job = JOBS.fetch_add(1, Ordering::Relaxed);
        let share = Share { memory: Bytes::from_mib(256), ..testkit::share("n1", 0, 1, &[]) };
        LaunchOrder {
            owner: Owner { uid: Uid(USER), gid: Gid(USER), name: "ada".into() },
            script: format!("#!/bin/sh\n{script}\n"),
            work_dir: self.work_dir().display().to_string(),
            allocation: Allocation::new(vec![share]).unwrap(),
            ..testkit::launch_order(testkit::attempt(job, 1), "n1")
        }
    }

    /// Launches a job, and lets it run.
    pub fn launch(&self, order: LaunchOrder) -> AttemptId {
        let id = order.id;
        self.steps().launch(order, &self.gpus);
        self.steps().start_ready_step(id);
        id
    }

    /// Launches a job, lets it run, and waits for its end.
    pub async fn run(&mut self, order: LaunchOrder) -> StepEnd {
        let id = self.launch(order);
        self.end(id).await
    }

    /// Launches a job, and waits until it runs.
    pub async fn start(&mut self, order: LaunchOrder) -> AttemptId {
        let id = self.launch(order);
        self.until(id, |phase| matches!(phase, StepPhase::Running { .. })).await;
        id
    }

    /// Waits for a phase; an unexpected end fails the test.
    pub async fn until(&mut self, id: AttemptId, wanted: impl Fn(&StepPhase) -> bool) -> StepPhase {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let held = self.steps().status().into_iter().find(|step| step.id == id);
            match held.map(|step| step.phase) {
                Some(phase) if wanted(&phase) => return phase,
                Some(StepPhase::Ended(end)) => panic!("{id} ended: {end:?}\n{}", self.log(id)),
                _ => {}
            }
            let changes = self.changes.as_mut().expect("the harness is open");
            let change = tokio::time::timeout_at(deadline, changes.recv()).await;
            if change.is_err() {
                panic!(
                    "{id} is not in that phase yet: {:?}\n{}",
                    self.steps().status(),
                    self.log(id)
                );
            }
        }
    }

    pub async fn end(&mut self, id: AttemptId) -> StepEnd {
        match self.until(id, |phase| matches!(phase, StepPhase::Ended(_))).await {
            StepPhase::Ended(end) => *end,
            _ => unreachable!("only an end is waited for"),
        }
    }

    fn log(&self, id: AttemptId) -> String {
        fs::read_to_string(self.step_dir(id).join("log")).unwrap_or_default()
    }

    /// The content of a file in the working directory.
    pub fn written(&self, file: &str) -> String {
        let path = self.work_dir().join(file);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Waits for a complete line in a file of the working directory.
    pub async fn line(&self, file: &str) -> String {
        let path = self.work_dir().join(file);
        let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until(&format!("a line in {file}"), || read().is_some()).await;
        read().unwrap().trim().to_owned()
    }

    /// Waits for a pid in a file of the working directory.
    pub async fn pid(&self, file: &str) -> i32 {
        self.line(file).await.parse().unwrap()
    }

    pub async fn kill_supervisor(&self, id: AttemptId) {
        let supervisor = self.supervisor(id);
        kill(supervisor, Signal::SIGKILL).unwrap();
        until("the supervisor is dead", || !is_alive(supervisor.as_raw())).await;
    }

    /// The pid of a step's supervisor, from its journal.
    pub fn supervisor(&self, id: AttemptId) -> Pid {
        supervisor_in(&self.step_dir(id)).expect("a supervisor has written its journal")
    }

    /// The step's cgroups that exist, in all hierarchies.
    pub fn groups(&self, id: AttemptId) -> Vec<PathBuf> {
        groups_below(&Path::new(&self.cgroup.root).join(id.to_string()))
    }

    /// Checks that no cgroup of a step is left, in any hierarchy.
    pub fn assert_no_group(&self, id: AttemptId) {
        assert_eq!(self.groups(id), Vec::<PathBuf>::new());
    }
}

/// Kills the supervisors and their steps, and removes the cgroup root.
impl Drop for StepHarness {
    fn drop(&mut self) {
        self.close();
        for entry in fs::read_dir(self.spool().join("steps")).into_iter().flatten().flatten() {
            if let Some(pid) = supervisor_in(&entry.path()).filter(|pid| is_kantd(*pid)) {
                let _ = kill(pid, Signal::SIGKILL);
            }
            let id = entry.file_name().to_string_lossy().into_owned();
            if let Ok(group) = cgroup::open(&self.cgroup, &id, Uid(USER), None) {
                let _ = cgroup::kill_all(group.as_ref(), PATIENCE);
                let _ = cgroup::remove(group.as_ref(), PATIENCE);
            }
        }
        for root in groups_below(Path::new(&self.cgroup.root)) {
            let _ = fs::remove_dir(root);
        }
    }
}

fn supervisor_in(dir: &Path) -> Option<Pid> {
    let journal = fs::read_to_string(dir.join("journal")).ok()?;
    let first: serde_json::Value = serde_json::from_str(journal.lines().next()?).ok()?;
    let pid = first["preparing"]["pid"].as_i64()?;
    Some(Pid::from_raw(i32::try_from(pid).ok()?))
}

fn is_kantd(pid: Pid) -> bool {
    fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|line| line.split(|b| *b == 0).nth(1) == Some(b"step".as_slice()))
}

/// The cgroups of this path that exist, in all hierarchies.
pub fn groups_below(path: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let cgroups = mounts.lines().filter(|line| line.contains(" - cgroup"));
    let points = cgroups.filter_map(|line| line.split(' ').nth(4));
    let groups = points.map(|point| Path::new(point).join(path)).filter(|dir| dir.is_dir());
    // A hierarchy may be mounted twice.
    let mut known = BTreeSet::new();
    let is_new = |dir: &PathBuf| {
        fs::metadata(dir).is_ok_and(|group| known.insert((group.dev(), group.ino())))
    };
    groups.filter(is_new).collect()
}

fn gpu(index: u16, minor: u32) -> Gpu {
    Gpu { uuid: format!("GPU-0000-{index}"), minor, ..testkit::gpu(index) }
}

/// The same launch order with its only share changed.
pub fn with_share(mut order: LaunchOrder, change: impl FnOnce(&mut Share)) -> LaunchOrder {
    let mut shares = order.allocation.shares().to_vec();
    change(&mut shares[0]);
    order.allocation = Allocation::new(shares).unwrap();
    order
}

/// The same launch order with a second node n2, after this one or (`first`) before it.
pub fn with_second_node(mut order: LaunchOrder, first: bool) -> LaunchOrder {
    let mut shares = order.allocation.shares().to_vec();
    let other = Share { node: NodeName::new("n2").unwrap(), ..shares[0].clone() };
    shares.insert(usize::from(!first), other);
    order.allocation = Allocation::new(shares).unwrap();
    order
}

pub fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A shell to start in a step.
pub fn shell_in(id: AttemptId, task: TaskNumber, script: &str) -> StartTask {
    StartTask {
        question: 1,
        id,
        task,
        program: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        work_dir: "/".into(),
        manner: Manner::default(),
    }
}

/// Polls for a condition.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process is alive, and not a zombie.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim().chars().next();
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Checks that a step ended itself, with this exit code.
#[track_caller]
pub fn assert_exited(end: &StepEnd, code: u8) {
    assert_eq!((end.cause, end.exit.code), (EndCause::Exited, code), "{end:?}");
}

/// Checks that a step was stopped before it ran.
#[track_caller]
pub fn assert_stopped_before_it_ran(end: &StepEnd) {
    assert_eq!((end.cause, end.started_at), (EndCause::Stopped, None), "{end:?}");
}

/// Checks that a step failed to launch by the job's own fault, with these words in the message.
#[track_caller]
pub fn assert_failed_with(end: &StepEnd, words: &[&str]) {
    assert_never_ran(end, EndCause::LaunchFailed, words);
}

/// Checks that a step failed to launch by the node's fault, with these words in the message.
#[track_caller]
pub fn assert_node_fault(end: &StepEnd, words: &[&str]) {
    assert_never_ran(end, EndCause::NodeFault, words);
    assert_never_ran(end, EndCause::NodeFault, &["a fault of the node"]);
}

/// Checks that a step failed to launch by a fault that may be the node's, with these words.
#[track_caller]
pub fn assert_unclear_fault(end: &StepEnd, words: &[&str]) {
    assert_never_ran(end, EndCause::UnclearFault, words);
    assert_never_ran(end, EndCause::UnclearFault, &["it may succeed on another node"]);
}

#[track_caller]
fn assert_never_ran(end: &StepEnd, cause: EndCause, words: &[&str]) {
    assert_eq!(end.cause, cause, "{end:?}");
    let message = end.message.as_deref().unwrap_or_default();
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
    assert_eq!(end.started_at, None);
}
