//! Jobs in containers, with the runtimes that are installed (crun, runc): they run as the job's
//! user, in the job's cgroup, end with it, and leave nothing; errors name the reason.

use crate::harness::{self, StepHarness, assert_failed_with, open_to_all, shell_in, until};
use crate::leftovers::Before;
use common::id::TaskNumber;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{LaunchOrder, StartTask, TaskState};
use kantd::config::{ContainerSettings, Mount};
use kantd::container_support::{self, Offer};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of the image; the libraries that they need are added.
const PROGRAMS: [&str; 9] = ["cat", "id", "ls", "mv", "perl", "sh", "sleep", "touch", "true"];

/// The runtimes of this machine; prints those that are missing.
pub fn runtimes() -> Vec<PathBuf> {
    let (there, gone): (Vec<PathBuf>, Vec<PathBuf>) = ["/usr/bin/crun", "/usr/sbin/runc"]
        .map(PathBuf::from)
        .into_iter()
        .partition(|p| p.exists());
    match (there.is_empty(), gone.as_slice()) {
        (true, _) => println!("skipped: neither crun nor runc (apt-get install crun runc)"),
        (false, []) => {}
        (false, gone) => println!("partly skipped: missing: {gone:?}"),
    }
    there
}

/// A node with this container runtime, and the image.
pub async fn node(runtime: &Path) -> Option<(StepHarness, PathBuf)> {
    let mut harness = StepHarness::new().await?;
    let runtime = Some(runtime.to_owned());
    let containers =
        container_support::detect(&ContainerSettings { runtime, ..Default::default() });
    assert!(matches!(containers, Offer::Offered(_)), "{containers:?}");
    harness.rules.private_dirs = vec!["/tmp".into(), "/dev/shm".into()];
    harness.rules.containers = containers;
    harness.restart().await;
    let image = harness.home().join("image");
    make_image(&image);
    Some((harness, image))
}

/// Makes a root file system that only root may change, with the programs and a file.
fn make_image(root: &Path) {
    for dir in ["bin", "etc"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    fs::write(root.join("etc/word"), "of the image\n").unwrap();
    for name in PROGRAMS {
        let program = Path::new("/bin").join(name);
        fs::copy(&program, root.join("bin").join(name)).unwrap();
        let linked = Command::new("ldd").arg(&program).output().unwrap();
        let linked = String::from_utf8(linked.stdout).unwrap();
        for library in linked.split_whitespace().filter(|word| word.starts_with('/')) {
            let to = root.join(library.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(library, to).unwrap();
        }
    }
    open_to_all(root, 0o755);
}

pub fn in_container(mut order: LaunchOrder, dir: &Path) -> LaunchOrder {
    order.container = Some(dir.display().to_string());
    order.environment.insert("PATH".into(), "/bin".into());
    order
}

/// Every file below a directory.
fn files(dir: &Path) -> BTreeSet<PathBuf> {
    let listed = Command::new("find").arg(dir).output().unwrap();
    String::from_utf8(listed.stdout).unwrap().lines().map(PathBuf::from).collect()
}

#[tokio::test]
async fn a_job_in_a_container_has_its_user_and_cgroup_and_leaves_nothing() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        let before = Before::of(&harness);
        let untouched = files(&image);
        let order = before.own(harness.order(
            "cat /etc/word; pwd; echo $KANT_NODE; ls -A /tmp /dev/shm | cat; touch /tmp/a /dev/shm/b
             touch /etc/x 2>/dev/null || echo denied; echo $$ >pid; ulimit -n; umask
             while [ ! -e done ]; do sleep 0.02; done; exit 7",
        ));
        let mut order = in_container(order, &image);
        order.rlimits = vec![common::job::Rlimit { name: "nofile".into(), soft: Some(777) }];
        order.umask = 0o027;
        let id = harness.start(order).await;
        let pid = harness.pid("pid").await;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let uid = before.uid();
        let uids = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        assert!(status.contains(&uids), "{status}");
        assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
        let held = |group: &PathBuf| {
            let pids = fs::read_to_string(group.join("cgroup.procs")).unwrap();
            pids.lines().any(|line| line == pid.to_string())
        };
        assert!(harness.groups(id).iter().all(held), "outside of {:?}", harness.groups(id));
        // A program that is started in the step runs in the container too.
        let start = shell_in(id, TaskNumber(1), "cat /etc/word >launched; pwd >>launched");
        let (environment, work_dir) = (BTreeMap::new(), "/nonexistent".to_owned());
        let start = StartTask { environment, work_dir, ..start };
        // No other user may see what it writes into its root.
        let layer = fs::metadata(harness.step_dir(id).join("container/layer")).unwrap();
        assert_eq!(layer.permissions().mode() & 0o777, 0o700);
        let news = harness.steps().start_task(start).await;
        assert!(!matches!(news.state, TaskState::Failed(_)), "{news:?}");
        let launched = format!("of the image\n{}\n", harness.work_dir().display());
        let file = harness.work_dir().join("launched");
        until("it has run", || fs::read_to_string(&file).is_ok_and(|text| text == launched)).await;
        fs::write(harness.work_dir().join("done"), "").unwrap();
        let end = harness.end(id).await;
        assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 7), "{}", harness.written("out"));
        let out = harness.written("out");
        let home = harness.home().file_name().unwrap().to_string_lossy().into_owned();
        let work = harness.work_dir().display().to_string();
        for word in ["of the image\n", &work, "n1\n", "denied\n", "777\n", "0027\n", &home] {
            assert!(out.contains(word), "{word}: {out}");
        }
        assert!(!Path::new("/tmp/a").exists() && !Path::new("/dev/shm/b").exists());
        assert_eq!(files(&image), untouched, "the image was changed");
        assert!(!harness.step_dir(id).join("container").exists(), "files of the container");
        before.assert_nothing_left(&harness, id).await;
    }
}

#[tokio::test]
async fn the_root_of_a_users_own_image_is_writable_and_the_image_unchanged() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        std::os::unix::fs::chown(&image, Some(harness::USER), Some(harness::USER)).unwrap();
        open_to_all(&image, 0o750);
        let untouched = files(&image);
        let script = "touch /made && echo made; : >up
             while [ ! -e done ]; do sleep 0.02; done";
        let order = in_container(harness.order(script), &image);
        let id = harness.start(order).await;
        until("it is up", || harness.work_dir().join("up").exists()).await;
        let upper = fs::metadata(harness.step_dir(id).join("container/layer/upper")).unwrap();
        assert_eq!((upper.uid(), upper.gid()), (harness::USER, harness::USER));
        assert_eq!(upper.permissions().mode() & 0o7777, 0o750, "like the image");
        fs::write(harness.work_dir().join("done"), "").unwrap();
        assert!(harness.end(id).await.exit.is_success(), "{}", harness.written("out"));
        assert_eq!(harness.written("out"), "made\n");
        assert_eq!(files(&image), untouched, "the image was changed");
    }
}

#[tokio::test]
async fn a_cancelled_job_in_a_container_gets_one_sigterm() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        let before = Before::of(&harness);
        let order = before.own(harness.order(
            "trap 'echo term >>got; sleep 0.3; exit 3' TERM; echo up >up
             while :; do sleep 0.02; done",
        ));
        let id = harness.start(in_container(order, &image)).await;
        harness.line("up").await;
        harness.steps().stop(id);
        let end = harness.end(id).await;
        assert_eq!(
            (end.cause, end.exit.code),
            (EndCause::Stopped, 3),
            "{}",
            harness.written("out")
        );
        assert_eq!(harness.written("got"), "term\n");
        before.assert_nothing_left(&harness, id).await;
    }
}

#[tokio::test]
async fn a_job_in_a_container_is_warned_once() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        // Long enough for a script to start before its warning on a slow machine.
        for warning in ["USR1@6", "B:USR1@6"] {
            // The signal may end the last sleep, whose status would then be the loop's.
            let script = "trap 'echo warned >>got' USR1; echo up >up
                 while [ ! -e done ]; do sleep 0.02; done; exit 0";
            let mut order = in_container(harness.order(script), &image);
            order.time_limit = Some(Span::from_seconds(12));
            order.warning = Some(warning.parse().unwrap());
            let id = harness.start(order).await;
            harness.line("got").await;
            fs::write(harness.work_dir().join("done"), "").unwrap();
            assert!(
                harness.end(id).await.exit.is_success(),
                "{warning}: {}",
                harness.written("out")
            );
            assert_eq!(harness.written("got"), "warned\n", "{warning}");
            for file in ["got", "up", "done"] {
                fs::remove_file(harness.work_dir().join(file)).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_bundle_defines_variables_and_mounts_and_not_its_user() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        let bundle = harness.home().join("bundle");
        fs::create_dir_all(bundle.join("data")).unwrap();
        fs::write(bundle.join("data/part"), "of the bundle\n").unwrap();
        fs::rename(&image, bundle.join("tree")).unwrap();
        let config = r#"{"ociVersion": "1.0.2", "root": {"path": "tree", "readonly": true},
            "process": {"user": {"uid": 0, "gid": 0}, "args": ["/bin/false"],
                        "env": ["PATH=/bin", "FROM=image", "KANT_NODE=none"]},
            "mounts": [{"destination": "/data/in", "source": "data", "options": ["rbind", "ro"]}],
            "hooks": {"prestart": [{"path": "/bin/false"}]}}"#;
        fs::write(bundle.join("config.json"), config).unwrap();
        open_to_all(&bundle, 0o755);
        // So that only the bundle's flag keeps the job from writing.
        let own = Some(harness::USER);
        std::os::unix::fs::chown(bundle.join("tree"), own, own).unwrap();
        let script = "cat /data/in/part; echo $FROM $KANT_NODE $MINE; touch /x || echo kept
             touch /data/in/x || echo kept too; id -u >uid
             cat /etc/hosts >/dev/null && echo hosts";
        let mut order = in_container(harness.order(script), &bundle);
        order.environment.insert("MINE".into(), "submitted".into());
        order.environment.insert("PATH".into(), "/nonexistent".into());
        // The bundle lies in /tmp, which would be private.
        harness.rules.private_dirs = vec!["/dev/shm".into()];
        let Offer::Offered(offer) = &mut harness.rules.containers else { panic!("no runtime") };
        offer.mounts = vec![Mount::read("/etc/hosts:ro").unwrap()];
        harness.restart().await;
        let id = order.id;
        let end = harness.run(order).await;
        let out = harness.written("out");
        assert!(end.exit.is_success(), "{end:?} {out}");
        for word in ["of the bundle\n", "image n1 submitted\n", "kept\n", "kept too\n", "hosts\n"] {
            assert!(out.contains(word), "{word}: {out}");
        }
        // The runtime maps the uid inside; the file belongs to the job's user.
        assert_eq!(fs::metadata(harness.work_dir().join("uid")).unwrap().uid(), harness::USER);
        harness.assert_no_group(id);
    }
}

#[tokio::test]
async fn a_container_that_cannot_run_gives_the_reason() {
    let Some(mut harness) = StepHarness::new().await else { return };
    let order = in_container(harness.order("true"), Path::new("/nonexistent/image"));
    assert_failed_with(&harness.run(order).await, &["--container", "node n1", "--exclude=n1"]);
    let Some(runtime) = runtimes().into_iter().next() else { return };
    let Some((mut harness, image)) = node(&runtime).await else { return };
    let order = in_container(harness.order("true"), Path::new("/nonexistent/image"));
    assert_failed_with(&harness.run(order).await, &["/nonexistent/image", "(uid 12345)"]);
    // A limit of the job's own is no fault of the node.
    let mut order = in_container(harness.order("true"), &image);
    order.rlimits = vec![common::job::Rlimit { name: "nproc".into(), soft: Some(0) }];
    let mut other = Command::new("sleep").arg("600").uid(harness::USER).spawn().unwrap();
    let end = harness.run(order).await;
    other.kill().and_then(|()| other.wait()).unwrap();
    assert_failed_with(&end, &["limit", "`ulimit -u`"]);
    open_to_all(&image, 0o700);
    let closed = in_container(harness.order("true"), &image.join("etc"));
    assert_failed_with(&harness.run(closed).await, &["etc", "denied"]);
}

#[tokio::test]
async fn processes_that_outlive_the_script_in_a_container_end_with_it() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        let before = Before::of(&harness);
        let script = "(trap '' TERM HUP; while :; do sleep 0.05; done) & echo $! >left; exit 0";
        let order = in_container(before.own(harness.order(script)), &image);
        let id = harness.start(order).await;
        let left = harness.pid("left").await;
        assert!(harness.end(id).await.exit.is_success());
        until("the daemon is gone", || !harness::is_alive(left)).await;
        before.assert_nothing_left(&harness, id).await;
    }
}

#[tokio::test]
async fn tasks_and_programs_in_a_container_share_the_keys_of_their_step() {
    if !Path::new("/proc/keys").exists() {
        println!("skipped: the kernel has no keyrings");
        return;
    }
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        let call = |number: libc::c_long, words: &str| {
            format!(
                "perl -e '@words = ({words}); print syscall({number}, @words) > 0 ? \"found\" : $!'"
            )
        };
        let add = call(libc::SYS_add_key, "\"user\", \"kant-step\", \"x\", 1, -3");
        let search = call(libc::SYS_keyctl, "10, -3, \"user\", \"kant-step\", 0");
        let script = format!("{add}; echo up >up; while [ ! -e done ]; do sleep 0.02; done");
        let id = harness.start(in_container(harness.order(&script), &image)).await;
        harness.line("up").await;
        assert_eq!(harness.written("out"), "found", "no key was added");
        let search = format!("{search} >seen.new; echo >>seen.new; mv seen.new seen");
        let work_dir = harness.work_dir().display().to_string();
        let start = StartTask { work_dir, ..shell_in(id, TaskNumber(1), &search) };
        let news = harness.steps().start_task(start).await;
        assert!(!matches!(news.state, TaskState::Failed(_)), "{news:?}");
        let seen = harness.line("seen").await;
        fs::write(harness.work_dir().join("done"), "").unwrap();
        assert!(harness.end(id).await.exit.is_success());
        assert_eq!(seen.trim(), "found");
    }
}

/// The error comes when the root file system is mounted already.
#[tokio::test]
async fn a_container_that_cannot_be_made_leaves_the_image_unchanged() {
    for runtime in runtimes() {
        let Some((mut harness, image)) = node(&runtime).await else { return };
        let untouched = files(&image);
        let bundle = harness.home().join("bundle");
        fs::create_dir(&bundle).unwrap();
        let config = serde_json::json!({
            "root": { "path": image },
            "mounts": [{ "destination": format!("/{}", "a".repeat(300)), "source": "/usr",
                         "options": ["bind"] }],
        });
        fs::write(bundle.join("config.json"), config.to_string()).unwrap();
        open_to_all(&bundle, 0o755);
        let order = in_container(harness.order("true"), &bundle);
        assert_failed_with(&harness.run(order).await, &["failed to make the mount point /aaa"]);
        assert_eq!(files(&image), untouched);
    }
}
