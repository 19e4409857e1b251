//! Tests of accounting on real files, from the feed to the reader. They wait by flushing.

mod damage;
mod others;

use super::*;
use crate::shared_state::SharedState;
use common::id::{
    AccountName, ArrayIndex, Attempt, AttemptId, ClusterId, Gid, LogIndex, QueueName, Uid,
};
use common::job::state::slurm_state;
use common::job::{Ask, ExitStatus, Outcome, Owner, Phase, StepRecord};
use common::time::Span;
use common::unit::{Bytes, Cpus, Gpus};
use common::wire::api::{HistoryList, HistoryQuery, JobView, ReportQuery, ReportRow, RunGroup};
use feed::HistoryRecords;
use query::history::EndedSteps;
use query::viewer::Viewer;
use std::path::Path;

const HOUR: u64 = 3_600_000;

/// A run of a job of Ada's with two GPUs, in these hours.
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
        cancelled_by: Some(Uid(7)),
        ask,
        phase: Phase::Done,
        outcome,
        state: state.to_owned(),
        state_code: state_code.to_owned(),
        attempt: 1,
        submitted_at: Time(from * HOUR - 1),
        started_at: Some(Time(from * HOUR + 1)),
        ended_at: Some(Time(to * HOUR)),
        suspended: Span(7),
        cpus: Cpus(4),
        memory: Bytes(5),
        gpus: Gpus(2),
        exit: Some(ExitStatus { code: 3, signal: None }),
        message: Some("it's \"over\"".to_owned()),
        ..testkit::job_view(&job.to_string())
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

struct TestAccounting {
    dir: tempfile::TempDir,
    open: Option<(Feed, History, HistoryThread)>,
}

impl TestAccounting {
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

    /// Feeds a log entry with these runs.
    fn feed_runs(&self, index: u64, runs: Vec<HistoryRun>) {
        self.feed()
            .send_applied(LogIndex(index), HistoryRecords { runs, ..HistoryRecords::default() });
    }

    async fn read(&self, query: HistoryQuery) -> HistoryList {
        assert!(self.history().flush().await);
        query_runs(&self.history().reader().unwrap(), &query, &Viewer::ALL).unwrap()
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

fn opened(dir: &Path, kept: Option<Span>) -> (Feed, History, HistoryThread) {
    opened_on(dir, kept, SharedState::default())
}

fn opened_on(dir: &Path, kept: Option<Span>, state: SharedState) -> (Feed, History, HistoryThread) {
    let (feed, inbox) = feed_channel();
    let cluster = ClusterId(7);
    let wanted = HistoryOptions { state_dir: dir, cluster, kept, state };
    let (history, keeper) = start(inbox, wanted).unwrap();
    (feed, history, keeper)
}

#[tokio::test]
async fn a_run_is_read_back_complete_and_stored_once_even_if_written_twice() {
    let accounting = TestAccounting::new();
    accounting.feed_runs(1, vec![run(1, 10, 12)]);
    accounting.feed_runs(2, vec![run(1, 10, 12), run(2, 10, 13)]);
    let list = accounting.read(HistoryQuery::default()).await;
    assert_eq!(list.runs, [run(2, 10, 13), run(1, 10, 12)]);
    assert_eq!(list.next, None);
    let accounting = accounting.restart();
    accounting.feed_runs(1, vec![run(1, 10, 12)]);
    accounting.feed_runs(3, vec![run(3, 10, 11)]);
    assert_eq!(accounting.jobs(HistoryQuery::default()).await, ["2", "1", "3"]);
}

#[tokio::test]
async fn pages_follow_one_another_without_gaps() {
    let accounting = TestAccounting::new();
    // Many runs end at the same time, so the time alone does not order them.
    accounting.feed_runs(1, (1..=25).map(|job| run(job, 1, 2 + u64::from(job % 2))).collect());
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let list = accounting
            .read(HistoryQuery { limit: Some(4), after, ..HistoryQuery::default() })
            .await;
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
async fn filters_are_bound_values() {
    let accounting = TestAccounting::new();
    let mut bobs = run(2, 3, 5);
    (bobs.job.owner.name, bobs.job.owner.uid) = ("bob'; DROP TABLE runs; --".to_owned(), Uid(7));
    let mut task = run(3, 1, 2);
    task.job.key.index = Some(ArrayIndex(4));
    let mut earlier = run(4, 1, 2);
    earlier.requeued = true;
    accounting.feed_runs(1, vec![run(1, 1, 2), bobs.clone(), task, earlier]);
    let all = HistoryQuery::default;
    assert_eq!(accounting.jobs(all()).await, ["2", "3_4", "1"]);
    let name = bobs.job.owner.name;
    assert_eq!(accounting.jobs(HistoryQuery { users: name, ..all() }).await, ["2"]);
    assert_eq!(
        accounting.jobs(HistoryQuery { users: "7,nobody".to_owned(), ..all() }).await,
        ["2"]
    );
    assert_eq!(
        accounting.jobs(HistoryQuery { jobs: "3,1".to_owned(), ..all() }).await,
        ["3_4", "1"]
    );
    assert_eq!(accounting.jobs(HistoryQuery { jobs: "3_4,9".to_owned(), ..all() }).await, ["3_4"]);
    let since = Some(Time(5 * HOUR));
    assert_eq!(accounting.jobs(HistoryQuery { since, ..all() }).await, ["2"]);
    assert_eq!(accounting.jobs(HistoryQuery { until: since, ..all() }).await, ["3_4", "1"]);
    let every_run = true;
    assert_eq!(accounting.jobs(HistoryQuery { every_run, ..all() }).await, ["2", "4", "3_4", "1"]);
    let states = "COMPLETED".to_owned();
    assert!(accounting.jobs(HistoryQuery { states, ..all() }).await.is_empty());
    let reader = accounting.history().reader().unwrap();
    for wrong in [
        HistoryQuery { jobs: "x".to_owned(), ..all() },
        HistoryQuery { after: Some("1.2".to_owned()), ..all() },
    ] {
        assert!(matches!(
            query_runs(&reader, &wrong, &Viewer::ALL),
            Err(HistoryError::Question(_))
        ));
    }
}

#[tokio::test]
async fn a_report_counts_only_the_time_within_its_range() {
    let accounting = TestAccounting::new();
    let mut other = run(2, 11, 21);
    other.job.owner = Owner { uid: Uid(7), gid: Gid(1), name: "bob".to_owned() };
    accounting.feed_runs(1, vec![run(1, 10, 14), other, run(3, 30, 40)]);
    assert!(accounting.history().flush().await);
    let reader = accounting.history().reader().unwrap();
    let query = ReportQuery {
        by: "user".to_owned(),
        since: Time(12 * HOUR),
        until: Some(Time(16 * HOUR)),
        ..ReportQuery::default()
    };
    // A live run, from hour 13 to now, hour 20: three of its seven hours are in the range.
    let mut alive = run(5, 13, 20);
    alive.job.ended_at = None;
    let report = report(
        &reader,
        &query,
        &Viewer::ALL,
        [alive].into_iter(),
        Time(50 * HOUR),
        Time(20 * HOUR),
    )
    .unwrap();
    let row = |user: &str, uid, runs, hours: u64| ReportRow {
        group: RunGroup { user: Some(user.to_owned()), uid: Some(Uid(uid)), ..RunGroup::default() },
        runs,
        gpu_milliseconds: 2 * hours * HOUR,
        cpu_milliseconds: 4 * hours * HOUR,
    };
    assert_eq!(report.rows, [row("ada", 1000, 2, 5), row("bob", 7, 1, 4)]);
    assert_eq!((report.since, report.until), (Time(12 * HOUR), Time(16 * HOUR)));
    let wrong = ReportQuery { by: "colour".to_owned(), ..query };
    let refused =
        super::report(&reader, &wrong, &Viewer::ALL, std::iter::empty(), Time(0), Time(0))
            .unwrap_err();
    assert!(refused.to_string().contains("`colour`"), "{refused}");
}

#[tokio::test]
async fn the_time_of_a_node_follows_its_changes() {
    use query::history::{NodeChange, Standing};
    let accounting = TestAccounting::new();
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
    accounting
        .feed()
        .send_applied(LogIndex(1), HistoryRecords { nodes: changes, ..HistoryRecords::default() });
    assert!(accounting.history().flush().await);
    let reader = accounting.history().reader().unwrap();
    let query = ReportQuery { since: Time(4 * HOUR), ..ReportQuery::default() };
    let report =
        report(&reader, &query, &Viewer::ALL, std::iter::empty(), Time(10 * HOUR), Time(10 * HOUR))
            .unwrap();
    let [node] = report.nodes.as_slice() else { panic!("{report:?}") };
    let hours = |stretch: common::wire::api::NodeStretch| stretch.gpu_milliseconds / HOUR / 4;
    assert_eq!((hours(node.up), hours(node.drained), hours(node.down)), (2, 1, 3));
}

#[tokio::test]
async fn only_old_runs_are_purged() {
    let dir = tempfile::tempdir().unwrap();
    let (feed, history, keeper) = opened(dir.path(), None);
    let runs_of =
        |jobs: Vec<HistoryRun>| HistoryRecords { runs: jobs, ..HistoryRecords::default() };
    feed.send_applied(LogIndex(1), runs_of(vec![run(1, 1, 2), run(2, 10, 20)]));
    assert!(history.flush().await);
    keeper.stop();
    let path = dir.path().join(FILE);
    let mut file = write::File::open(&path, ClusterId(7)).unwrap();
    assert!(file.purge(Time(15 * HOUR)).unwrap());
    let reader = history.reader().unwrap();
    let left = query_runs(&reader, &HistoryQuery::default(), &Viewer::ALL).unwrap().runs;
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
async fn the_steps_of_a_run_are_returned_on_request_and_deleted_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (feed, history, keeper) = opened(dir.path(), None);
    // Written before the run ends, and twice, as when the log is replayed.
    let id = AttemptId { key: run(1, 1, 2).job.key, attempt: Attempt(1) };
    for index in [1, 2] {
        let steps = vec![EndedSteps { id, steps: vec![step(0), step(1)] }];
        feed.send_applied(LogIndex(index), HistoryRecords { steps, ..HistoryRecords::default() });
    }
    feed.send_applied(
        LogIndex(3),
        HistoryRecords { runs: vec![run(1, 1, 2)], ..HistoryRecords::default() },
    );
    assert!(history.flush().await);
    let ask = |steps| {
        let query = HistoryQuery { steps, ..HistoryQuery::default() };
        query_runs(&history.reader().unwrap(), &query, &Viewer::ALL).unwrap().runs
    };
    assert_eq!(ask(false), [run(1, 1, 2)]);
    let whole = HistoryRun { steps: vec![step(0), step(1)], ..run(1, 1, 2) };
    assert_eq!(ask(true), std::slice::from_ref(&whole));
    // Another controller's runs come with their steps.
    let given = HistoryRun { job: run(2, 1, 3).job, ..whole };
    history.add_received(vec![given.clone()], Vec::new());
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
async fn records_for_a_file_that_cannot_be_written_are_written_later() {
    let dir = tempfile::tempdir().unwrap();
    // A directory in its place makes opening fail.
    std::fs::create_dir(dir.path().join(FILE)).unwrap();
    let (feed, history, keeper) = opened(dir.path(), None);
    feed.send_applied(
        LogIndex(1),
        HistoryRecords { runs: vec![run(1, 1, 2)], ..HistoryRecords::default() },
    );
    assert!(!history.flush().await);
    std::fs::remove_dir(dir.path().join(FILE)).unwrap();
    // On exit it tries again.
    keeper.stop();
    let reader = history.reader().unwrap();
    assert_eq!(
        query_runs(&reader, &HistoryQuery::default(), &Viewer::ALL).unwrap().runs,
        [run(1, 1, 2)]
    );
}
