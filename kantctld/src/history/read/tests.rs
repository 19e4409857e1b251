//! Tests of SQLite's query plans for pages: from an index, in its order.

use super::*;
use crate::history::schema;
use common::id::ClusterId;

/// SQLite's plan for a page of this query.
fn plan(query: &HistoryQuery) -> String {
    let dir = tempfile::tempdir().unwrap();
    let connection = schema::open(&dir.path().join(schema::FILE), ClusterId(1)).unwrap();
    let (sql, values, _) = page_statement(query, &Viewer::ALL).unwrap();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map(params_from_iter(values), |row| row.get(3)).unwrap();
    steps.collect::<rusqlite::Result<Vec<String>>>().unwrap().join("; ")
}

#[test]
fn a_page_of_one_user_comes_from_an_index_in_order_without_sorting() {
    let after = Some("5.4.-1.1".to_owned());
    let (since, until) = (Some(Time(1)), Some(Time(9)));
    for (users, index) in [("ada", "runs_user (user=?"), ("1000", "runs_uid (uid=?")] {
        let users = users.to_owned();
        for query in [
            HistoryQuery { users: users.clone(), ..HistoryQuery::default() },
            HistoryQuery { users, after: after.clone(), since, until, ..HistoryQuery::default() },
        ] {
            let plan = plan(&query);
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{plan}");
            assert!(!plan.contains("SCAN"), "{plan}");
        }
    }
    let plan = plan(&HistoryQuery { after, ..HistoryQuery::default() });
    assert!(plan.contains("runs_ended") && !plan.contains("TEMP B-TREE"), "{plan}");
}
