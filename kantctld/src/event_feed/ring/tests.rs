//! The buffer of lines: bounds, slow readers, and what each reader gets.

use super::*;
use crate::admission_limits::AdmissionLimits;
use crate::event_feed::audience::JobOwnership;
use common::id::{JobId, LogIndex, Uid};

fn entry(job: u32, user: &str) -> Entry {
    let line = format!("{job:0>99}\n").into_bytes().into();
    let sequence = sequence(job);
    let whose = JobOwnership { name: user.to_owned(), uid: Uid(1), account: None, queue: None };
    let (job, subject) = (Some(JobKey::single(JobId(job))), Subject::Job(Some(whose.into())));
    Entry { sequence, job, subject, line, general: None }
}

fn sequence(entry: u32) -> EventSequence {
    EventSequence { entry: LogIndex(entry.into()), place: 1 }
}

/// A reader from the first event on.
fn open(ring: &Arc<Ring>, permit: Permit, wanted: Wanted) -> Reading {
    ring.add_reader(permit, wanted.into(), EventSequence::default())
}

fn permit(uid: u32) -> Permit {
    AdmissionLimits::default().watches.take(uid).unwrap()
}

fn of_user(user: &str) -> Wanted {
    Wanted { users: [user.to_owned()].into(), ..Wanted::default() }
}

#[test]
fn slow_readers_share_one_ring_and_learn_how_much_they_missed() {
    let (ring, now) = (Arc::new(Ring::with_capacity(100 << 10)), Instant::now());
    let all: Vec<Reading> =
        (0..40).map(|reader| open(&ring, permit(reader / 8), Wanted::default())).collect();
    let of_bob = open(&ring, permit(99), of_user("bob"));
    for job in 1..=100_000 {
        let user = if job % 1000 == 0 { "bob" } else { "ada" };
        ring.add(vec![entry(job, user)], sequence(job), now);
    }
    let bytes: usize = ring.content.lock().entries.iter().map(Entry::bytes).sum();
    assert_eq!(bytes, ring.content.lock().bytes);
    assert!(bytes <= 100 << 10, "{bytes} bytes for 41 readers");
    let left = ring.content.lock().entries.len() as u64;
    for reading in &all {
        assert_eq!(reading.take(), Taken::Missed(100_000 - left));
        let Taken::Lines(lines) = reading.take() else { panic!("no lines") };
        assert!(lines.starts_with(format!("{:0>99}", 100_001 - left).as_bytes()));
    }
    assert_eq!(of_bob.take(), Taken::Missed(99));
    assert!(matches!(of_bob.take(), Taken::Lines(_)), "the last line is still there");
    assert_eq!(of_bob.take(), Taken::Nothing(sequence(100_000)));
    drop((all, of_bob));
    ring.add(vec![entry(1, "ada")], sequence(1), now);
    assert_eq!(ring.content.lock().bytes, 0, "lines without a reader are not kept");
}

#[test]
fn a_user_has_at_most_eight_readers() {
    let (ring, admission) = (Arc::new(Ring::default()), AdmissionLimits::default());
    let open = |uid| Some(open(&ring, admission.watches.take(uid).ok()?, of_user("ada")));
    let mut of_one: Vec<Reading> = std::iter::from_fn(|| open(1)).collect();
    assert_eq!(of_one.len(), 8);
    assert!(open(2).is_some());
    of_one.pop();
    of_one.extend(open(1));
    assert!(of_one.len() == 8 && open(1).is_none());
    // One that is ended for not reading counts no longer, though its client still holds it.
    let (now, late) = (Instant::now(), Instant::now() + 2 * BEHIND_MAX);
    ring.content.lock().readers.values_mut().for_each(|one| one.behind_since = Some(now));
    ring.add(Vec::new(), sequence(1), late);
    assert!(open(1).is_some());
}

#[test]
fn a_reader_that_misses_lines_and_does_not_read_for_a_minute_is_ended() {
    let (ring, now) = (Arc::new(Ring::with_capacity(1 << 10)), Instant::now());
    let open = || open(&ring, permit(1), of_user("ada"));
    let (full, reads) = (open(), open());
    let add = |job: u32, at: Instant| ring.add(vec![entry(job, "ada")], sequence(job), at);
    (1..100).for_each(|job| add(job, now));
    assert!(matches!(reads.take(), Taken::Missed(_)));
    assert!(matches!(reads.take(), Taken::Lines(_)));
    add(100, now + BEHIND_MAX / 2);
    assert!(matches!(reads.take(), Taken::Lines(_)));
    add(101, now + BEHIND_MAX);
    assert_eq!(full.take(), Taken::Ended);
    assert!(matches!(reads.take(), Taken::Lines(_)), "the one that reads stays");
    add(102, now + 10 * BEHIND_MAX);
    assert!(matches!(reads.take(), Taken::Lines(_)), "a reader without a backlog stays");
}

#[test]
fn a_reader_gets_no_line_of_an_event_that_it_has() {
    let ring = Arc::new(Ring::default());
    let reading = ring.add_reader(permit(1), Wanted::default().into(), sequence(2));
    assert_eq!(reading.take(), Taken::Nothing(sequence(2)));
    let entries = (1..=3).map(|job| entry(job, "ada")).collect();
    ring.add(entries, sequence(4), Instant::now());
    assert_eq!(reading.take(), Taken::Lines(entry(3, "ada").line.into()));
    assert_eq!(reading.take(), Taken::Nothing(sequence(4)), "entry 4 has no line");
}
