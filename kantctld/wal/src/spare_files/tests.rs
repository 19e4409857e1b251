//! Tests of the spare files over restarts, filled step by step.

use super::*;
use crate::disk::memory::MemDisk;
use crate::test_data::files;

const SIZE: u64 = 5 * STEP_BYTES / 2;

fn spares(disk: &MemDisk, numbers: &[u64]) -> SpareFiles<MemDisk> {
    SpareFiles::new(Arc::new(disk.clone()), SIZE, numbers).unwrap()
}

fn length(disk: &MemDisk, name: &str) -> u64 {
    disk.content(name).unwrap().len() as u64
}

#[test]
fn a_spare_is_filled_step_by_step_and_then_no_further() {
    let disk = MemDisk::new();
    let mut spares = spares(&disk, &[]);
    for filled in [STEP_BYTES, 2 * STEP_BYTES, SIZE, SIZE] {
        spares.prepare().unwrap();
        let names = files(&disk, "spare-");
        assert_eq!((names.len(), length(&disk, &names[0])), (1, filled));
    }
}

#[test]
fn a_half_filled_spare_is_finished_when_it_is_needed() {
    let disk = MemDisk::new();
    let mut spares = spares(&disk, &[]);
    spares.prepare().unwrap();
    let taken = spares.take(SIZE).unwrap();
    assert_eq!(length(&disk, &taken.name), SIZE);
    assert_eq!(files(&disk, "spare-"), [taken.name]);
}

#[test]
fn a_start_fills_nothing_and_does_not_use_a_half_filled_spare() {
    let disk = MemDisk::new();
    let mut before = spares(&disk, &[]);
    let whole = before.take(SIZE).unwrap().name;
    before.prepare().unwrap();
    let half = files(&disk, "spare-").into_iter().find(|name| *name != whole).unwrap();
    drop(before);
    disk.fail_write_after(0);
    let mut after = spares(&disk, &[1, 2]);
    disk.restart();
    let taken = after.take(SIZE).unwrap();
    assert_eq!((taken.name, files(&disk, "spare-").contains(&half)), (whole, false));
}

#[test]
fn a_half_filled_spare_is_removed_from_a_full_disk() {
    let disk = MemDisk::new();
    disk.set_capacity_bytes(Some(2 * STEP_BYTES));
    let mut spares = spares(&disk, &[]);
    spares.prepare().unwrap();
    spares.prepare().unwrap();
    assert!(matches!(spares.prepare().unwrap_err(), Error::NoSpace { .. }));
    assert_eq!(files(&disk, "spare-"), [""; 0]);
    disk.set_capacity_bytes(None);
    spares.take(SIZE).unwrap();
}
