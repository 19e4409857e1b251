//! The unified hierarchy: on a hybrid host it has no controllers, but kill, freeze and device
//! programs; on a v2 host it has everything.

use common::cpuset::CpuSet;
use common::gpu::mig::DeviceNumber;
use common::id::Uid;
use common::unit::Bytes;
use kantd::cgroup::{self, Cgroup, CgroupParent, Kind, Limits};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{Pid, geteuid};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);

/// A cgroup below its own root; both are removed at the end.
struct TestCgroup {
    root: PathBuf,
    dir: PathBuf,
    group: Box<dyn Cgroup>,
}

impl TestCgroup {
    /// `None`, with a message, if the host cannot have one.
    fn new(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = mounts.lines().find(|line| line.contains(" - cgroup2 "));
        let (Some(line), true) = (line, geteuid().is_root()) else {
            println!("skipped: needs root and a mounted cgroup2");
            return None;
        };
        let root_name = format!("kant-v2-{}-{name}", std::process::id());
        let root = Path::new(line.split(' ').nth(4).unwrap()).join(&root_name);
        let parent = CgroupParent { kind: Kind::V2, root: root_name };
        let group = cgroup::open(&parent, "7.1", Uid(0), None).unwrap();
        Some(Self { dir: root.join("7.1"), root, group })
    }

    /// Starts a shell in the cgroup.
    fn shell(&self, script: &str) -> Child {
        let entry_files: Vec<File> =
            self.group.entry_files().unwrap().into_iter().map(File::from).collect();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        // SAFETY: a write to an open file is async-signal-safe.
        unsafe {
            command.pre_exec(move || {
                entry_files.iter().try_for_each(|entry_file| (&*entry_file).write_all(b"0"))
            });
        }
        command.spawn().unwrap()
    }

    /// Opens device files of these numbers in the cgroup. Whether each is denied, and what the
    /// programs said.
    fn denied(&self, devices: &[(u64, u64)]) -> (Vec<bool>, String) {
        let nodes = tempfile::tempdir().unwrap();
        let mut script = String::new();
        for (major, minor) in devices {
            let path = nodes.path().join(format!("{major}-{minor}"));
            mknod(&path, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(*major, *minor)).unwrap();
            script += &format!("cat {} 2>&1\n", path.display());
        }
        let out = self.shell(&script).wait_with_output().unwrap().stdout;
        let out = String::from_utf8(out).unwrap();
        (out.lines().map(|line| line.contains("not permitted")).collect(), out)
    }

    fn has(&self, file: &str) -> bool {
        self.dir.join(file).exists()
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        let _ = cgroup::kill_all(self.group.as_ref(), PATIENCE);
        let _ = cgroup::remove(self.group.as_ref(), PATIENCE);
        let _ = fs::remove_dir(&self.root);
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(std::time::Instant::now() < deadline, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_cgroup_lists_and_kills_its_processes_and_is_removed() {
    let Some(test) = TestCgroup::new("kill") else { return };
    let group = test.group.as_ref();
    assert_eq!(group.pids().unwrap(), []);
    group.create(&Limits::default()).unwrap();
    let mut shell = test.shell("setsid sleep 600 & setsid sleep 600 & wait");
    wait_until("three processes", || group.pids().unwrap().len() == 3);
    let pid = Pid::from_raw(i32::try_from(shell.id()).unwrap());
    assert!(group.pids().unwrap().contains(&pid));
    let busy = group.remove().unwrap_err().to_string();
    assert!(busy.contains("7.1"), "{busy}");
    cgroup::kill_all(group, PATIENCE).unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&shell.wait().unwrap()), Some(9));
    cgroup::remove(group, PATIENCE).unwrap();
    assert!(!test.dir.exists() && test.root.exists());
}

#[test]
fn a_frozen_cgroup_stops_and_can_be_killed() {
    let Some(test) = TestCgroup::new("freeze") else { return };
    let group = test.group.as_ref();
    group.create(&Limits::default()).unwrap();
    let mut shell = test.shell("while :; do :; done");
    group.freeze().unwrap();
    assert!(fs::read_to_string(test.dir.join("cgroup.events")).unwrap().contains("frozen 1"));
    group.thaw().unwrap();
    group.freeze().unwrap();
    cgroup::kill_all(group, PATIENCE).unwrap();
    shell.wait().unwrap();
}

#[test]
fn only_granted_gpus_can_be_opened() {
    let Some(test) = TestCgroup::new("devices") else { return };
    let limits = Limits { gpu_minors: BTreeSet::from([3]), ..Limits::default() };
    test.group.create(&limits).unwrap();
    let (denied, out) = test.denied(&[0, 3, 5, 200, 254, 255].map(|minor| (195, minor)));
    assert_eq!(denied, [true, false, true, true, false, false], "{out}");
    let null = test.shell("cat /dev/null && echo null").wait_with_output().unwrap();
    assert_eq!(null.stdout, b"null\n");
}

#[test]
fn only_granted_amd_gpus_can_be_opened_and_all_other_render_devices() {
    let Some(test) = TestCgroup::new("render") else { return };
    let gpu_minors = BTreeSet::from([129]);
    let known_gpu_minors = BTreeSet::from([128, 129]);
    test.group.create(&Limits { gpu_minors, known_gpu_minors, ..Limits::default() }).unwrap();
    let (denied, out) = test.denied(&[128, 129, 130].map(|minor| (226, minor)));
    assert_eq!(denied, [true, false, false], "{out}");
}

#[test]
fn only_granted_mig_devices_can_be_opened_even_of_unknown_ones() {
    let Some(test) = TestCgroup::new("mig") else { return };
    let numbers = |minors: &[u32]| -> BTreeSet<DeviceNumber> {
        minors.iter().map(|minor| DeviceNumber { major: 3000, minor: *minor }).collect()
    };
    let limits = Limits {
        mig_devices: numbers(&[12, 13]),
        known_mig_devices: numbers(&[12, 13, 21, 22]),
        ..Limits::default()
    };
    test.group.create(&limits).unwrap();
    // Majors without a driver: opening an allowed one reports that there is no such device.
    let devices = [(3000, 1), (3000, 12), (3000, 13), (3000, 21), (3000, 99), (3001, 12)];
    let (denied, out) = test.denied(&devices);
    assert_eq!(denied, [true, false, false, true, true, false], "{out}");
    assert_eq!(out.matches("No such device").count(), 3, "{out}");
}

#[test]
fn a_cgroup_below_an_occupied_one_can_still_be_joined() {
    let Some(test) = TestCgroup::new("occupied") else { return };
    fs::create_dir(&test.root).unwrap();
    // Ends when this test drops the other end of its input, whatever happens.
    let mut squatter = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    fs::write(test.root.join("cgroup.procs"), squatter.id().to_string()).unwrap();
    test.group.create(&Limits::default()).unwrap();
    let shell = test.shell("echo inside");
    assert_eq!(shell.wait_with_output().unwrap().stdout, b"inside\n");
    drop(squatter.stdin.take());
    squatter.wait().unwrap();
}

#[test]
fn limits_are_set_if_their_controllers_exist() {
    let Some(test) = TestCgroup::new("limits") else { return };
    let limits = Limits {
        cpus: CpuSet::first_n(1),
        memory: Some(Bytes::from_mib(48)),
        pids: Some(20),
        ..Limits::default()
    };
    test.group.create(&limits).unwrap();
    if !test.has("memory.max") || !test.has("cpuset.cpus") || !test.has("pids.max") {
        println!("skipped: this host has memory, cpuset and pids under cgroups v1");
        return;
    }
    let shell = test.shell("nproc; grep Cpus_allowed_list /proc/self/status");
    let out = String::from_utf8(shell.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(out, "1\nCpus_allowed_list:\t0\n");
    let mut hog = test.shell("tail /dev/zero");
    assert!(!hog.wait().unwrap().success());
    wait_until("the kill is counted", || test.group.oom_kills() > 0);
    assert!(test.group.usage().cpu.0 > 0);
    assert_eq!(fs::read_to_string(test.dir.join("pids.max")).unwrap(), "20\n");
}
