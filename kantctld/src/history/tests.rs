//! The accounting file from the log's end to the reader's, on real files. Never a sleep: whoever
//! waits asks for a flush.

mod damage;
mod others;

use super::*;
use crate::machine::SharedState;
use common::id::{
    AccountName, ArrayIndex, Attempt, AttemptId, ClusterId, Gid, JobId, JobKey, LogIndex,
    QueueName, Uid,
};
use common::job::state::slurm_state;
use common::job::{Ask, ExitStatus, Outcome, Owner, Phase, StepRecord};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::{HistoryList, HistoryQuery, JobView, ReportQuery, ReportRow};
use feed::News;
use state::history::EndedSteps;
use std::path::Path;

const HOUR: u64 = 3_600_000;

/// A run of a job of Ada's that began and ended in these hours, with two GPUs.
fn run(job: u32, from: u64, to: u64) -> HistoryRun {
    let outcome = Some(Outcome::Failed);
    let (state, state_code) = slurm_state(Phase::Done, outcome);
    let ask = Ask {
        name: format!("job-{job}"),
        queue: Some(QueueName::new("gpu").unwrap()),
        account: Some(AccountName::new("vision").unwrap()),
        ..Ask::default()
    };
    let job = JobView {
        key: JobKey::single(JobId(job)),
        number: None,
        set: None,
        cancelled_by: Some(Uid(7)),
        array_limit: None,
        owner: Owner { uid: Uid(1000), gid: Gid(100), name: "ada".to_owned() },
        ask,
        phase: Phase::Done,
        outcome,
        state: state.to_owned(),
        state_code: state_code.to_owned(),
        held: false,
        reason: None,
        dependency: None,
        position: None,
        attempt: 1,
        submitted_at: Time(from * HOUR - 1),
        started_at: Some(Time(from * HOUR + 1)),
        ended_at: Some(Time(to * HOUR)),
        suspended_at: None,
        suspended: Span(7),
        checkpoint_at: None,
        allocation: None,
        leaving: Vec::new(),
        joining: Vec::new(),
        cpus: Cpus(4),
        memory: Bytes(5),
        gpus: Gpus(2),
        exit: Some(ExitStatus { code: 3, signal: None }),
        usage: None,
        message: Some("it's \"over\"".to_owned()),
        story: Vec::new(),
    };
    HistoryRun {
        job,
        run: 1,
        allocated_at: Some(Time(from * HOUR)),
        gpu_milliseconds: 2 * (to - from) * HOUR,
        cpu_milliseconds: 4 * (to - from) * HOUR,
        requeued: false,
        steps: Vec::new(),
    }
}

struct Book {
    dir: tempfile::TempDir,
    open: Option<(Feed, History, Keeper)>,
}

impl Book {
    fn new() -> Self {
        Self::in_dir(tempfile::tempdir().unwrap())
    }

    fn in_dir(dir: tempfile::TempDir) -> Self {
        let open = Some(opened(dir.path(), None));
        Self { dir, open }
    }

    fn feed(&self) -> &Feed {
        &self.open.as_ref().unwrap().0
    }

    fn history(&self) -> &History {
        &self.open.as_ref().unwrap().1
    }

    /// An entry of the log with these runs.
    fn over(&self, index: u64, runs: Vec<HistoryRun>) {
        self.feed().applied(LogIndex(index), News { runs, ..News::default() });
    }

    async fn read(&self, query: HistoryQuery) -> HistoryList {
        assert!(self.history().flush().await);
        runs(&self.history().reader().unwrap(), &query).unwrap()
    }

    async fn jobs(&self, query: HistoryQuery) -> Vec<String> {
        self.read(query).await.runs.iter().map(|run| run.job.key.to_string()).collect()
    }

    fn restart(mut self) -> Self {
        let (.., keeper) = self.open.take().unwrap();
        keeper.stop();
        Self::in_dir(self.dir)
    }
}

fn opened(dir: &Path, kept: Option<Span>) -> (Feed, History, Keeper) {
    opened_on(dir, kept, SharedState::default())
}

fn opened_on(dir: &Path, kept: Option<Span>, state: SharedState) -> (Feed, History, Keeper) {
    let (feed, inbox) = feed();
    let cluster = ClusterId(7);
    let wanted = Wanted { state_dir: dir, cluster, kept, state };
    let (history, keeper) = start(inbox, wanted).unwrap();
    (feed, history, keeper)
}

#[tokio::test]
async fn a_run_is_read_back_whole_and_one_that_is_told_twice_is_there_once() {
    let book = Book::new();
    book.over(1, vec![run(1, 10, 12)]);
    book.over(2, vec![run(1, 10, 12), run(2, 10, 13)]);
    let list = book.read(HistoryQuery::default()).await;
    assert_eq!(list.runs, [run(2, 10, 13), run(1, 10, 12)]);
    assert_eq!(list.next, None);
    let book = book.restart();
    book.over(1, vec![run(1, 10, 12)]);
    book.over(3, vec![run(3, 10, 11)]);
    assert_eq!(book.jobs(HistoryQuery::default()).await, ["2", "1", "3"]);
}

#[tokio::test]
async fn pages_follow_one_another_and_miss_nothing() {
    let book = Book::new();
    // Many at the same time: pages are not told apart by that alone.
    book.over(1, (1..=25).map(|job| run(job, 1, 2 + u64::from(job % 2))).collect());
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let list =
            book.read(HistoryQuery { limit: Some(4), after, ..HistoryQuery::default() }).await;
        assert!(list.runs.len() <= 4);
        seen.extend(list.runs.iter().map(|run| run.job.key.job.0));
        after = list.next;
        if after.is_none() {
            break;
        }
    }
    let (odd, even) =
        ((1..=25).rev().filter(|n| n % 2 == 1), (1..=25).rev().filter(|n| n % 2 == 0));
    assert_eq!(seen, odd.chain(even).collect::<Vec<u32>>());
}

#[tokio::test]
async fn filters_are_values_and_never_statements() {
    let book = Book::new();
    let mut bobs = run(2, 3, 5);
    (bobs.job.owner.name, bobs.job.owner.uid) = ("bob'; DROP TABLE runs; --".to_owned(), Uid(7));
    let mut task = run(3, 1, 2);
    task.job.key.index = Some(ArrayIndex(4));
    let mut earlier = run(4, 1, 2);
    earlier.requeued = true;
    book.over(1, vec![run(1, 1, 2), bobs.clone(), task, earlier]);
    let all = HistoryQuery::default;
    assert_eq!(book.jobs(all()).await, ["2", "3_4", "1"]);
    let name = bobs.job.owner.name;
    assert_eq!(book.jobs(HistoryQuery { users: name, ..all() }).await, ["2"]);
    assert_eq!(book.jobs(HistoryQuery { users: "7,nobody".to_owned(), ..all() }).await, ["2"]);
    assert_eq!(book.jobs(HistoryQuery { jobs: "3,1".to_owned(), ..all() }).await, ["3_4", "1"]);
    assert_eq!(book.jobs(HistoryQuery { jobs: "3_4,9".to_owned(), ..all() }).await, ["3_4"]);
    let since = Some(Time(5 * HOUR));
    assert_eq!(book.jobs(HistoryQuery { since, ..all() }).await, ["2"]);
    assert_eq!(book.jobs(HistoryQuery { until: since, ..all() }).await, ["3_4", "1"]);
    let every_run = true;
    assert_eq!(book.jobs(HistoryQuery { every_run, ..all() }).await, ["2", "4", "3_4", "1"]);
    let states = "COMPLETED".to_owned();
    assert!(book.jobs(HistoryQuery { states, ..all() }).await.is_empty());
    let reader = book.history().reader().unwrap();
    for wrong in [
        HistoryQuery { jobs: "x".to_owned(), ..all() },
        HistoryQuery { after: Some("1.2".to_owned()), ..all() },
    ] {
        assert!(matches!(runs(&reader, &wrong), Err(HistoryError::Question(_))));
    }
}

#[tokio::test]
async fn a_report_counts_only_the_time_within() {
    let book = Book::new();
    let mut other = run(2, 11, 21);
    other.job.owner = Owner { uid: Uid(7), gid: Gid(1), name: "bob".to_owned() };
    book.over(1, vec![run(1, 10, 14), other, run(3, 30, 40)]);
    assert!(book.history().flush().await);
    let reader = book.history().reader().unwrap();
    let query = ReportQuery {
        by: "user".to_owned(),
        since: Time(12 * HOUR),
        until: Some(Time(16 * HOUR)),
        ..ReportQuery::default()
    };
    // One that runs, from hour 13 to now, hour 20: three of its seven hours are within.
    let mut alive = run(5, 13, 20);
    alive.job.ended_at = None;
    let report =
        report(&reader, &query, [alive].into_iter(), (Time(50 * HOUR), Time(20 * HOUR))).unwrap();
    let row = |user: &str, uid, runs, hours: u64| ReportRow {
        user: Some(user.to_owned()),
        uid: Some(Uid(uid)),
        runs,
        gpu_milliseconds: 2 * hours * HOUR,
        cpu_milliseconds: 4 * hours * HOUR,
        ..ReportRow::default()
    };
    assert_eq!(report.rows, [row("ada", 1000, 2, 5), row("bob", 7, 1, 4)]);
    assert_eq!((report.since, report.until), (Time(12 * HOUR), Time(16 * HOUR)));
    let wrong = ReportQuery { by: "colour".to_owned(), ..query };
    let refused =
        super::report(&reader, &wrong, std::iter::empty(), (Time(0), Time(0))).unwrap_err();
    assert!(refused.to_string().contains("`colour`"), "{refused}");
}

#[tokio::test]
async fn a_nodes_time_is_that_of_its_changes() {
    use state::history::{NodeChange, Standing};
    let book = Book::new();
    let change = |hour: u64, standing| NodeChange {
        name: common::id::NodeName::new("g1").unwrap(),
        at: Time(hour * HOUR),
        cpus: Cpus(8),
        gpus: Gpus(4),
        standing,
    };
    let changes = vec![
        change(1, Standing::Up),
        change(2, Standing::Up),
        change(5, Standing::Drained),
        change(6, Standing::Down),
        change(9, Standing::Up),
    ];
    book.feed().applied(LogIndex(1), News { nodes: changes, ..News::default() });
    assert!(book.history().flush().await);
    let reader = book.history().reader().unwrap();
    let query = ReportQuery { since: Time(4 * HOUR), ..ReportQuery::default() };
    let report =
        report(&reader, &query, std::iter::empty(), (Time(10 * HOUR), Time(10 * HOUR))).unwrap();
    let [node] = report.nodes.as_slice() else { panic!("{report:?}") };
    let hours = |stretch: common::wire::api::NodeStretch| stretch.gpu_milliseconds / HOUR / 4;
    assert_eq!((hours(node.up), hours(node.drained), hours(node.down)), (2, 1, 3));
}

#[tokio::test]
async fn what_is_too_old_is_dropped_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (feed, history, keeper) = opened(dir.path(), None);
    let runs_of = |jobs: Vec<HistoryRun>| News { runs: jobs, ..News::default() };
    feed.applied(LogIndex(1), runs_of(vec![run(1, 1, 2), run(2, 10, 20)]));
    assert!(history.flush().await);
    keeper.stop();
    let path = dir.path().join(FILE);
    let mut file = write::File::open(&path, ClusterId(7)).unwrap();
    assert!(file.purge(Time(15 * HOUR)).unwrap());
    let reader = history.reader().unwrap();
    let left = runs(&reader, &HistoryQuery::default()).unwrap().runs;
    assert_eq!(left, [run(2, 10, 20)]);
    let asks: i64 = reader.query_row("SELECT count(*) FROM asks", [], |row| row.get(0)).unwrap();
    assert_eq!(asks, 1);
}

fn step(number: u32) -> StepRecord {
    StepRecord {
        number,
        name: "train".to_owned(),
        nodes: "g-[1-2]".to_owned(),
        node_count: 2,
        tasks: 4,
        cpus: 8,
        gpus: (number == 1).then_some(2),
        started_at: Time(5),
        ended_at: Some(Time(9)),
        exit: Some(ExitStatus { code: 0, signal: Some(9) }),
        cut_off: number == 1,
    }
}

#[tokio::test]
async fn the_steps_of_a_run_are_shown_where_they_are_asked_for_and_go_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (feed, history, keeper) = opened(dir.path(), None);
    // They are told before the run is over, and twice: the log may be read again.
    let id = AttemptId { key: run(1, 1, 2).job.key, attempt: Attempt(1) };
    for index in [1, 2] {
        let steps = vec![EndedSteps { id, steps: vec![step(0), step(1)] }];
        feed.applied(LogIndex(index), News { steps, ..News::default() });
    }
    feed.applied(LogIndex(3), News { runs: vec![run(1, 1, 2)], ..News::default() });
    assert!(history.flush().await);
    let ask = |steps| {
        let query = HistoryQuery { steps, ..HistoryQuery::default() };
        runs(&history.reader().unwrap(), &query).unwrap().runs
    };
    assert_eq!(ask(false), [run(1, 1, 2)]);
    let whole = HistoryRun { steps: vec![step(0), step(1)], ..run(1, 1, 2) };
    assert_eq!(ask(true), std::slice::from_ref(&whole));
    // Another controller's runs come with theirs.
    let given = HistoryRun { job: run(2, 1, 3).job, ..whole };
    history.give(vec![given.clone()], Vec::new());
    assert!(history.flush().await);
    assert_eq!(ask(true)[0], given);
    keeper.stop();
    let mut file = write::File::open(&dir.path().join(FILE), ClusterId(7)).unwrap();
    assert!(file.purge(Time(15 * HOUR)).unwrap());
    let reader = history.reader().unwrap();
    let left: i64 = reader.query_row("SELECT count(*) FROM steps", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_said_and_written_later() {
    let dir = tempfile::tempdir().unwrap();
    // A directory in its place.
    std::fs::create_dir(dir.path().join(FILE)).unwrap();
    let (feed, history, keeper) = opened(dir.path(), None);
    feed.applied(LogIndex(1), News { runs: vec![run(1, 1, 2)], ..News::default() });
    assert!(!history.flush().await);
    std::fs::remove_dir(dir.path().join(FILE)).unwrap();
    // Its last word, on the way out, is another try.
    keeper.stop();
    let reader = history.reader().unwrap();
    assert_eq!(runs(&reader, &HistoryQuery::default()).unwrap().runs, [run(1, 1, 2)]);
}
