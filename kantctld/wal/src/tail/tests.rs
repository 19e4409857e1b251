//! Tests of applying items, and of the inconsistencies that are detected.

use super::*;
use crate::segment::SegmentId;
use crate::test_data::{entry, hard_state};

const HOME: RecordLocation = RecordLocation { segment: SegmentId(1), offset: 48, record_bytes: 64 };

fn at(index: u64, term: u64) -> EntryId {
    EntryId { index: Index(index), term: Term(term) }
}

fn tail_of(items: Vec<Item>) -> std::result::Result<Tail, String> {
    let mut tail = Tail::default();
    items.into_iter().try_for_each(|item| tail.apply(item, HOME))?;
    tail.check_whole()?;
    Ok(tail)
}

#[test]
fn a_later_entry_at_an_old_index_removes_the_rest() {
    let written = [entry(1, 1), entry(2, 1), entry(3, 1), entry(2, 2)];
    let tail = tail_of(written.map(Item::Entry).into()).unwrap();
    assert_eq!(tail.last_index(), Index(2));
    assert_eq!(tail.term(Index(2)).unwrap(), Term(2));
}

#[test]
fn a_gap_between_entries_is_detected() {
    let reason = tail_of([entry(1, 1), entry(3, 1)].map(Item::Entry).into()).unwrap_err();
    assert_eq!(reason, "entry 3 follows entry 1");
}

#[test]
fn an_entry_below_the_base_is_detected() {
    let reason = tail_of(vec![Item::Compact(at(5, 1)), Item::Entry(entry(5, 1))]).unwrap_err();
    assert_eq!(reason, "entry 5 is below the start of the log");
}

#[test]
fn a_log_may_begin_above_its_base_if_a_later_compaction_says_so() {
    let freed = vec![
        Item::Compact(at(5, 1)),
        Item::Entry(entry(9, 1)),
        Item::Entry(entry(10, 1)),
        Item::Compact(at(8, 1)),
    ];
    let tail = tail_of(freed.clone()).unwrap();
    assert_eq!((tail.first_index(), tail.last_index()), (Index(9), Index(10)));
    let reason = tail_of(freed[..3].to_vec()).unwrap_err();
    assert_eq!(reason, "entries 6 to 8 are missing");
}

#[test]
fn a_log_that_ends_before_the_commit_index_is_detected() {
    let items = vec![Item::Entry(entry(1, 1)), Item::HardState(hard_state(2))];
    let reason = tail_of(items).unwrap_err();
    assert_eq!(reason, "the log ends at entry 1, although 2 was committed");
}

#[test]
fn a_reset_removes_everything_and_raises_the_commit_index() {
    let items =
        vec![Item::Entry(entry(1, 1)), Item::HardState(hard_state(1)), Item::Reset(at(50, 7))];
    let tail = tail_of(items).unwrap();
    assert_eq!((tail.first_index(), tail.last_index()), (Index(51), Index(50)));
    assert_eq!(tail.committed(), Index(50));
}

#[test]
fn a_compaction_never_moves_the_base_back() {
    let tail = tail_of(vec![Item::Compact(at(9, 2)), Item::Compact(at(5, 1))]).unwrap();
    assert_eq!(tail.base(), at(9, 2));
}

/// The number of entries whose payload is only on disk.
fn on_disk(tail: &Tail) -> usize {
    assert!(tail.entries.iter().skip(tail.on_disk).all(LogSlot::is_in_memory));
    assert!(!tail.entries.iter().take(tail.on_disk).any(LogSlot::is_in_memory));
    let warm = tail.entries.iter().filter(|kept| kept.is_in_memory()).map(LogSlot::payload_bytes);
    assert_eq!(tail.memory_bytes, warm.sum::<u64>());
    tail.on_disk
}

#[test]
fn memory_has_the_last_payloads_and_always_the_very_last() {
    // "entry 1 of term 1" is 17 bytes.
    let mut tail = Tail::new(40);
    let mut colds = Vec::new();
    for index in 1..=5 {
        tail.apply(Item::Entry(entry(index, 1)), HOME).unwrap();
        colds.push(on_disk(&tail));
    }
    assert_eq!(colds, [0, 0, 1, 2, 3]);
    // Another end of the log, below the entries in memory.
    tail.apply(Item::Entry(entry(2, 2)), HOME).unwrap();
    assert_eq!((on_disk(&tail), tail.entries.len()), (1, 2));
    tail.apply(Item::Compact(at(1, 1)), HOME).unwrap();
    assert_eq!((on_disk(&tail), tail.entries.len()), (0, 1));
    let large = Entry { payload: vec![0; 100], ..entry(3, 2) };
    tail.apply(Item::Entry(large), HOME).unwrap();
    assert_eq!((on_disk(&tail), tail.memory_bytes), (1, 100));
    tail.apply(Item::Reset(at(9, 3)), HOME).unwrap();
    assert_eq!((on_disk(&tail), tail.memory_bytes), (0, 0));
}
