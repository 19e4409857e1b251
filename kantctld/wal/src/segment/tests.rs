//! Tests of heads and scans.

use super::*;
use crate::entry::{HardState, Index};

const HEAD: Head = Head { id: SegmentId(3), salt: 99, first: Sequence(10), size_bytes: 400 };

/// A segment of records that claim these `durable` sequences.
fn segment(durable: &[u64]) -> Vec<u8> {
    let mut bytes = HEAD.encode();
    for (sequence, durable) in (HEAD.first.0..).zip(durable) {
        let stamp = Stamp { sequence: Sequence(sequence), durable: Sequence(*durable) };
        bytes.extend(record::encode(&items(sequence), stamp, &HEAD.seed()));
    }
    bytes.resize(HEAD.size_bytes as usize, 0);
    bytes
}

fn items(sequence: u64) -> Vec<Item> {
    vec![Item::HardState(HardState { commit: Index(sequence), payload: b"vote".to_vec() })]
}

/// The items of the records of a run.
fn said(scan: &Scan) -> Vec<Vec<Item>> {
    scan.records.iter().map(|(_, items)| items.clone()).collect()
}

/// The length of one of these records.
fn step() -> u64 {
    record::record_bytes(record::body_bytes(&items(10)))
}

#[test]
fn a_head_can_be_read_back_and_every_flipped_bit_is_detected() {
    let bytes = segment(&[9]);
    assert_eq!(Head::decode(&bytes, SegmentId(3), "s").unwrap(), HEAD);
    for bit in 0..HEAD_BYTES as usize * 8 {
        let mut rotten = bytes.clone();
        rotten[bit / 8] ^= 1 << (bit % 8);
        Head::decode(&rotten, SegmentId(3), "s").unwrap_err();
    }
}

#[test]
fn a_head_of_another_id_or_length_is_refused() {
    let mut bytes = segment(&[9]);
    let error = Head::decode(&bytes, SegmentId(4), "s").unwrap_err().to_string();
    assert!(error.contains("renamed"), "{error}");
    bytes.pop();
    let error = Head::decode(&bytes, SegmentId(3), "s").unwrap_err().to_string();
    assert!(error.contains("length"), "{error}");
    let error = Head::decode(&bytes[..20], SegmentId(3), "s").unwrap_err().to_string();
    assert!(error.contains("ends inside its head"), "{error}");
}

#[test]
fn a_scan_ends_with_the_last_valid_record() {
    let mut bytes = segment(&[9, 9, 9]);
    let whole = scan(&bytes, &HEAD, "s").unwrap();
    assert_eq!(said(&whole), [items(10), items(11), items(12)]);
    assert!(!is_torn(&bytes, &whole));
    bytes[(HEAD_BYTES + 2 * step() + 30) as usize] ^= 1;
    let cut = scan(&bytes, &HEAD, "s").unwrap();
    assert_eq!(said(&cut), [items(10), items(11)]);
    assert_eq!(cut.next, Sequence(12));
    assert!(is_torn(&bytes, &cut));
}

#[test]
fn a_later_record_without_a_claim_of_a_sync_is_no_witness() {
    let mut bytes = segment(&[9, 10, 10]);
    bytes[(HEAD_BYTES + step() + 30) as usize] ^= 1;
    let cut = scan(&bytes, &HEAD, "s").unwrap();
    assert_eq!(cut.records.len(), 1);
    assert_eq!(later_proof_of_sync(&bytes, &HEAD, &cut), None);
}

#[test]
fn a_later_record_that_claims_a_sync_is_a_witness() {
    let mut bytes = segment(&[9, 10, 11]);
    bytes[(HEAD_BYTES + step() + 30) as usize] ^= 1;
    let cut = scan(&bytes, &HEAD, "s").unwrap();
    assert_eq!(later_proof_of_sync(&bytes, &HEAD, &cut), Some(HEAD_BYTES + 2 * step()));
}

#[test]
fn a_witness_is_found_even_behind_a_damaged_length() {
    let mut bytes = segment(&[9, 10, 11]);
    let at = (HEAD_BYTES + step()) as usize;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let cut = scan(&bytes, &HEAD, "s").unwrap();
    assert_eq!(later_proof_of_sync(&bytes, &HEAD, &cut), Some(HEAD_BYTES + 2 * step()));
}

#[test]
fn a_record_out_of_sequence_ends_the_run() {
    let mut bytes = segment(&[9, 9]);
    let stamp = Stamp { sequence: Sequence(11), durable: Sequence(9) };
    let again = record::encode(&items(11), stamp, &HEAD.seed());
    bytes[(HEAD_BYTES + 2 * step()) as usize..][..again.len()].copy_from_slice(&again);
    assert_eq!(said(&scan(&bytes, &HEAD, "s").unwrap()), [items(10), items(11)]);
}

#[test]
fn records_of_the_files_earlier_use_are_ignored() {
    // An old record has exactly the place and the sequence that the second record of the new
    // segment would have.
    let mut bytes = segment(&[9, 10, 11]);
    let later = Head { id: SegmentId(4), ..HEAD };
    bytes[..HEAD_BYTES as usize].copy_from_slice(&later.encode());
    let stamp = Stamp { sequence: Sequence(10), durable: Sequence(9) };
    let first = record::encode(&items(10), stamp, &later.seed());
    bytes[HEAD_BYTES as usize..][..first.len()].copy_from_slice(&first);
    let found = scan(&bytes, &later, "s").unwrap();
    assert_eq!(said(&found), [items(10)]);
    assert_eq!(later_proof_of_sync(&bytes, &later, &found), None);
}

#[test]
fn a_forged_record_needs_the_salt() {
    let head = Head { salt: HEAD.salt + 1, ..HEAD };
    assert!(scan(&segment(&[9, 10]), &head, "s").unwrap().records.is_empty());
}
