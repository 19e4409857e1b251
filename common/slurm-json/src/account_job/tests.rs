//! Jobs of accounting in Slurm's fields.

use super::*;
use crate::field::check_table;
use crate::job_line::Page;
use common::job::{ExitStatus, Outcome, Phase};
use common::resource::Allocation;
use common::time::Time;
use common::wire::api::JobView;
use testkit::{job_view, share};

fn ended() -> JobView {
    let mut job = job_view("42");
    job.phase = Phase::Done;
    job.outcome = Some(Outcome::Failed);
    job.state = "FAILED".to_owned();
    job.submitted_at = Time(10_000);
    job.started_at = Some(Time(20_000));
    job.ended_at = Some(Time(50_000));
    job.ask.time_limit = Some(Span::from_minutes(60));
    job.exit = Some(ExitStatus { code: 3, signal: None });
    job.allocation = Some(Allocation::new(vec![share("g-1", 0, 1, &[])]).unwrap());
    job
}

fn step_record() -> StepRecord {
    StepRecord {
        number: 0,
        name: "hostname".to_owned(),
        nodes: "g-1".to_owned(),
        node_count: 1,
        tasks: 1,
        cpus: 1,
        gpus: None,
        started_at: Time(21_000),
        ended_at: Some(Time(22_000)),
        exit: Some(ExitStatus::default()),
        cut_off: false,
    }
}

fn shown(version: Version) -> Value {
    let view = ended();
    let page = Page { cluster: "c".to_owned(), account: true, ..Page::default() };
    let line =
        Line { jobs: std::slice::from_ref(&view), job: &view, part: LinePart::Whole, page: &page };
    job(&line, &[step_record()], version)
}

#[test]
fn no_field_stands_in_the_way_of_another() {
    check_table(ROWS);
}

#[test]
fn a_job_of_accounting_has_plain_values_in_0_0_38() {
    let job = shown(Version::V38);
    assert_eq!(job["state"], json!({ "current": "FAILED", "reason": "NonZeroExitCode" }));
    assert_eq!(job["exit_code"], json!({ "status": "ERROR", "return_code": 3 }));
    assert_eq!(job["comment"]["job"], Value::Null);
    assert_eq!((&job["array"]["job_id"], &job["array"]["task_id"]), (&json!(0), &Value::Null));
    assert_eq!((&job["time"]["start"], &job["time"]["elapsed"]), (&json!(20), &json!(30)));
    assert_eq!(job["time"]["limit"], 60);
    assert_eq!(
        job["tres"]["allocated"][0],
        json!({
            "type": "cpu", "name": null, "id": 1, "count": 1,
        })
    );
    let steps = job["steps"].as_array().unwrap();
    let ids: Vec<&Value> = steps.iter().map(|step| &step["step"]["id"]).collect();
    assert_eq!(ids, [&json!("batch"), &json!("0")]);
    assert_eq!((&steps[1]["state"], &steps[1]["time"]["start"]), (&json!("COMPLETED"), &json!(21)));
}

#[test]
fn a_job_of_accounting_has_states_and_lists_from_0_0_40_on() {
    for version in Version::all().filter(|version| *version > Version::V38) {
        let job = shown(version);
        let number = |set, number| json!({ "set": set, "infinite": false, "number": number });
        assert_eq!(job["state"]["current"], json!(["FAILED"]), "{version}");
        assert_eq!(job["exit_code"]["return_code"], number(true, 3));
        assert_eq!((&job["time"]["start"], &job["time"]["elapsed"]), (&json!(20), &json!(30)));
        assert_eq!(job["time"]["limit"], number(true, 60));
        assert_eq!(job["array"]["task_id"], number(false, 0));
        assert_eq!(job["priority"], number(true, 0));
        assert_eq!(job["tres"]["allocated"][0]["name"], "");
        let step = &job["steps"][1];
        assert_eq!((&step["step"]["id"], &step["state"]), (&json!("42.0"), &json!(["COMPLETED"])));
        assert_eq!(step["time"]["start"], number(true, 21));
        let has = |field: &str| job.get(field).is_some();
        assert_eq!(has("stdout_expanded"), version >= Version::V41, "{version}");
        assert_eq!(has("restart_cnt"), version >= Version::V42, "{version}");
        assert_eq!(step["step"].get("stdout").is_some(), version >= Version::V43, "{version}");
    }
}
