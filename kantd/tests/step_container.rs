//! Jobs in containers, by the runtimes that are installed (crun, runc): to the kernel the job's
//! user and nobody else, held to the job's group, ended with it, with nothing left; and a sentence
//! where it cannot be.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod leftovers;
mod stand;

use common::id::TaskNumber;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{LaunchOrder, StartTask, TaskState};
use kantd::config::ContainerSettings;
use kantd::container::{self, Mount, Offer};
use leftovers::Before;
use stand::{Stand, assert_failed_with, open_to_all, until};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of the image, beside what they are linked with.
const PROGRAMS: [&str; 9] = ["cat", "id", "ls", "mv", "perl", "sh", "sleep", "touch", "true"];

/// The runtimes of this machine; says which are missing.
fn runtimes() -> Vec<PathBuf> {
    let (there, gone): (Vec<PathBuf>, Vec<PathBuf>) = ["/usr/bin/crun", "/usr/sbin/runc"]
        .map(PathBuf::from)
        .into_iter()
        .partition(|p| p.exists());
    match (there.is_empty(), gone.as_slice()) {
        (true, _) => println!("skipped: neither crun nor runc (apt-get install crun runc)"),
        (false, gone) => println!("not tried, for want of it: {gone:?}"),
    }
    there
}

/// A node whose containers are run by this, and its image.
async fn node(runtime: &Path) -> (Stand, PathBuf) {
    let mut stand = Stand::new().await;
    stand.close();
    let runtime = Some(runtime.to_owned());
    let containers = container::look(&ContainerSettings { runtime, ..Default::default() });
    assert!(matches!(containers, Offer::Offered(_)), "{containers:?}");
    stand.rules.private_dirs = vec!["/tmp".into(), "/dev/shm".into()];
    stand.rules.containers = containers;
    stand.open().await;
    let image = stand.home().join("image");
    make_image(&image);
    (stand, image)
}

/// A root file system that only root may change: these programs, and a word in it.
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

fn in_container(mut order: LaunchOrder, dir: &Path) -> LaunchOrder {
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
async fn a_job_in_a_container_is_its_user_in_its_group_and_leaves_nothing() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        let before = Before::of(&stand);
        let untouched = files(&image);
        let order = before.own(stand.order(
            "cat /etc/word; pwd; echo $KANT_NODE; ls -A /tmp /dev/shm | cat; touch /tmp/a /dev/shm/b
             touch /etc/x 2>/dev/null || echo denied; echo $$ >pid; ulimit -n; umask
             while [ ! -e done ]; do sleep 0.02; done; exit 7",
        ));
        let mut order = in_container(order, &image);
        order.rlimits = vec![common::job::Rlimit { name: "nofile".into(), soft: Some(777) }];
        order.umask = 0o027;
        let id = stand.start(order).await;
        let pid = stand.pid("pid").await;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let uid = before.uid();
        let uids = format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        assert!(status.contains(&uids), "{status}");
        assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
        let held = |group: &PathBuf| {
            let pids = fs::read_to_string(group.join("cgroup.procs")).unwrap();
            pids.lines().any(|line| line == pid.to_string())
        };
        assert!(stand.groups(id).iter().all(held), "outside of {:?}", stand.groups(id));
        // A program that is started in the step finds itself there too.
        let (question, task) = (1, TaskNumber(1));
        let program = ["/bin/sh", "-c", "cat /etc/word >launched; pwd >>launched"];
        let program = program.map(str::to_owned).to_vec();
        let (environment, work_dir) = (BTreeMap::new(), "/nonexistent".to_owned());
        let manner = common::wire::node::Manner::default();
        let start = StartTask { question, id, task, program, environment, work_dir, manner };
        // What it writes into its root is nobody else's to see.
        let layer = fs::metadata(stand.step_dir(id).join("container/layer")).unwrap();
        assert_eq!(layer.permissions().mode() & 0o777, 0o700);
        let news = stand.steps().start_task(start).await;
        assert!(!matches!(news.state, TaskState::Failed(_)), "{news:?}");
        let launched = format!("of the image\n{}\n", stand.work_dir().display());
        let file = stand.work_dir().join("launched");
        until("it has run", || fs::read_to_string(&file).is_ok_and(|text| text == launched)).await;
        fs::write(stand.work_dir().join("done"), "").unwrap();
        let end = stand.end(id).await;
        assert_eq!((end.cause, end.exit.code), (EndCause::Exited, 7), "{}", stand.written("out"));
        let out = stand.written("out");
        let home = stand.home().file_name().unwrap().to_string_lossy().into_owned();
        let work = stand.work_dir().display().to_string();
        for word in ["of the image\n", &work, "n1\n", "denied\n", "777\n", "0027\n", &home] {
            assert!(out.contains(word), "{word}: {out}");
        }
        assert!(!Path::new("/tmp/a").exists() && !Path::new("/dev/shm/b").exists());
        assert_eq!(files(&image), untouched, "the image was changed");
        assert!(!stand.step_dir(id).join("container").exists(), "what it was made of");
        before.assert_nothing_left(&stand, id).await;
    }
}

#[tokio::test]
async fn a_users_own_image_may_be_written_at_its_root_and_stays_as_it_was() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        std::os::unix::fs::chown(&image, Some(stand::USER), Some(stand::USER)).unwrap();
        open_to_all(&image, 0o750);
        let untouched = files(&image);
        let script = "touch /made && echo made; : >up
             while [ ! -e done ]; do sleep 0.02; done";
        let order = in_container(stand.order(script), &image);
        let id = stand.start(order).await;
        until("it is up", || stand.work_dir().join("up").exists()).await;
        let upper = fs::metadata(stand.step_dir(id).join("container/layer/upper")).unwrap();
        assert_eq!((upper.uid(), upper.gid()), (stand::USER, stand::USER));
        assert_eq!(upper.permissions().mode() & 0o7777, 0o750, "as the image has it");
        fs::write(stand.work_dir().join("done"), "").unwrap();
        assert!(stand.end(id).await.exit.is_success(), "{}", stand.written("out"));
        assert_eq!(stand.written("out"), "made\n");
        assert_eq!(files(&image), untouched, "the image was changed");
    }
}

#[tokio::test]
async fn a_cancelled_job_in_a_container_hears_of_it_once() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        let before = Before::of(&stand);
        let order = before.own(stand.order(
            "trap 'echo term >>told; sleep 0.3; exit 3' TERM; echo up >up
             while :; do sleep 0.02; done",
        ));
        let id = stand.start(in_container(order, &image)).await;
        stand.line("up").await;
        stand.steps().stop(id);
        let end = stand.end(id).await;
        assert_eq!((end.cause, end.exit.code), (EndCause::Stopped, 3), "{}", stand.written("out"));
        assert_eq!(stand.written("told"), "term\n");
        before.assert_nothing_left(&stand, id).await;
    }
}

#[tokio::test]
async fn a_job_in_a_container_is_warned_once_all_of_it_or_its_script() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        // Long enough for a script to be up before its warning on a slow machine.
        for warning in ["USR1@6", "B:USR1@6"] {
            // The last sleep may be one that the signal ended: a loop ends as its last command did.
            let script = "trap 'echo warned >>told' USR1; echo up >up
                 while [ ! -e done ]; do sleep 0.02; done; exit 0";
            let mut order = in_container(stand.order(script), &image);
            order.time_limit = Some(Span::from_seconds(12));
            order.warning = Some(warning.parse().unwrap());
            let id = stand.start(order).await;
            stand.line("told").await;
            fs::write(stand.work_dir().join("done"), "").unwrap();
            assert!(stand.end(id).await.exit.is_success(), "{warning}: {}", stand.written("out"));
            assert_eq!(stand.written("told"), "warned\n", "{warning}");
            for file in ["told", "up", "done"] {
                fs::remove_file(stand.work_dir().join(file)).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_bundle_brings_variables_and_mounts_and_never_who_it_runs_as() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        let bundle = stand.home().join("bundle");
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
        // So that nothing but what the bundle says keeps them from writing.
        let own = Some(stand::USER);
        std::os::unix::fs::chown(bundle.join("tree"), own, own).unwrap();
        let script = "cat /data/in/part; echo $FROM $KANT_NODE $MINE; touch /x || echo kept
             touch /data/in/x || echo kept too; id -u >uid
             cat /etc/hosts >/dev/null && echo hosts";
        let mut order = in_container(stand.order(script), &bundle);
        order.environment.insert("MINE".into(), "submitted".into());
        order.environment.insert("PATH".into(), "/nonexistent".into());
        stand.close();
        // The bundle lies in /tmp, which a job has for itself: it would not see what it asks for.
        stand.rules.private_dirs = vec!["/dev/shm".into()];
        let Offer::Offered(offer) = &mut stand.rules.containers else { panic!("no runtime") };
        offer.mounts = vec![Mount::read("/etc/hosts:ro").unwrap()];
        stand.open().await;
        let id = order.id;
        let end = stand.run(order).await;
        let out = stand.written("out");
        assert!(end.exit.is_success(), "{end:?} {out}");
        for word in ["of the bundle\n", "image n1 submitted\n", "kept\n", "kept too\n", "hosts\n"] {
            assert!(out.contains(word), "{word}: {out}");
        }
        // What it is called inside is the runtime's; the file is whose the job is.
        assert_eq!(fs::metadata(stand.work_dir().join("uid")).unwrap().uid(), stand::USER);
        stand.assert_no_group(id);
    }
}

#[tokio::test]
async fn what_cannot_run_in_a_container_says_why() {
    needs_root!();
    let mut stand = Stand::new().await;
    let order = in_container(stand.order("true"), Path::new("/nonexistent/image"));
    assert_failed_with(&stand.run(order).await, &["--container", "node n1", "--exclude=n1"]);
    let Some(runtime) = runtimes().into_iter().next() else { return };
    let (mut stand, image) = node(&runtime).await;
    let order = in_container(stand.order("true"), Path::new("/nonexistent/image"));
    assert_failed_with(&stand.run(order).await, &["/nonexistent/image", "(uid 12345)"]);
    // Its own limit, and no fault of the node's.
    let mut order = in_container(stand.order("true"), &image);
    order.rlimits = vec![common::job::Rlimit { name: "nproc".into(), soft: Some(0) }];
    let mut other = Command::new("sleep").arg("600").uid(stand::USER).spawn().unwrap();
    let end = stand.run(order).await;
    other.kill().and_then(|()| other.wait()).unwrap();
    assert_failed_with(&end, &["limit", "`ulimit -u`"]);
    open_to_all(&image, 0o700);
    let closed = in_container(stand.order("true"), &image.join("etc"));
    assert_failed_with(&stand.run(closed).await, &["etc", "denied"]);
}

#[tokio::test]
async fn processes_that_outlive_the_script_in_a_container_end_with_it() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        let before = Before::of(&stand);
        let script = "(trap '' TERM HUP; while :; do sleep 0.05; done) & echo $! >left; exit 0";
        let order = in_container(before.own(stand.order(script)), &image);
        let id = stand.start(order).await;
        let left = stand.pid("left").await;
        assert!(stand.end(id).await.exit.is_success());
        until("the daemon is gone", || !stand::is_alive(left)).await;
        before.assert_nothing_left(&stand, id).await;
    }
}

#[tokio::test]
async fn tasks_and_programs_in_a_container_share_the_keys_of_their_step() {
    needs_root!();
    if !Path::new("/proc/keys").exists() {
        println!("skipped: the kernel has no keyrings");
        return;
    }
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        let call = |number: libc::c_long, words: &str| {
            format!(
                "perl -e '@words = ({words}); print syscall({number}, @words) > 0 ? \"found\" : $!'"
            )
        };
        let add = call(libc::SYS_add_key, "\"user\", \"kant-step\", \"x\", 1, -3");
        let search = call(libc::SYS_keyctl, "10, -3, \"user\", \"kant-step\", 0");
        let script = format!("{add}; echo up >up; while [ ! -e done ]; do sleep 0.02; done");
        let id = stand.start(in_container(stand.order(&script), &image)).await;
        stand.line("up").await;
        assert_eq!(stand.written("out"), "found", "no key was added");
        let (question, task) = (1, TaskNumber(1));
        let search = format!("{search} >seen.new; echo >>seen.new; mv seen.new seen");
        let program = ["/bin/sh", "-c", &search].map(str::to_owned).to_vec();
        let environment = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
        let work_dir = stand.work_dir().display().to_string();
        let manner = common::wire::node::Manner::default();
        let start = StartTask { question, id, task, program, environment, work_dir, manner };
        let news = stand.steps().start_task(start).await;
        assert!(!matches!(news.state, TaskState::Failed(_)), "{news:?}");
        let seen = stand.line("seen").await;
        fs::write(stand.work_dir().join("done"), "").unwrap();
        assert!(stand.end(id).await.exit.is_success());
        assert_eq!(seen.trim(), "found");
    }
}

/// Where its root file system is mounted already, and something else goes wrong.
#[tokio::test]
async fn a_container_that_cannot_be_made_costs_nothing_of_what_its_user_brought() {
    needs_root!();
    for runtime in runtimes() {
        let (mut stand, image) = node(&runtime).await;
        let untouched = files(&image);
        let bundle = stand.home().join("bundle");
        fs::create_dir(&bundle).unwrap();
        let config = serde_json::json!({
            "root": { "path": image },
            "mounts": [{ "destination": format!("/{}", "a".repeat(300)), "source": "/usr",
                         "options": ["bind"] }],
        });
        fs::write(bundle.join("config.json"), config.to_string()).unwrap();
        open_to_all(&bundle, 0o755);
        let order = in_container(stand.order("true"), &bundle);
        assert_failed_with(&stand.run(order).await, &["no place for /aaa"]);
        assert_eq!(files(&image), untouched);
    }
}
