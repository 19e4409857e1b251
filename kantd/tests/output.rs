//! Reading a job's output as its owner: only what the owner may read, and with a wait for new
//! output. Cases with other users need root.

use crate::controller::{ended, id, running, soon};
use common::id::{Gid, Uid};
use common::job::{EndCause, Owner};
use common::time::Span;
use common::wire::node::{OutputChunk, ReadOutput, StepPhase, StepStatus};
use kantd::output::OutputReader;
use nix::sys::stat::Mode;
use node::Observed;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const ALICE: u32 = 12345;
const BOB: u32 = 23456;

/// Attempt 1.1 in this phase, as published phases that can be changed.
fn observed(phase: StepPhase) -> (watch::Sender<Observed>, watch::Receiver<Observed>) {
    watch::channel([StepStatus { id: id(1, 1), phase }].into_iter().collect())
}

fn reader() -> OutputReader {
    OutputReader::new(false, observed(ended(EndCause::Exited)).1)
}

fn question(path: impl AsRef<Path>, uid: u32) -> ReadOutput {
    ReadOutput {
        question: 7,
        id: id(1, 1),
        owner: Owner { uid: Uid(uid), gid: Gid(uid), name: uid.to_string() },
        path: path.as_ref().display().to_string(),
        offset: 0,
        bytes_max: 1 << 16,
        wait: Span(0),
    }
}

fn refusal(chunk: OutputChunk) -> String {
    assert_eq!((chunk.question, chunk.bytes), (7, vec![]));
    chunk.error.expect("must be refused")
}

/// The user whose file is read: alice if the test runs as root, else the test's own user.
fn reading_user() -> u32 {
    let uid = nix::unistd::geteuid();
    if uid.is_root() { ALICE } else { uid.as_raw() }
}

/// A directory that all may traverse, with a file of this mode and, as root, these owners.
fn file(text: &str, uid: u32, gid: u32, mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
    let path = dir.path().join("out");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    if nix::unistd::geteuid().is_root() {
        chown(&path, Some(uid), Some(gid)).unwrap();
    }
    (dir, path)
}

fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: needs root to read as another user");
    }
    is_root
}

#[tokio::test]
async fn an_owner_reads_their_own_file_and_no_others() {
    if !is_root() {
        return;
    }
    let (_dir, path) = file("alice's words", ALICE, ALICE, 0o600);
    let chunk = reader().answer(question(&path, ALICE)).await;
    assert_eq!((chunk.bytes, chunk.error), (b"alice's words".to_vec(), None));

    let error = refusal(reader().answer(question(&path, BOB)).await);
    assert!(error.contains("Permission denied"), "{error}");
    assert!(error.contains(path.to_str().unwrap()), "{error}");

    // Reading as a user did not change this process's identity.
    assert_eq!(fs::read_to_string(&path).unwrap(), "alice's words");
}

#[tokio::test]
async fn an_owner_does_not_have_kantds_own_groups() {
    if !is_root() {
        return;
    }
    // Like a daemon started by systemd; a shell in a container may have no supplementary groups.
    nix::unistd::setgroups(&[nix::unistd::Gid::from_raw(0)]).unwrap();
    let (_dir, of_roots_group) = file("secret", 0, 0, 0o040);
    let error = refusal(reader().answer(question(&of_roots_group, ALICE)).await);
    assert!(error.contains("Permission denied"), "{error}");
    let (_dir, of_her_group) = file("shared", 0, ALICE, 0o040);
    let chunk = reader().answer(question(&of_her_group, ALICE)).await;
    assert_eq!((chunk.bytes, chunk.error), (b"shared".to_vec(), None));
}

#[tokio::test]
async fn root_reads_only_where_jobs_of_root_may_run() {
    let (_dir, path) = file("root's words", 0, 0, 0o600);
    let error = refusal(reader().answer(question(&path, 0)).await);
    assert!(error.contains("no jobs of root"), "{error}");
    if is_root() {
        let allowing = OutputReader::new(true, observed(running()).1);
        assert_eq!(allowing.answer(question(&path, 0)).await.bytes, b"root's words");
    }
}

#[tokio::test]
async fn only_regular_files_are_read_and_nothing_blocks() {
    let user = reading_user();
    let (dir, path) = file("text", user, user, 0o644);
    let pipe = dir.path().join("pipe");
    nix::unistd::mkfifo(&pipe, Mode::from_bits_truncate(0o666)).unwrap();
    fs::set_permissions(&pipe, Permissions::from_mode(0o666)).unwrap();
    let directory = dir.path().join("directory");
    fs::create_dir(&directory).unwrap();
    let odd = ["/dev/null", "/proc/self/maps", "/proc/self/status"].map(Path::new);
    for path in odd.into_iter().chain([pipe.as_path(), directory.as_path()]) {
        let error = refusal(soon(reader().answer(question(path, user))).await);
        assert!(error.contains("not a regular file"), "{}: {error}", path.display());
    }
    let relative = Path::new("out");
    let error = refusal(reader().answer(question(relative, user)).await);
    assert!(error.contains("not absolute"), "{error}");
    assert_eq!(reader().answer(question(&path, user)).await.bytes, b"text");
}

#[tokio::test]
async fn a_piece_is_no_larger_than_asked_and_no_larger_than_a_mebibyte() {
    let user = reading_user();
    let (_dir, path) = file(&"x".repeat(3 << 20), user, user, 0o600);
    let ask = |offset, bytes_max| ReadOutput { offset, bytes_max, ..question(&path, user) };
    assert_eq!(reader().answer(ask(10, 100)).await.bytes.len(), 100);
    assert_eq!(reader().answer(ask(0, u32::MAX)).await.bytes.len(), 1 << 20);
    assert_eq!(reader().answer(ask((3 << 20) - 5, 100)).await.bytes.len(), 5);
    assert_eq!(reader().answer(ask(u64::MAX >> 2, 100)).await.bytes.len(), 0);
}

#[tokio::test]
async fn a_request_waits_until_the_file_exists_and_grows() {
    let user = reading_user();
    let (_dir, path) = file("", user, user, 0o600);
    fs::remove_file(&path).unwrap();
    let (_board, view) = observed(running());
    let reader = OutputReader::new(false, view);
    let waiting = ReadOutput { wait: Span::from_seconds(25), ..question(&path, user) };
    let mut answer = Box::pin(reader.answer(waiting));
    // The request waits: there is nothing to answer with yet.
    let early = tokio::time::timeout(Duration::from_millis(300), &mut answer).await;
    assert!(early.is_err(), "{early:?}");
    fs::write(&path, "").unwrap();
    if nix::unistd::geteuid().is_root() {
        chown(&path, Some(user), None).unwrap();
    }
    let early = tokio::time::timeout(Duration::from_millis(300), &mut answer).await;
    assert!(early.is_err(), "{early:?}");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"at last").unwrap();
    let chunk = soon(answer).await;
    assert_eq!((chunk.bytes, chunk.error), (b"at last".to_vec(), None));
}

#[tokio::test]
async fn a_request_stops_waiting_at_its_time_limit_or_its_steps_end() {
    let user = reading_user();
    let (_dir, path) = file("all", user, user, 0o600);
    let (observed, view) = observed(running());
    let reader = OutputReader::new(false, view);
    let at_end = |wait| ReadOutput { offset: 3, wait, ..question(&path, user) };
    let chunk = soon(reader.answer(at_end(Span(200)))).await;
    assert_eq!((chunk.bytes, chunk.error), (vec![], None));

    let begun = Instant::now();
    let over = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        observed.send_modify(|observed| observed.insert(id(1, 1), ended(EndCause::Exited)));
    };
    let (chunk, ()) = soon(async { tokio::join!(reader.answer(at_end(Span(59_000))), over) }).await;
    assert_eq!((chunk.bytes, chunk.error), (vec![], None));
    assert!(begun.elapsed() < Duration::from_secs(20), "waited for a step that had ended");
}

#[tokio::test]
async fn a_missing_file_is_an_error_only_if_its_step_has_ended() {
    let user = reading_user();
    let missing = Path::new("/nonexistent/out");
    let error = refusal(reader().answer(question(missing, user)).await);
    assert!(error.contains("No such file"), "{error}");
    let living = OutputReader::new(false, observed(running()).1);
    let chunk = living.answer(question(missing, user)).await;
    assert_eq!((chunk.bytes, chunk.error), (vec![], None));
}
