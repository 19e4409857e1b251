//! Tests of a file with a damaged page, which still opens: it is moved aside, and its records are
//! requested from other controllers.

use super::*;
use std::fs;

/// Overwrites every page except those that a start reads, the schema's and `meta`'s.
fn damage(path: &Path) {
    const PAGE: usize = 4096;
    let mut bytes = fs::read(path).unwrap();
    assert!(bytes.len() > 4 * PAGE, "it has tables");
    bytes[2 * PAGE..].fill(b'x');
    fs::write(path, bytes).unwrap();
}

fn gap(path: &Path) -> Option<i64> {
    schema::meta_value(&rusqlite::Connection::open(path).unwrap(), "gap_ms").unwrap()
}

#[tokio::test]
async fn a_damaged_page_is_found_by_a_write_and_a_new_file_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE);
    let (feed, history, keeper) = opened(dir.path(), None);
    let records_of =
        |job| HistoryRecords { runs: vec![run(job, 1, 2)], ..HistoryRecords::default() };
    feed.send_applied(LogIndex(1), records_of(1));
    assert!(history.flush().await);
    keeper.stop();
    damage(&path);
    let mut state = state::State::default();
    assert!(state.skip_jobs(2));
    let stamped = state::Stamped { at: Time(HOUR), command: state::Command::ForgetDone };
    state::apply(&mut state, &stamped);
    let (feed, history, keeper) = opened_on(dir.path(), None, state.into());
    feed.send_applied(LogIndex(2), records_of(2));
    assert!(!history.flush().await, "a damaged file accepts no run");
    assert!(dir.path().join("accounting.sqlite.damaged").exists());
    // On exit it tries again.
    keeper.stop();
    let left = query_runs(&history.reader().unwrap(), &HistoryQuery::default(), &Viewer::ALL)
        .unwrap()
        .runs;
    assert_eq!(left, [run(2, 1, 2)]);
    assert_eq!(gap(&path), Some(0), "the lost records are requested from others");
}

#[tokio::test]
async fn an_unreadable_row_is_left_out_and_the_next_page_follows() {
    let accounting = TestAccounting::new();
    accounting.feed_runs(1, (1..=5).map(|job| run(job, 1, 10 - u64::from(job))).collect());
    assert!(accounting.history().flush().await);
    let path = accounting.dir.path().join(FILE);
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute("UPDATE runs SET detail = x'00' WHERE job IN (1, 2)", []).unwrap();
    let first = accounting.read(HistoryQuery { limit: Some(2), ..HistoryQuery::default() }).await;
    assert!(first.runs.is_empty());
    let next = HistoryQuery { after: first.next, ..HistoryQuery::default() };
    assert_eq!(accounting.jobs(next).await, ["3", "4", "5"]);
}
