//! Jobs whose users access what is not theirs (keys, devices, kantd's processes), or leave behind
//! what the whole machine shares. Like `hostile`, whose table has a line for each test.

use crate::harness::{self, StepHarness, assert_exited, assert_failed_with, shell_in, with_share};
use crate::leftovers::{Before, run_and_check};
use common::id::{AttemptId, TaskNumber};
use common::job::{EndCause, Launch, Rlimit};
use common::time::Span;
use common::unit::Tasks;
use common::wire::node::{LaunchOrder, StepPhase, TaskState, WatchTask};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Runs a program in a job, and returns its output.
async fn run_in(harness: &StepHarness, id: AttemptId, text: &str) -> String {
    let task = TaskNumber(7);
    harness.steps().start_task(shell_in(id, task, text)).await;
    let deadline = Instant::now() + harness::PATIENCE;
    let mut out = Vec::new();
    loop {
        let watch = WatchTask {
            question: 2,
            id,
            task,
            stdout_from: out.len() as u64,
            stderr_from: 0,
            wait: Span::from_seconds(1),
            lease: None,
        };
        let news = harness.steps().watch_task(watch).await;
        out.extend(&news.stdout);
        assert!(!matches!(news.state, TaskState::Failed(_)), "{:?}", news.state);
        assert!(Instant::now() < deadline, "the program does not end: {news:?}");
        if news.stdout.is_empty() && news.state != TaskState::Running {
            return String::from_utf8(out).unwrap();
        }
    }
}

/// A perl command that prints the result of a system call.
fn call(number: libc::c_long, arguments: &str) -> String {
    let ask = format!("@words = ({arguments}); $! = 0; $answer = syscall({number}, @words)");
    format!("perl -e '{ask}; print \"$answer $!\\n\"'")
}

/// Whether the printed result is a success.
fn is_granted(answer: &str) -> bool {
    let number: Option<i64> = answer.split(' ').next().and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no answer: {answer}")) >= 0
}

/// Searches for a key in the session's keyring.
fn search(name: &str) -> String {
    call(libc::SYS_keyctl, &format!("10, -3, \"user\", \"{name}\", 0"))
}

/// Adds a key to the session's keyring.
fn add_own() -> String {
    call(libc::SYS_add_key, "\"user\", \"kant-own\", \"x\", 1, -3")
}

/// A key of root's, in the keyring of this thread and of the processes that it starts.
struct RootsKey(libc::c_long);

impl RootsKey {
    /// `None`, with a message, if the kernel has no keyrings.
    fn add() -> Option<Self> {
        let (kind, name, secret) = (c"user".as_ptr(), c"kant-roots-key".as_ptr(), c"secret");
        // SAFETY: passes null-terminated texts and a length; no memory is written.
        let key = unsafe {
            libc::syscall(libc::SYS_keyctl, 1_u64, std::ptr::null::<libc::c_char>());
            libc::syscall(libc::SYS_add_key, kind, name, secret.as_ptr(), 6_usize, -3_i64)
        };
        let error = std::io::Error::last_os_error();
        if key < 0 && error.raw_os_error() == Some(libc::ENOSYS) {
            println!("skipped: the kernel has no keyrings");
            return None;
        }
        assert!(key > 0, "no key: {error}");
        Some(Self(key))
    }
}

#[tokio::test]
async fn the_processes_of_a_job_share_its_keys_and_find_no_others() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let Some(RootsKey(key)) = RootsKey::add() else { return };
    let before = Before::of(&harness);
    let read = call(libc::SYS_keyctl, &format!("11, {key}, 0, 0"));
    let order = harness.order(&format!(
        "{}; {read}; cat /proc/self/loginuid 2>/dev/null || id -u | tr -d '\\n'; echo\n\
         {}\n\
         echo up > up; while [ ! -e done ]; do sleep 0.02; done",
        search("kant-roots-key"),
        add_own()
    ));
    let id = harness.start(before.own(order)).await;
    harness.line("up").await;
    let found = harness.written("out");
    let [roots, read, login, added] = found.lines().collect::<Vec<_>>()[..] else {
        panic!("{found}")
    };
    assert!(!is_granted(roots), "it found root's key: {roots}");
    assert!(!is_granted(read), "it read root's key: {read}");
    assert!(is_granted(added), "{added}");
    assert_eq!(login, before.uid().to_string());
    // A program in the job finds its key; another job of the same user does not.
    let shared = run_in(&harness, id, &search("kant-own")).await;
    assert!(is_granted(&shared), "the job's key is not shared: {shared}");
    let mut other = before.own(harness.order(&search("kant-own")));
    other.stdout = "other".into();
    harness.run(other).await;
    assert!(!is_granted(&harness.written("other")), "{}", harness.written("other"));
    fs::write(harness.work_dir().join("done"), "").unwrap();
    assert!(harness.end(id).await.exit.is_success());
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn prolog_and_epilog_find_no_key_of_the_job() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let Some(_) = RootsKey::add() else { return };
    let output = harness.home().join("output");
    let lines =
        format!("({}; {}) >> {}", search("kant-own"), search("kant-roots-key"), output.display());
    let hook = harness.program_of("hook", &lines);
    (harness.rules.prolog, harness.rules.epilog) = (Some(hook.clone()), Some(hook));
    harness.rules.hook_limit = Span::from_minutes(5);
    harness.restart().await;
    let order = harness.order(&add_own());
    assert!(run_and_check(&mut harness, order).await.exit.is_success());
    let output = fs::read_to_string(output).unwrap();
    assert_eq!(output.lines().filter(|line| !is_granted(line)).count(), 4, "{output}");
}

/// A device file that all users may open.
fn device(path: &Path, kind: SFlag, major: u64, minor: u64) -> PathBuf {
    mknod(path, kind, Mode::from_bits_truncate(0o666), makedev(major, minor)).unwrap();
    harness::open_to_all(path, 0o666);
    path.to_owned()
}

#[tokio::test]
async fn a_device_as_input_or_output_is_refused() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    // /dev/fuse exists on any machine, and opening it has no effect.
    let fuse = device(&harness.work_dir().join("fuse"), SFlag::S_IFCHR, 10, 229);
    let disk = device(&harness.work_dir().join("disk"), SFlag::S_IFBLK, 7, 0);
    symlink(&fuse, harness.work_dir().join("link")).unwrap();
    let named = |path: &Path| path.display().to_string();
    type Change = fn(&mut LaunchOrder, String);
    let into: [(Change, &str); 3] = [
        (|order, path| order.stdin = Some(path), "--input"),
        (|order, path| order.stdout = path, "--output"),
        (|order, path| order.stderr = Some(path), "--error"),
    ];
    for (change, option) in into {
        for path in [named(&fuse), named(&disk), "link".to_owned()] {
            let mut order = harness.order("true");
            order.stdout = "/dev/null".into();
            change(&mut order, path);
            let end = run_and_check(&mut harness, order).await;
            assert_failed_with(&end, &["it is a device", option]);
        }
    }
    let mut order = harness.order("head -c 3 | od -An -tx1");
    order.stdin = Some("/dev/zero".into());
    assert!(run_and_check(&mut harness, order).await.exit.is_success());
    assert_eq!(harness.written("out").trim(), "00 00 00");
    let mut order = harness.order("echo x");
    order.stdout = "/dev/full".into();
    assert!(!run_and_check(&mut harness, order).await.exit.is_success(), "it is full");
}

#[tokio::test]
async fn a_directory_as_input_or_output_is_refused() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let _queues = Queues::mount(&harness.home().join("queues"));
    let queues = harness.home().join("queues").display().to_string();
    symlink("/dev/shm", harness.work_dir().join("link")).unwrap();
    for path in ["/tmp", "link", queues.as_str(), "/proc/self/root"] {
        let mut order = harness.order("ls -A /proc/self/fd/0/");
        order.stdin = Some(path.into());
        let end = run_and_check(&mut harness, order).await;
        assert_failed_with(&end, &["it is a directory", "--input"]);
    }
    let mut order = harness.order("true");
    order.stdout = "/tmp".into();
    let end = run_and_check(&mut harness, order).await;
    assert_failed_with(&end, &["it is a directory", "--output"]);
}

#[tokio::test]
async fn a_message_queue_as_input_or_output_is_refused_and_none_is_left() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let queues = harness.home().join("queues");
    // In a namespace of its own, because other tests list the host's queues.
    unshare(CloneFlags::CLONE_NEWIPC).unwrap();
    let _queues = Queues::mount(&queues);
    harness::open_to_all(&queues, 0o777);
    symlink(queues.join("linked"), harness.work_dir().join("link")).unwrap();
    for path in [queues.join("named").display().to_string(), "link".to_owned()] {
        let mut order = harness.order("true");
        order.stdout = path;
        let end = run_and_check(&mut harness, order).await;
        assert_failed_with(&end, &["it is a message queue", "--output"]);
        assert_eq!(fs::read_dir(&queues).unwrap().count(), 0);
    }
    fs::write(queues.join("kept"), "").unwrap();
    harness::open_to_all(&queues.join("kept"), 0o666);
    for how in ["--output", "--input"] {
        let mut order = harness.order("true");
        let path = queues.join("kept").display().to_string();
        match how {
            "--input" => order.stdin = Some(path),
            _ => order.stdout = path,
        }
        let end = run_and_check(&mut harness, order).await;
        assert_failed_with(&end, &["it is a message queue", how]);
    }
    assert!(queues.join("kept").exists(), "a queue made by another process stays");
}

#[tokio::test]
async fn a_user_cannot_signal_the_preparing_child_and_its_death_drains_no_node() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let before = Before::of(&harness);
    let fifo = harness.work_dir().join("out");
    mkfifo(&fifo, Mode::from_bits_truncate(0o600)).unwrap();
    harness::open_to_all(&fifo, 0o666);
    let order = before.own(harness.order("true"));
    let (id, uid) = (order.id, before.uid());
    harness.steps().launch(order, &harness.gpus);
    let preparer = preparer(&mut harness, id, uid).await;
    for signal in ["KILL", "STOP", "TERM"] {
        let mut kill = Command::new("/bin/sh");
        let output = kill.args(["-c", &format!("kill -{signal} {preparer}")]).uid(uid).gid(uid);
        let output = output.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && words.contains("not permitted"), "{signal}: {words}");
    }
    // It has the user's rights nevertheless.
    let status = fs::read_to_string(format!("/proc/{preparer}/status")).unwrap();
    assert!(status.contains(&format!("\nUid:\t0\t{uid}\t0\t{uid}\n")), "{status}");
    assert!(status.contains("\nCapEff:\t0000000000000000\n"), "{status}");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(preparer), nix::sys::signal::SIGKILL)
        .unwrap();
    let end = harness.end(id).await;
    assert_failed_with(&end, &["the process that opens its files was killed"]);
    before.assert_nothing_left(&harness, id).await;
}

/// The supervisor's child that opens the files, once it acts as the user.
async fn preparer(harness: &mut StepHarness, id: AttemptId, uid: u32) -> i32 {
    harness.until(id, |phase| *phase == StepPhase::Preparing).await;
    let dir = harness.step_dir(id);
    harness::until("the script is written", || dir.join("script").exists()).await;
    let supervisor = harness.supervisor(id);
    let children = format!("/proc/{supervisor}/task/{supervisor}/children");
    let child = || -> Option<i32> {
        let pid = fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse().ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:\t"))?;
        ids.split('\t').any(|id| *id == uid.to_string()).then_some(pid)
    };
    harness::until("it acts as the user", || child().is_some()).await;
    child().unwrap()
}

#[tokio::test]
async fn a_job_that_prevents_its_own_start_is_at_fault() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let mut order = harness.order("true");
    order.rlimits = vec![Rlimit { name: "nofile".into(), soft: Some(2) }];
    let end = run_and_check(&mut harness, order).await;
    assert_failed_with(&end, &["limit of open files", "ulimit -n"]);
    // Simulates a user who is quicker than the node.
    let scripts = harness.spool().join("steps/*/script");
    harness.rules.prolog =
        Some(harness.program_of("quick", &format!("chmod 0 {}", scripts.display())));
    harness.rules.hook_limit = Span::from_minutes(5);
    harness.restart().await;
    let order = harness.order("true");
    let end = run_and_check(&mut harness, order).await;
    assert_failed_with(&end, &["failed to reach the script", "its mode was changed"]);
}

/// Removes and restores the permission to run a file, repeatedly.
struct Toggle {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Toggle {
    fn begin(path: PathBuf) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let modes = [0, 0o500].map(fs::Permissions::from_mode);
            while !ends.load(Ordering::Relaxed) {
                // The file may not exist yet, or not any more.
                modes.iter().cloned().for_each(|mode| drop(fs::set_permissions(&path, mode)));
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Toggle {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[tokio::test]
async fn changing_a_scripts_mode_at_any_moment_is_never_the_nodes_fault() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let mut causes = Vec::new();
    for _ in 0..100 {
        let order = harness.order("true");
        let toggle = Toggle::begin(harness.step_dir(order.id).join("script"));
        let end = harness.run(order).await;
        drop(toggle);
        let is_of_job = matches!(end.cause, EndCause::Exited | EndCause::LaunchFailed);
        assert!(is_of_job, "{end:?}");
        causes.push(end.cause);
    }
    assert!(causes.contains(&EndCause::LaunchFailed), "no job was affected by the change");
}

/// A user's process that has a lease on its own file, which blocks others from opening it.
struct Lease(Child);

impl Lease {
    fn take(path: &Path, uid: u32) -> Self {
        let script = "$SIG{IO} = \"IGNORE\"; open($file, \">>\", $ARGV[0]) or die $!;\n\
             fcntl($file, 1024, 1) or die $!; $| = 1; print \"held\\n\"; sleep 600";
        let mut perl = Command::new("/usr/bin/perl");
        let mut held =
            perl.args(["-e", script]).arg(path).uid(uid).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(held.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Self(held)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[tokio::test]
async fn a_pipe_without_its_other_end_fails_its_job_in_seconds() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    for name in ["in", "out"] {
        let fifo = harness.work_dir().join(name);
        mkfifo(&fifo, Mode::from_bits_truncate(0o600)).unwrap();
        harness::open_to_all(&fifo, 0o666);
    }
    let before = Before::of(&harness);
    let leased = Lease::take(&harness.work_dir().join("leased"), before.uid());
    let writes = before.own(harness.order("true"));
    let reads =
        LaunchOrder { stdin: Some("in".into()), stdout: "/dev/null".into(), ..writes.clone() };
    let reads = LaunchOrder { id: harness.order("").id, ..reads };
    let held = LaunchOrder { id: harness.order("").id, stdout: "leased".into(), ..writes.clone() };
    let ids = [(writes.id, "--output"), (reads.id, "--input"), (held.id, "--output")];
    let begun = Instant::now();
    for order in [writes, reads, held] {
        harness.steps().launch(order, &harness.gpus);
    }
    for (id, option) in ids {
        let end = harness.end(id).await;
        assert_failed_with(
            &end,
            &["no other process opened or released it", "within 10 seconds", option],
        );
    }
    assert!(begun.elapsed() >= Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(leased);
    for (id, _) in ids {
        before.assert_nothing_left(&harness, id).await;
    }
}

/// The machine's message queues, mounted as files.
struct Queues(PathBuf);

impl Queues {
    fn mount(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        let none = None::<&str>;
        mount(Some("mqueue"), path, Some("mqueue"), MsFlags::empty(), none).unwrap();
        Self(path.to_owned())
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

#[tokio::test]
async fn shared_memory_semaphores_and_message_queues_end_with_their_job() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let _queues = Queues::mount(&harness.home().join("queues"));
    let before = Before::of(&harness);
    let flags = libc::O_CREAT | libc::O_RDWR;
    let open = call(libc::SYS_mq_open, &format!("\"kant\", {flags}, 0600, 0"));
    let order = harness.order(&format!(
        "ipcmk -M 65536 -Q -S 3 | grep -c id\n\
         {open}\n\
         [ ! -d /dev/mqueue ] || : > /dev/mqueue/by-name\n\
         echo up > up; while [ ! -e done ]; do sleep 0.02; done"
    ));
    let id = harness.start(before.own(order)).await;
    harness.line("up").await;
    let made = harness.written("out");
    assert!(made.strip_prefix("3\n").is_some_and(is_granted), "{made}");
    // A program in the job sees them; another job of the same user does not.
    let count = "awk 'FNR > 1' /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | wc -l";
    assert_eq!(run_in(&harness, id, count).await.trim(), "3");
    let mut other = before.own(harness.order(count));
    other.stdout = "other".into();
    harness.run(other).await;
    assert_eq!(harness.written("other").trim(), "0");
    fs::write(harness.work_dir().join("done"), "").unwrap();
    assert!(harness.end(id).await.exit.is_success());
    let left: Vec<_> = fs::read_dir(harness.home().join("queues")).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    before.assert_nothing_left(&harness, id).await;
}

#[tokio::test]
async fn tasks_of_a_job_share_memory_under_the_machines_limits() {
    let Some(mut harness) = StepHarness::with_private_dirs().await else { return };
    let set = fs::read_to_string("/proc/sys/kernel/shmmni").unwrap();
    let script = "#!/usr/bin/perl\n\
        $size = 64;\n\
        if ($ENV{SLURM_PROCID} == 0) {\n\
            $id = shmget(4711, $size, 0600 | 01000) // die \"shmget: $!\";\n\
            shmwrite($id, \"from task 0\", 0, $size) or die \"shmwrite: $!\";\n\
        }\n\
        until (defined($id = shmget(4711, $size, 0600))) { select(undef, undef, undef, 0.02) }\n\
        do {\n\
            shmread($id, $text, 0, $size) or die \"shmread: $!\";\n\
            $text =~ s/\\0.*//s;\n\
        } until $text ne \"\";\n\
        open($most, \"<\", \"/proc/sys/kernel/shmmni\");\n\
        print \"$text, \", <$most>;\n";
    let order = LaunchOrder { script: script.into(), stdout: "%t".into(), ..harness.order("") };
    let order = with_share(order, |share| share.tasks = Tasks(2));
    let order = LaunchOrder { launch: Launch::PerTask, ..order };
    let end = run_and_check(&mut harness, order).await;
    assert_exited(&end, 0);
    for task in ["0", "1"] {
        assert_eq!(harness.written(task), format!("from task 0, {set}"));
    }
}
