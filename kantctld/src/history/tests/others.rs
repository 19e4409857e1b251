//! Tests of records received from another controller (without a network), long queries, and what a
//! purge leaves.

use super::*;
use crate::history_catch_up::HistoryPage;
use common::id::NodeName;
use query::history::{NodeChange, Standing};

fn change(hour: u64, standing: Standing) -> NodeChange {
    let name = NodeName::new("g1").unwrap();
    NodeChange { name, at: Time(hour * HOUR), cpus: Cpus(8), gpus: Gpus(4), standing }
}

#[tokio::test]
async fn node_changes_are_received_with_the_runs_and_existing_ones_stay() {
    let (theirs, mine) = (TestAccounting::new(), TestAccounting::new());
    let nodes = [
        change(1, Standing::Up),
        change(4, Standing::Drained),
        change(6, Standing::Down),
        change(9, Standing::Up),
    ];
    theirs.feed().send_applied(
        LogIndex(1),
        HistoryRecords {
            runs: vec![run(1, 3, 4)],
            nodes: nodes.to_vec(),
            ..HistoryRecords::default()
        },
    );
    let list = theirs.read(HistoryQuery { every_run: true, ..HistoryQuery::default() }).await;
    let nodes = node_changes(&theirs.history().reader().unwrap(), Time(5 * HOUR)).unwrap();
    assert_eq!(nodes.len(), 3, "the standing at hour 5, and later changes: {nodes:?}");
    let page = serde_json::to_vec(&HistoryPage { list, nodes, gap: Some(Time(3)) }).unwrap();

    // This controller knows already that the node came up at hour 9, with one GPU.
    let known = NodeChange { gpus: Gpus(1), ..change(9, Standing::Up) };
    mine.feed().send_applied(
        LogIndex(1),
        HistoryRecords { nodes: vec![known], ..HistoryRecords::default() },
    );
    let HistoryPage { list, nodes, gap } = serde_json::from_slice(&page).unwrap();
    assert_eq!(gap, Some(Time(3)));
    mine.history().add_received(list.runs, nodes);
    assert_eq!(mine.read(HistoryQuery::default()).await.runs, [run(1, 3, 4)]);
    let reader = mine.history().reader().unwrap();
    let query = ReportQuery { since: Time(5 * HOUR), ..ReportQuery::default() };
    let now = Time(10 * HOUR);
    let report = report(&reader, &query, &Viewer::ALL, std::iter::empty(), now, now).unwrap();
    let [node] = report.nodes.as_slice() else { panic!("{report:?}") };
    let hours = |stretch: common::wire::api::NodeStretch| stretch.gpu_milliseconds / HOUR;
    assert_eq!((hours(node.drained), hours(node.down), hours(node.up)), (4, 12, 1));
}

#[tokio::test]
async fn a_query_may_name_thousands_of_jobs_and_tasks() {
    let accounting = TestAccounting::new();
    let mut task = run(3, 1, 2);
    task.job.key.index = Some(ArrayIndex(4));
    accounting.feed_runs(1, vec![run(1, 1, 2), task, run(5_000, 1, 2)]);
    let named =
        |words: Vec<String>| HistoryQuery { jobs: words.join(","), ..HistoryQuery::default() };
    let plain: Vec<String> = (4..6_000).map(|job: u32| job.to_string()).collect();
    assert_eq!(accounting.jobs(named(plain.clone())).await, ["5000"]);
    let tasks: Vec<String> = (0..4_000).map(|index: u32| format!("3_{index}")).collect();
    assert_eq!(accounting.jobs(named(tasks.clone())).await, ["3_4"]);
    assert_eq!(accounting.jobs(named([plain, tasks].concat())).await, ["5000", "3_4"]);
    let many = named((0..20_000).map(|job: u32| job.to_string()).collect());
    let refused = query_runs(&accounting.history().reader().unwrap(), &many, &Viewer::ALL)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("names 20000 jobs"), "{refused}");
}

#[tokio::test]
async fn a_report_leaves_out_runs_that_ended_after_its_live_runs_were_read() {
    let accounting = TestAccounting::new();
    accounting.feed_runs(1, vec![run(1, 1, 2), run(2, 1, 4)]);
    assert!(accounting.history().flush().await);
    let query = ReportQuery { since: Time(0), ..ReportQuery::default() };
    let alive = HistoryRun { gpu_milliseconds: 4 * HOUR, ..run(2, 1, 3) };
    let reader = accounting.history().reader().unwrap();
    let report =
        report(&reader, &query, &Viewer::ALL, [alive].into_iter(), Time(3 * HOUR), Time(5 * HOUR))
            .unwrap();
    assert_eq!((report.rows[0].runs, report.rows[0].gpu_milliseconds), (2, 6 * HOUR));
}

#[test]
fn a_request_is_written_again_after_a_purge_deleted_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let mut file = write::File::open(&path, ClusterId(7)).unwrap();
    let task = |index, to| {
        let mut run = run(42, 1, to);
        run.job.key.index = Some(ArrayIndex(index));
        run
    };
    file.write(
        &HistoryRecords { runs: vec![task(1, 2), run(43, 1, 20)], ..HistoryRecords::default() },
        None,
    )
    .unwrap();
    assert!(file.purge(Time(15 * HOUR)).unwrap());
    file.write(&HistoryRecords { runs: vec![task(2, 30)], ..HistoryRecords::default() }, None)
        .unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    let left = query_runs(&reader, &HistoryQuery::default(), &Viewer::ALL).unwrap().runs;
    assert_eq!(left, [task(2, 30), run(43, 1, 20)]);
}

#[tokio::test]
async fn an_earlier_run_keeps_the_queue_it_ran_in() {
    let accounting = TestAccounting::new();
    let earlier = HistoryRun { requeued: true, ..run(42, 1, 2) };
    let mut later = HistoryRun { run: 2, ..run(42, 3, 4) };
    later.job.ask.queue = common::id::QueueName::new("long").ok();
    later.job.ask.time_limit = Some(Span::from_minutes(7));
    accounting.feed_runs(1, vec![earlier.clone()]);
    accounting.feed_runs(2, vec![later.clone()]);
    let of = |queues: &str| HistoryQuery {
        queues: queues.to_owned(),
        every_run: true,
        ..HistoryQuery::default()
    };
    assert_eq!(accounting.read(of("gpu")).await.runs, [earlier]);
    assert_eq!(accounting.read(of("long")).await.runs, [later]);
}

#[test]
fn of_two_changes_at_one_time_the_later_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let mut file = write::File::open(&path, ClusterId(7)).unwrap();
    let both = [change(1, Standing::Up), change(1, Standing::Drained)];
    file.write(&HistoryRecords { nodes: both.to_vec(), ..HistoryRecords::default() }, None)
        .unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(node_changes(&reader, Time(0)).unwrap(), [change(1, Standing::Drained)]);
}

#[tokio::test]
async fn estimates_compare_time_limits_with_run_times() {
    let accounting = TestAccounting::new();
    // Runs of the given minutes with a limit of ten hours, and how each ended.
    let with_limit = |job: u32, minutes: u64, outcome: Outcome| {
        let mut run = run(job, 10, 20);
        run.job.ask.time_limit = Some(Span(10 * HOUR));
        run.job.suspended = Span(0);
        let started = run.job.started_at.unwrap();
        let ended = started + Span::from_minutes(minutes);
        run.job.ended_at = Some(ended);
        // Half a GPU each.
        let held = ended.since(run.allocated_at.unwrap()).0;
        (run.gpu_milliseconds, run.cpu_milliseconds) = (held / 2, 4 * held);
        run.job.outcome = Some(outcome);
        (run.job.state, run.job.state_code) = {
            let (state, code) = slurm_state(Phase::Done, Some(outcome));
            (state.to_owned(), code.to_owned())
        };
        run
    };
    let mut runs: Vec<HistoryRun> =
        (1..=9).map(|job| with_limit(job, 30 * u64::from(job), Outcome::Completed)).collect();
    // It ends some seconds after its limit.
    let mut late = with_limit(10, 600, Outcome::TimedOut);
    late.job.ended_at = late.job.ended_at.map(|end| end + Span::from_seconds(9));
    runs.push(late);
    let mut requeued = with_limit(11, 1, Outcome::Failed);
    requeued.requeued = true;
    let mut unlimited = with_limit(12, 1, Outcome::Completed);
    unlimited.job.ask.time_limit = None;
    let mut forever = with_limit(14, 1, Outcome::Completed);
    forever.job.ask.time_limit = Some(Span(u64::MAX));
    forever.job.owner = Owner { uid: Uid(7), gid: Gid(1), name: "bob".to_owned() };
    runs.extend([requeued, unlimited, with_limit(13, 1, Outcome::Cancelled), forever]);
    accounting.feed_runs(1, runs);
    assert!(accounting.history().flush().await);
    let reader = accounting.history().reader().unwrap();
    let by = |by: &str| ReportQuery { by: by.to_owned(), ..ReportQuery::default() };
    let view = estimates(&reader, &by("user"), &Viewer::ALL, Time(30 * HOUR)).unwrap();
    let [longest, row] = view.rows.as_slice() else { panic!("{view:?}") };
    assert_eq!(longest.group.user.as_deref(), Some("bob"));
    assert_eq!(longest.limit_milliseconds, 876_000 * HOUR);
    assert_eq!(row.group.user.as_deref(), Some("ada"));
    assert_eq!((row.runs, row.timeouts), (10, 1));
    let run_milliseconds = (1..=9).map(|job| job * HOUR / 2).sum::<u64>() + 10 * HOUR;
    assert_eq!((row.limit_milliseconds, row.run_milliseconds), (100 * HOUR, run_milliseconds));
    // The fifth of ten runs took 150 of 600 minutes; the tenth was cut off.
    assert_eq!((row.used_percent_p50, row.used_percent_p95), (25, 100));
    let unused = 100 * HOUR - run_milliseconds;
    let is_near = |found: u64, exact: u64| found.abs_diff(exact) < 1000;
    assert!(is_near(row.gpu_milliseconds_unused, unused / 2), "{row:?}");
    assert!(is_near(row.cpu_milliseconds_unused, 4 * unused), "{row:?}");
    let later = ReportQuery { since: Time(19 * HOUR), ..by("state") };
    let view = estimates(&reader, &later, &Viewer::ALL, Time(30 * HOUR)).unwrap();
    let states: Vec<_> = view.rows.iter().map(|row| row.group.state.as_deref()).collect();
    assert_eq!(states, [Some("TIMEOUT")]);
    let wrong = estimates(&reader, &by("colour"), &Viewer::ALL, Time(0)).unwrap_err();
    assert!(wrong.to_string().contains("`colour`"), "{wrong}");
}
