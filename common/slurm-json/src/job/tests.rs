//! Jobs in Slurm's fields.

use super::*;
use crate::field::check_table;
use common::id::{Gid, JobId, NodeName};
use common::job::{ExitStatus, Outcome, Phase};
use common::resource::{Allocation, GpuRequest, MemoryRequest};
use common::time::{Span, Time};
use common::unit::{Bytes, Gpus};
use serde_json::json;
use testkit::{job_view, share};

/// A pending job with a limit of an hour.
fn waiting() -> JobView {
    let mut job = job_view("42");
    job.ask.name = "train".to_owned();
    job.ask.work_dir = "/home/ada".to_owned();
    job.ask.time_limit = Some(Span::from_minutes(60));
    job.ask.request.gpus = Some(GpuRequest::PerNode(Gpus(2)));
    job.ask.request.memory = Some(MemoryRequest::PerNode(Bytes::from_mib(2048)));
    job.ask.stdout = Some("out-%j.txt".to_owned());
    job.submitted_at = Time(10_000);
    job
}

/// The same job, killed by a signal on one node.
fn killed() -> JobView {
    let mut job = waiting();
    job.phase = Phase::Done;
    job.outcome = Some(Outcome::Failed);
    job.state = "FAILED".to_owned();
    job.started_at = Some(Time(20_000));
    job.ended_at = Some(Time(50_000));
    job.attempt = 1;
    job.exit = Some(ExitStatus { code: 0, signal: Some(9) });
    job.allocation = Some(Allocation::new(vec![share("g-1", 0, 4, &[0, 1])]).unwrap());
    job
}

fn page() -> Page {
    Page {
        cluster: "c".to_owned(),
        as_of: Time(60_000),
        groups: [(Gid(1000), "staff".to_owned())].into(),
        ..Page::default()
    }
}

fn check(shown: &Value, expected: &Value, version: Version) {
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(shown[field], *value, "{version} {field}");
    }
}

fn number(set: bool, number: u64) -> Value {
    json!({ "set": set, "infinite": false, "number": number })
}

#[test]
fn no_field_stands_in_the_way_of_another() {
    let all: Vec<Row> = TABLES.iter().flat_map(|table| table.iter().copied()).collect();
    check_table(&all);
    for row in ATTRIBUTES.iter().filter(|row| !row.slurm.json.is_empty()) {
        let is_there = |(place, _): &Row| place.path(Version::V44) == Some(row.slurm.json);
        assert!(!all.iter().any(is_there), "{} is there twice", row.slurm.json);
    }
}

#[test]
fn a_waiting_job_has_plain_values_in_0_0_38() {
    let shown = job(&waiting(), &page(), Version::V38);
    let expected = json!({
        "job_id": 42, "name": "train", "job_state": "PENDING", "state_reason": "None",
        "user_id": 1000, "user_name": "ada", "group_id": 1000, "partition": "main",
        "time_limit": 60, "submit_time": 10, "start_time": 0, "end_time": 0, "exit_code": 0,
        "array_job_id": 0, "array_task_id": null, "cpus": 1, "tasks": 1, "node_count": 1,
        "nodes": "", "memory_per_node": 2048, "memory_per_cpu": null, "job_resources": {},
        "tres_per_node": "gres:gpu:2", "deadline": 0, "nice": 0, "cluster": "c",
        "current_working_directory": "/home/ada", "standard_output": "/home/ada/out-42.txt",
        "standard_error": "/home/ada/out-42.txt", "standard_input": "/dev/null",
        "shared": "", "priority": 0, "requeue": true, "batch_flag": true, "tres_alloc_str": "",
    });
    check(&shown, &expected, Version::V38);
    for absent in ["hold", "mail_type", "stdout_expanded", "exclusive"] {
        assert_eq!(shown.get(absent), None, "{absent}");
    }
}

#[test]
fn a_waiting_job_has_states_of_numbers_from_0_0_40_on() {
    for version in Version::all().filter(|version| *version > Version::V38) {
        let shown = job(&waiting(), &page(), version);
        let expected = json!({
            "job_id": 42, "job_state": ["PENDING"], "group_name": "staff", "group_id": 1000,
            "time_limit": number(true, 60), "submit_time": number(true, 10),
            "start_time": number(true, 0), "array_job_id": number(true, 0),
            "array_task_id": number(false, 0), "cpus": number(true, 1), "nodes": "",
            "memory_per_node": number(true, 2048), "memory_per_cpu": number(false, 0),
            "deadline": number(true, 0), "nice": 0, "hold": false, "shared": [],
            "exit_code": {
                "status": ["SUCCESS"], "return_code": number(true, 0),
                "signal": { "id": number(false, 0), "name": "" },
            },
            "tasks_per_core": { "set": false, "infinite": true, "number": 0 },
            "mail_type": [], "mail_user": "ada",
        });
        check(&shown, &expected, version);
        let has = |field: &str| shown.get(field).is_some();
        assert_eq!(has("exclusive"), version <= Version::V41, "{version}");
        assert_eq!(has("required_switches"), version >= Version::V42, "{version}");
        assert_eq!(has("power"), version <= Version::V44, "{version}");
        let files = [&shown["standard_output"], &shown["stdout_expanded"]];
        match version >= Version::V43 {
            true => assert_eq!(files, [&json!("out-%j.txt"), &json!("/home/ada/out-42.txt")]),
            false => assert_eq!(files, [&json!("/home/ada/out-42.txt"), &Value::Null]),
        }
        assert_eq!(has("job_resources"), version == Version::V40, "{version}");
    }
    let mut unlimited = waiting();
    unlimited.ask.time_limit = None;
    let shown = job(&unlimited, &page(), Version::V44);
    assert_eq!(shown["time_limit"], json!({ "set": false, "infinite": true, "number": 0 }));
}

#[test]
fn an_ended_job_has_its_exit_and_its_nodes() {
    let shown = job(&killed(), &page(), Version::V38);
    let expected = json!({
        "job_state": "FAILED", "state_reason": "NonZeroExitCode", "exit_code": 9, "nodes": "g-1",
        "start_time": 20, "end_time": 50, "batch_host": "g-1", "gres_detail": ["gpu:2(IDX:0,1)"],
    });
    check(&shown, &expected, Version::V38);
    let resources = &shown["job_resources"];
    assert_eq!((&resources["nodes"], &resources["allocated_hosts"]), (&json!("g-1"), &json!(1)));
    assert_eq!(resources["allocated_nodes"][0]["nodename"], "g-1");
    let shown = job(&killed(), &page(), Version::V42);
    let expected = json!({
        "job_state": ["FAILED"], "start_time": number(true, 20), "end_time": number(true, 50),
        "exit_code": {
            "status": ["SIGNALED"], "return_code": number(true, 0),
            "signal": { "id": number(true, 9), "name": "" },
        },
    });
    check(&shown, &expected, Version::V42);
    let nodes = &shown["job_resources"]["nodes"];
    assert_eq!((&nodes["list"], &nodes["count"]), (&json!("g-1"), &json!(1)));
    assert_eq!(nodes["allocation"][0]["cpus"], json!({ "count": 4, "used": 4 }));
    assert_eq!(NodeName::new("g-1").unwrap().as_str(), nodes["allocation"][0]["name"]);
}

#[test]
fn a_task_of_an_array_names_its_array() {
    let mut task = job_view("42_7");
    task.number = Some(JobId(50));
    let shown = job(&task, &page(), Version::V38);
    let expected = json!({ "job_id": 50, "array_job_id": 42, "array_task_id": 7 });
    check(&shown, &expected, Version::V38);
    let shown = job(&task, &page(), Version::V45);
    let expected = json!({ "array_job_id": number(true, 42), "array_task_id": number(true, 7) });
    check(&shown, &expected, Version::V45);
    assert_eq!(list_times(&page(), Version::V45)["last_update"], number(true, 60));
}
