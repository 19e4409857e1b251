//! What one controller hands to another, long questions, and what an hour's purge leaves.
//! Never a network: what is handed over is read from the one file and given to the other.

use super::*;
use common::id::NodeName;
use state::history::{NodeChange, Standing};

fn change(hour: u64, standing: Standing) -> NodeChange {
    let name = NodeName::new("g1").unwrap();
    NodeChange { name, at: Time(hour * HOUR), cpus: Cpus(8), gpus: Gpus(4), standing }
}

#[tokio::test]
async fn how_nodes_were_is_handed_over_with_the_runs_and_what_is_known_here_stays() {
    let (theirs, mine) = (Book::new(), Book::new());
    let nodes = [
        change(1, Standing::Up),
        change(4, Standing::Drained),
        change(6, Standing::Down),
        change(9, Standing::Up),
    ];
    theirs.feed().applied(
        LogIndex(1),
        News { runs: vec![run(1, 3, 4)], nodes: nodes.to_vec(), ..News::default() },
    );
    let list = theirs.read(HistoryQuery { every_run: true, ..HistoryQuery::default() }).await;
    let nodes = node_changes(&theirs.history().reader().unwrap(), Time(5 * HOUR)).unwrap();
    assert_eq!(nodes.len(), 3, "how it was at hour 5, and what came after: {nodes:?}");
    let page = serde_json::to_vec(&Kept { list, nodes, gap: Some(Time(3)) }).unwrap();

    // Here it is known that the node came at hour 9, with one GPU.
    let known = NodeChange { gpus: Gpus(1), ..change(9, Standing::Up) };
    mine.feed().applied(LogIndex(1), News { nodes: vec![known], ..News::default() });
    let Kept { list, nodes, gap } = serde_json::from_slice(&page).unwrap();
    assert_eq!(gap, Some(Time(3)));
    mine.history().give(list.runs, nodes);
    assert_eq!(mine.read(HistoryQuery::default()).await.runs, [run(1, 3, 4)]);
    let reader = mine.history().reader().unwrap();
    let query = ReportQuery { since: Time(5 * HOUR), ..ReportQuery::default() };
    let now = Time(10 * HOUR);
    let report = report(&reader, &query, std::iter::empty(), (now, now)).unwrap();
    let [node] = report.nodes.as_slice() else { panic!("{report:?}") };
    let hours = |stretch: common::wire::api::NodeStretch| stretch.gpu_milliseconds / HOUR;
    assert_eq!((hours(node.drained), hours(node.down), hours(node.up)), (4, 12, 1));
}

#[tokio::test]
async fn a_page_of_an_older_release_is_read() {
    let list = HistoryList { runs: vec![run(1, 1, 2)], ..HistoryList::default() };
    let older = serde_json::to_vec(&list).unwrap();
    let read: Kept = serde_json::from_slice(&older).unwrap();
    assert_eq!((read.list, read.nodes, read.gap), (list, Vec::new(), None));
}

#[tokio::test]
async fn a_question_may_name_thousands_of_jobs_and_tasks() {
    let book = Book::new();
    let mut task = run(3, 1, 2);
    task.job.key.index = Some(ArrayIndex(4));
    book.over(1, vec![run(1, 1, 2), task, run(5_000, 1, 2)]);
    let named =
        |words: Vec<String>| HistoryQuery { jobs: words.join(","), ..HistoryQuery::default() };
    let plain: Vec<String> = (4..6_000).map(|job: u32| job.to_string()).collect();
    assert_eq!(book.jobs(named(plain.clone())).await, ["5000"]);
    let tasks: Vec<String> = (0..4_000).map(|index: u32| format!("3_{index}")).collect();
    assert_eq!(book.jobs(named(tasks.clone())).await, ["3_4"]);
    assert_eq!(book.jobs(named([plain, tasks].concat())).await, ["5000", "3_4"]);
    let many = named((0..20_000).map(|job: u32| job.to_string()).collect());
    let refused = runs(&book.history().reader().unwrap(), &many).unwrap_err().to_string();
    assert!(refused.contains("20000 jobs are named"), "{refused}");
}

#[tokio::test]
async fn a_report_leaves_out_what_was_over_after_the_runs_beside_it_were_looked_at() {
    let book = Book::new();
    book.over(1, vec![run(1, 1, 2), run(2, 1, 4)]);
    assert!(book.history().flush().await);
    let query = ReportQuery { since: Time(0), ..ReportQuery::default() };
    let alive = HistoryRun { gpu_milliseconds: 4 * HOUR, ..run(2, 1, 3) };
    let times = (Time(3 * HOUR), Time(5 * HOUR));
    let reader = book.history().reader().unwrap();
    let report = report(&reader, &query, [alive].into_iter(), times).unwrap();
    assert_eq!((report.rows[0].runs, report.rows[0].gpu_milliseconds), (2, 6 * HOUR));
}

#[test]
fn what_was_asked_is_written_again_after_a_purge_dropped_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let mut file = write::File::open(&path, ClusterId(7)).unwrap();
    let task = |index, to| {
        let mut run = run(42, 1, to);
        run.job.key.index = Some(ArrayIndex(index));
        run
    };
    file.write(&News { runs: vec![task(1, 2), run(43, 1, 20)], ..News::default() }, None).unwrap();
    assert!(file.purge(Time(15 * HOUR)).unwrap());
    file.write(&News { runs: vec![task(2, 30)], ..News::default() }, None).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    let left = runs(&reader, &HistoryQuery::default()).unwrap().runs;
    assert_eq!(left, [task(2, 30), run(43, 1, 20)]);
}

#[tokio::test]
async fn an_earlier_run_stays_in_the_queue_it_ran_in() {
    let book = Book::new();
    let earlier = HistoryRun { requeued: true, ..run(42, 1, 2) };
    let mut later = HistoryRun { run: 2, ..run(42, 3, 4) };
    later.job.ask.queue = common::id::QueueName::new("long").ok();
    later.job.ask.time_limit = Some(Span::from_minutes(7));
    book.over(1, vec![earlier.clone()]);
    book.over(2, vec![later.clone()]);
    let of = |queues: &str| HistoryQuery {
        queues: queues.to_owned(),
        every_run: true,
        ..HistoryQuery::default()
    };
    assert_eq!(book.read(of("gpu")).await.runs, [earlier]);
    assert_eq!(book.read(of("long")).await.runs, [later]);
}

#[test]
fn of_two_changes_at_one_time_the_later_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let mut file = write::File::open(&path, ClusterId(7)).unwrap();
    let both = [change(1, Standing::Up), change(1, Standing::Drained)];
    file.write(&News { nodes: both.to_vec(), ..News::default() }, None).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(node_changes(&reader, Time(0)).unwrap(), [change(1, Standing::Drained)]);
}
