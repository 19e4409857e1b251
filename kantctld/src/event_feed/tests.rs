//! The feed: lines of events to readers, from now on and from an earlier point.

use super::*;
use crate::admission_limits::AdmissionLimits;
use common::config::Private;
use common::id::{Attempt, AttemptId, NodeName, Uid};
use common::job::{Outcome, PreemptReason, Preempted};
use common::token::TokenId;
use query::viewer::Limits;

fn permit() -> Permit {
    AdmissionLimits::default().watches.take(1).unwrap()
}

fn whose(name: &str, uid: u32) -> JobOwnership {
    JobOwnership { name: name.to_owned(), uid: Uid(uid), account: None, queue: None }
}

fn forgotten(job: u32) -> Event {
    Event::JobForgotten { job: JobId(job) }
}

fn applied(entry: u64, jobs: impl Iterator<Item = u32>) -> Arc<AppliedEvents> {
    let events = jobs.map(forgotten).collect();
    Arc::new(AppliedEvents { entry: LogIndex(entry), first: 1, at: Time(entry), events })
}

fn jobs(lines: &[u8]) -> Vec<u32> {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let job = |line| serde_json::from_slice::<Happened>(line).unwrap().job.unwrap().job.0;
    lines.map(job).collect()
}

/// The jobs of the lines that a reader gets.
async fn about(reading: &mut Reading) -> Vec<u32> {
    let mut leading = watch::channel(true).1;
    let Some(Taken::Lines(lines)) = next_lines(reading, &mut leading, None).await else {
        panic!("no lines")
    };
    jobs(&lines)
}

fn open(ring: &Arc<Ring>, wanted: Wanted) -> Reading {
    ring.add_reader(permit(), wanted.into(), EventSequence::default())
}

#[tokio::test]
async fn a_reader_of_one_user_gets_one_event_among_thousands_of_others() {
    let ring = Arc::new(Ring::default());
    let of_bob = Wanted { users: BTreeSet::from(["bob".to_owned()]), ..Wanted::default() };
    let mut bob = open(&ring, of_bob);
    let mut all = open(&ring, Wanted::default());
    let owner = |job: u32| if job == 5000 { "bob" } else { "ada" };
    let owners = (1..=5000).map(|job| (JobId(job), Arc::new(whose(owner(job), 1)))).collect();
    let owners = Owners { jobs: owners, ..Owners::default() };
    append_lines(&ring, &ring.reader_filters(), &applied(1, 1..=5000), &owners);
    assert_eq!(about(&mut bob).await, [5000]);
    let mut seen = Vec::new();
    while seen.len() < 5000 {
        seen.extend(about(&mut all).await);
    }
    assert_eq!(seen, (1..=5000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_stream_ends_once_another_controller_leads() {
    let ring = Arc::new(Ring::default());
    let mut reading = open(&ring, Wanted::default());
    let (leads, mut leading) = watch::channel(true);
    append_lines(&ring, &ring.reader_filters(), &applied(1, 1..=1), &Owners::default());
    leads.send_replace(false);
    let first = next_lines(&mut reading, &mut leading, None).await;
    assert!(matches!(first, Some(Taken::Lines(_))), "an earlier event: {first:?}");
    assert_eq!(next_lines(&mut reading, &mut leading, None).await, None);
}

#[tokio::test]
async fn a_heartbeat_has_the_sequence_of_the_last_event_also_if_the_reader_did_not_want_it() {
    let feed = EventFeed::default();
    let wanted = Arc::new(Wanted { whole: [JobId(7)].into(), ..Wanted::default() });
    let state = SharedState::default();
    let Some(Replay::Done(mut reading)) =
        feed.replay(&state, EventSequence::default(), &wanted, &mut Some(permit()))
    else {
        panic!("there are no events yet")
    };
    let (_leads, mut leading) = watch::channel(true);
    feed.publish(&state, &applied(3, 1..=2));
    let beat = Some(Duration::from_millis(20));
    let taken = next_lines(&mut reading, &mut leading, beat).await;
    assert_eq!(taken, Some(Taken::Nothing("3-2".parse().unwrap())));
    feed.publish(&state, &applied(4, 7..=7));
    assert!(matches!(next_lines(&mut reading, &mut leading, beat).await, Some(Taken::Lines(_))));
}

/// What a reader gets that begins after an event: the jobs, and its gaps.
fn read_all(feed: &EventFeed, mut after: EventSequence) -> (Vec<u32>, usize) {
    let (state, wanted) = (SharedState::default(), Arc::default());
    let (mut seen, mut gaps, mut permit) = (Vec::new(), 0, Some(permit()));
    loop {
        match feed.replay(&state, after, &wanted, &mut permit).unwrap() {
            Replay::Lines(lines, last) => {
                seen.extend(jobs(&lines));
                after = last;
            }
            Replay::Gap(_, last) => {
                gaps += 1;
                after = last;
            }
            Replay::Done(reading) => {
                while let Taken::Lines(lines) = reading.take() {
                    seen.extend(jobs(&lines));
                }
                return (seen, gaps);
            }
        }
    }
}

#[test]
fn a_reader_that_begins_while_events_are_published_gets_each_of_them_once() {
    let feed = Arc::new(EventFeed::default());
    let publishing = feed.clone();
    let publisher = std::thread::spawn(move || {
        for entry in 1..=3000_u32 {
            publishing.publish(&SharedState::default(), &applied(entry.into(), entry..=entry));
        }
    });
    while !publisher.is_finished() {
        let (seen, gaps) = read_all(&feed, EventSequence::default());
        assert_eq!(seen, (1..=u32::try_from(seen.len()).unwrap()).collect::<Vec<_>>());
        assert_eq!(gaps, 0);
    }
    publisher.join().unwrap();
    let after = "1000-1".parse().unwrap();
    assert_eq!(read_all(&feed, after), ((1001..=3000).collect(), 0));
}

#[test]
fn a_reader_that_was_overtaken_by_a_snapshot_gets_a_gap_and_then_the_later_events() {
    let feed = EventFeed::default();
    feed.publish(&SharedState::default(), &applied(1, 1..=9));
    feed.restart(LogIndex(50), Time(50));
    feed.publish(&SharedState::default(), &applied(51, 70..=72));
    assert_eq!(read_all(&feed, "1-4".parse().unwrap()), (vec![70, 71, 72], 1));
}

fn line_of(happened: &[u8]) -> Vec<Happened> {
    let lines = happened.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn bob(hidden: &[Private]) -> Viewer {
    let (queues, accounts) = (BTreeSet::new(), BTreeSet::new());
    let hidden = hidden.iter().copied().collect();
    Viewer::limited(Limits { uid: Uid(2), hidden, queues, accounts })
}

#[tokio::test]
async fn a_reader_who_does_not_see_all_jobs_gets_events_of_own_jobs_and_of_the_cluster() {
    let ring = Arc::new(Ring::default());
    let limited = Wanted { viewer: bob(&[Private::Jobs]), ..Wanted::default() };
    let mut limited = open(&ring, limited);
    let blind = Wanted { viewer: bob(&[Private::Nodes]), ..Wanted::default() };
    let mut blind = open(&ring, blind);
    let mut all = open(&ring, Wanted::default());
    let key = |job: u32| JobKey::single(JobId(job));
    let id = |job: u32| AttemptId { key: key(job), attempt: Attempt(1) };
    let name = NodeName::new("g1").unwrap();
    let preempted = Some(Preempted { by: key(1), why: PreemptReason::Priority });
    let events = vec![
        Event::JobRunning { id: id(1) },
        Event::JobRunning { id: id(2) },
        Event::JobRunning { id: id(3) },
        Event::JobEnded {
            id: id(2),
            outcome: Outcome::Preempted,
            exit: None,
            by: None,
            preempted,
            requeue: true,
            nodes: Vec::new(),
        },
        Event::NodeSilent { name },
        Event::Configured,
        Event::TokenRevoked { id: TokenId::of_hash(&"0".repeat(64)), uid: Uid(1), by: Uid(1) },
    ];
    let owners = [(JobId(1), Arc::new(whose("ada", 1))), (JobId(2), Arc::new(whose("bob", 2)))];
    let applied = Arc::new(AppliedEvents { entry: LogIndex(1), first: 1, at: Time(1), events });
    append_lines(
        &ring,
        &ring.reader_filters(),
        &applied,
        &Owners { jobs: owners.into(), ..Owners::default() },
    );
    let mut leading = watch::channel(true).1;
    let mut read = async |reading: &mut Reading| match next_lines(reading, &mut leading, None).await
    {
        Some(Taken::Lines(lines)) => line_of(&lines),
        _ => panic!("no lines"),
    };
    let seen = read(&mut limited).await;
    let names: Vec<&str> = seen.iter().map(|one| one.event.as_str()).collect();
    assert_eq!(names, ["JobRunning", "JobEnded", "NodeSilent", "Configured"]);
    assert!(seen[1].text.contains("preempted by another job"), "{}", seen[1].text);
    let detail = &seen[1].detail;
    assert!(detail["requeue"] == true && detail.get("preempted").is_none(), "{detail}");
    assert!(seen.iter().all(|one| one.user.as_deref() != Some("ada")));
    let seen = read(&mut blind).await;
    assert!(seen.iter().all(|one| one.event != "NodeSilent") && seen.len() == 6);
    let seen = read(&mut all).await;
    assert!(seen.len() == 7 && seen[3].text.contains("preempted by job 1"), "{}", seen[3].text);
}
