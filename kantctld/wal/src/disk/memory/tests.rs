//! Tests of the simulated disk.

use super::*;

/// Always picks the same number, or the largest possible.
fn always(answer: usize) -> impl FnMut(usize) -> usize {
    move |below| answer.min(below - 1)
}

fn disk_with(name: &str, synced: &[u8]) -> (MemDisk, MemFile) {
    let disk = MemDisk::new();
    let file = disk.create(name).unwrap();
    file.write_at(0, synced).unwrap();
    file.sync().unwrap();
    disk.sync_dir().unwrap();
    (disk, file)
}

#[test]
fn a_crash_keeps_synced_bytes_and_may_lose_the_others() {
    let (disk, file) = disk_with("a", b"kept");
    file.write_at(4, b"lost").unwrap();
    assert_eq!(disk.content("a").unwrap(), b"keptlost");
    disk.crash(&mut always(0));
    assert_eq!(disk.content("a").unwrap(), b"kept");
}

#[test]
fn a_crash_may_tear_a_write_to_a_prefix() {
    let (disk, file) = disk_with("a", b"kept");
    file.write_at(4, b"torn").unwrap();
    disk.crash(&mut always(2));
    assert_eq!(disk.content("a").unwrap(), b"keptto");
}

#[test]
fn a_crash_may_keep_a_later_write_and_lose_an_earlier_one() {
    let (disk, file) = disk_with("a", b"....");
    file.write_at(0, b"1").unwrap();
    file.write_at(1, b"2").unwrap();
    let mut answers = [0, 0, 1].into_iter();
    disk.crash(&mut |_| answers.next().unwrap());
    assert_eq!(disk.content("a").unwrap(), b".2..");
}

#[test]
fn a_name_without_sync_dir_may_be_lost() {
    let (disk, _file) = disk_with("a", b"x");
    disk.rename("a", "b").unwrap();
    disk.create("c").unwrap();
    assert_eq!(disk.list().unwrap(), ["b", "c"]);
    disk.crash(&mut always(0));
    assert_eq!(disk.list().unwrap(), ["a"]);
}

#[test]
fn after_a_failed_sync_writes_are_lost_and_the_next_sync_falsely_succeeds() {
    let (disk, file) = disk_with("a", b"old");
    file.write_at(0, b"new").unwrap();
    disk.fail_sync_after(0);
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(disk.content("a").unwrap(), b"new");
    disk.crash(&mut always(1));
    assert_eq!(disk.content("a").unwrap(), b"old");
}

#[test]
fn a_full_disk_refuses_growth_but_not_overwriting() {
    let (disk, file) = disk_with("a", b"12345678");
    disk.set_capacity_bytes(Some(8));
    file.write_at(0, b"abcd").unwrap();
    let error = file.write_at(8, b"9").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn handles_and_locks_end_with_the_process() {
    let (disk, file) = disk_with("a", b"x");
    let lock = disk.lock("lock").unwrap();
    assert_eq!(disk.lock("lock").unwrap_err().kind(), io::ErrorKind::WouldBlock);
    disk.restart();
    file.sync().unwrap_err();
    let second = disk.lock("lock").unwrap();
    drop(lock);
    disk.lock("lock").unwrap_err();
    drop(second);
    disk.lock("lock").unwrap();
}
