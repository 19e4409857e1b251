//! Tests of the audit log's thread on real files, and on a full disk (man full(4)).

use super::refusals::WRITTEN_MAX;
use super::writer::BATCH;
use super::*;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

fn config(dir: &Path, audit_log: &str) -> ControllerConfig {
    let state_dir = dir.display().to_string();
    ControllerConfig { state_dir, audit_log: audit_log.to_owned(), ..ControllerConfig::default() }
}

fn line(target: &str) -> AuditLine {
    let own = AuditLine::for_own_action(
        Time(1_700_000_000_123),
        "socket",
        "jobs/cancel",
        AuditResult::Done,
    );
    AuditLine { uid: Some(0), target: target.to_owned(), ..own }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "incomplete line: {text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        thread::yield_now();
    }
}

#[test]
fn a_name_cannot_forge_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let (audit, keeper) = start(&config(dir.path(), "audit.log")).unwrap();
    let forged = "1\n{\"uid\":0,\"verb\":\"jobs/cancel\"}\u{202e}\u{1b}[2J";
    audit.note(line(forged));
    audit.note(line(&"x".repeat(5000)));
    keeper.stop();
    let path = dir.path().join("audit.log");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let lines = lines(&path);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let text = std::fs::read(&path).unwrap();
    let is_plain = |byte: &u8| *byte == b'\n' || (b' '..=b'~').contains(byte);
    assert!(text.iter().all(is_plain), "control characters in the file");
    assert_eq!(lines[0]["target"], forged);
    assert_eq!(lines[0]["at"], "2023-11-14T22:13:20.123Z");
    assert_eq!(lines[0]["user"], "root");
    assert!(lines[1]["target"].as_str().unwrap().len() < 600);
}

#[test]
fn a_file_that_others_could_read_or_replace_is_not_used_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (audit, keeper) = start(&config(dir.path(), "audit.log")).unwrap();
    audit.note(line("1"));
    keeper.stop();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let loose = dir.path().join("loose");
    std::fs::create_dir(&loose).unwrap();
    std::fs::set_permissions(&loose, std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = start(&config(dir.path(), "loose/audit.log")).err().unwrap();
    assert!(error.to_string().contains("audit_log"), "{error}");
}

#[test]
fn a_file_that_was_moved_or_reached_its_limit_is_replaced_by_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    let file = AuditFile::new(path.clone(), 10);
    file.append("{\"a\":1}\n").unwrap();
    file.append("{\"b\":1}\n").unwrap();
    let aside = dir.path().join("audit.log.1");
    assert_eq!((lines(&aside).len(), lines(&path).len()), (1, 1), "moved at the limit");
    std::fs::rename(&path, dir.path().join("moved")).unwrap();
    file.append("{\"c\":1}\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"c\":1}\n");
    // As a power failure leaves it.
    std::fs::write(&path, "{\"d").unwrap();
    AuditFile::new(path.clone(), 0).append("{\"e\":1}\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"d\n{\"e\":1}\n");
}

#[test]
fn lines_that_cannot_be_written_are_queued_counted_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    // A directory in its place makes every write fail.
    let path = dir.path().join("audit.log");
    std::fs::create_dir(&path).unwrap();
    let (audit, keeper) = start(&config(dir.path(), "audit.log")).unwrap();
    audit.note(line("first"));
    let trouble = wait_for("trouble", || audit.trouble());
    assert!(trouble.contains("failed to write the audit log"), "{trouble}");
    let asked = Instant::now();
    for _ in 0..WAITING_MAX + BATCH + 7 {
        audit.note(line("more"));
    }
    assert!(asked.elapsed() < Duration::from_secs(5), "a request waited for the disk");
    let trouble = audit.trouble().unwrap();
    assert!(!trouble.contains(" 0 are lost"), "{trouble}");
    std::fs::remove_dir(&path).unwrap();
    wait_for("its end", || audit.trouble().is_none().then_some(()));
    keeper.stop();
    let lines = lines(&path);
    assert_eq!(lines[0]["target"], "first", "the oldest lines are kept");
    let lost: Vec<&Value> = lines.iter().filter(|line| line["verb"] == "audit/lost").collect();
    assert_eq!(lost.len(), 1);
    let kept = lines.len() - 2;
    assert_eq!(lost[0]["detail"], format!("{} lines", WAITING_MAX + BATCH + 7 - kept));
}

#[test]
fn refusals_of_one_user_do_not_displace_other_lines() {
    let dir = tempfile::tempdir().unwrap();
    let (audit, keeper) = start(&config(dir.path(), "audit.log")).unwrap();
    let refused = |uid: u32, at: Time| AuditLine {
        at,
        uid: Some(uid),
        result: AuditResult::Refused,
        ..line("x")
    };
    let begun = line("x").at;
    for _ in 0..WRITTEN_MAX + 2 * WAITING_MAX as u64 {
        audit.note(refused(4711, begun));
    }
    audit.note(refused(4712, begun));
    audit.note(line("done"));
    // The counts are written a minute later and at the end.
    audit.note(refused(4711, Time(begun.0 + 60_000)));
    for _ in 0..WRITTEN_MAX {
        audit.note(refused(4712, Time(begun.0 + 60_000)));
    }
    audit.note(refused(4712, Time(begun.0 + 60_000)));
    keeper.stop();
    let lines = lines(&dir.path().join("audit.log"));
    let of = |uid: u32, verb: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["uid"] == uid && line["verb"] == verb).collect()
    };
    assert_eq!(of(4711, "jobs/cancel").len() as u64, WRITTEN_MAX + 1);
    assert_eq!(of(0, "jobs/cancel").len(), 1);
    let more = of(4711, "audit/more_refused");
    assert_eq!((more.len(), &more[0]["detail"]), (1, &format!("{} lines", 2 * WAITING_MAX).into()));
    let more = of(4712, "audit/more_refused");
    assert_eq!((more.len(), &more[0]["detail"]), (1, &"1 lines".into()));
}

#[test]
fn the_queue_keeps_space_for_actions_that_were_carried_out() {
    let mut queue = Queue::default();
    let refused = AuditLine { result: AuditResult::Refused, ..line("refused") };
    (0..WAITING_MAX).for_each(|_| queue.push(refused.clone()));
    assert_eq!((queue.lines.len(), queue.lost), (WAITING_MAX / 2, WAITING_MAX as u64 / 2));
    queue.push(line("done"));
    assert_eq!(queue.lines.back().unwrap().target, "done");
}

#[test]
fn a_full_disk_leaves_no_incomplete_line() {
    // `/dev/full` fails every write and cannot be truncated; the error is that of a full disk.
    let error = AuditFile::new("/dev/full".into(), 0).append("{}\n").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn without_a_file_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (audit, keeper) = start(&config(dir.path(), "")).unwrap();
    audit.note(line("none"));
    keeper.stop();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(audit.trouble(), None);
}
