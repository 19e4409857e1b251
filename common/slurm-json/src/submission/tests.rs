//! Submissions in Slurm's fields.

use super::*;
use common::gpu::GpuKind;
use common::job::check::check_ask;
use common::resource::{GpuRequest, MemoryRequest};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use serde_json::json;

fn submission(body: &Value, version: Version) -> Result<Submission, String> {
    read(body, version).map_err(|error| error.to_string())
}

/// The request of a description with a script and a directory.
fn asked(mut job: Value, version: Version) -> Result<Ask, String> {
    job["current_working_directory"] = json!("/home/ada");
    let read = submission(&json!({ "script": "#!/bin/sh\n", "job": job }), version)?;
    let ask = read.asks.into_iter().next().unwrap();
    check_ask(&ask).map_err(|error| error.to_string())?;
    Ok(ask)
}

fn number(number: u64) -> Value {
    json!({ "set": true, "infinite": false, "number": number })
}

#[test]
fn a_submission_of_0_0_38_is_read() {
    let job = json!({
        "name": "train", "account": "vision", "partition": "gpu", "qos": "high",
        "time_limit": 90, "nodes": [2, 2], "tasks": 8, "cpus_per_task": 4,
        "memory_per_node": 4096, "gres": "gpu:h100:4", "begin_time": 3600, "nice": 5,
        "current_working_directory": "/home/ada", "standard_output": "out-%j.txt",
        "environment": { "PATH": "/bin", "N": 3 }, "hold": true, "requeue": false,
        "signal": "B:USR1@120", "exclusive": "user",
    });
    let refused = submission(&json!({ "script": "#!/bin/sh\n", "job": job }), Version::V38);
    assert!(refused.unwrap_err().contains("exclusive: `user`"));
    let mut job = job;
    job["exclusive"] = json!("exclusive");
    let read = submission(&json!({ "script": "#!/bin/sh\n", "job": job }), Version::V38).unwrap();
    let ask = &read.asks[0];
    assert_eq!(check_ask(ask), Ok(()));
    assert_eq!((ask.name.as_str(), read.script.as_str()), ("train", "#!/bin/sh\n"));
    assert_eq!(ask.queue.as_ref().unwrap().as_str(), "gpu");
    assert_eq!(ask.time_limit, Some(Span::from_minutes(90)));
    assert_eq!((ask.begin_at, ask.nice, ask.hold), (Some(Time(3_600_000)), 5, true));
    assert_eq!((ask.requeue, ask.stdout.as_deref()), (false, Some("out-%j.txt")));
    assert_eq!(ask.warning.as_ref().unwrap().to_string(), "B:USR1@120");
    let request = &ask.request;
    assert_eq!((request.nodes, request.tasks), (Some(Nodes(2)), Tasks(8)));
    assert_eq!((request.cpus_per_task, request.exclusive), (Cpus(4), true));
    assert_eq!(request.memory, Some(MemoryRequest::PerNode(Bytes::from_mib(4096))));
    assert_eq!(request.gpus, Some(GpuRequest::PerNode(Gpus(4))));
    assert_eq!(request.gpu_kind, Some(GpuKind("h100".to_owned())));
    assert_eq!(read.environment["N"], "3");
}

#[test]
fn a_submission_with_states_of_numbers_is_read() {
    let job = json!({
        "name": "train", "tasks": 2, "time_limit": number(60), "memory_per_cpu": number(2048),
        "tres_per_task": "cpu=4,gres/gpu=1", "mail_type": ["END", "TIME=90%"],
        "environment": ["PATH=/bin", "EMPTY="], "rlimits": { "nofile": number(1024) },
        "kill_warning_signal": "USR1", "kill_warning_delay": number(300),
        "kill_warning_flags": ["BATCH_JOB"], "excluded_nodes": ["g-1", "g-2"],
        "priority": { "set": false, "infinite": false, "number": 0 }, "wckey": "", "script": "x",
        "hold": false, "flags": ["KILL_INVALID_DEPENDENCY"], "minimum_cpus": 1,
        "minimum_nodes": 1, "maximum_nodes": 4, "deadline": 0, "argv": ["job.sh", "a b", "c"],
    });
    for version in Version::all().filter(|version| *version > Version::V38) {
        let mut job = job.clone();
        job["current_working_directory"] = json!("/home/ada");
        let read = submission(&json!({ "job": job }), version).unwrap();
        let ask = &read.asks[0];
        assert_eq!(check_ask(ask), Ok(()), "{version}");
        assert_eq!((read.script.as_str(), &read.warnings), ("x", &Vec::new()));
        assert_eq!(ask.time_limit, Some(Span::from_minutes(60)));
        let request = &ask.request;
        assert_eq!(request.memory, Some(MemoryRequest::PerCpu(Bytes::from_mib(2048))));
        assert_eq!(request.gpus, Some(GpuRequest::PerTask(Gpus(1))));
        assert_eq!((request.cpus_per_task, request.tasks), (Cpus(4), Tasks(2)));
        assert_eq!(request.nodes, None, "any number of nodes up to the tasks");
        assert_eq!(request.not_nodes.len(), 2);
        let mail = ask.mail.as_ref().unwrap();
        assert_eq!(mail.on.to_string(), "END,TIME_LIMIT_90");
        assert_eq!(ask.warning.as_ref().unwrap().to_string(), "B:USR1@300");
        assert_eq!((ask.rlimits[0].name.as_str(), ask.rlimits[0].soft), ("nofile", Some(1024)));
        assert_eq!(ask.args, ["a b", "c"]);
        assert_eq!(read.environment["EMPTY"], "");
        assert!(ask.kill_on_invalid_dependency && !ask.hold);
        assert_eq!(ask.stdout.as_deref(), Some("slurm-%j.out"));
    }
}

#[test]
fn a_field_without_effect_is_named_in_a_warning() {
    let job = json!({
        "current_working_directory": "/", "wckey": "w", "threads_per_core": 1,
        "priority": number(100), "distribution": "block", "time_minimum": number(0),
    });
    let read = submission(&json!({ "script": "s", "job": job }), Version::V44).unwrap();
    let named: Vec<&str> =
        read.warnings.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!(named, ["distribution", "priority", "threads_per_core", "wckey"]);
}

#[test]
fn a_field_that_kant_cannot_honour_is_refused_by_name() {
    for (job, text) in [
        (json!({ "licenses": "matlab:2" }), "licenses: licences are not counted"),
        (json!({ "immediate": true }), "immediate: "),
        (json!({ "colour": "red" }), "v0.0.44 has no field `colour`"),
        (json!({ "gres": "gpu:1" }), "v0.0.44 has no field `gres`"),
        (json!({ "tres_per_node": "license/matlab:1" }), "tres_per_node: `license/matlab:1`"),
        (json!({ "tasks": "many" }), "tasks: write a whole number"),
        (json!({ "time_limit": -5 }), "time_limit: write a number of minutes"),
        (json!({ "environment": ["x"] }), "environment: `x`: write NAME=value"),
        (json!({ "dependency": "afterok" }), "dependency: "),
        (json!({ "minimum_cpus": 4 }), "minimum_cpus: give tasks"),
        (json!({ "rlimits": { "files": number(9) } }), "rlimits: there is no limit `files`"),
        (json!({ "kill_on_node_fail": false }), "kill_on_node_fail: a job ends"),
        (json!({ "hetjob_group": 1 }), "hetjob_group: give the components as `jobs`"),
    ] {
        let refused = asked(job.clone(), Version::V44).unwrap_err();
        assert!(refused.contains(text), "{job}: {refused}");
    }
    let maximum = json!({ "minimum_nodes": 2 });
    assert!(asked(maximum, Version::V38).unwrap_err().contains("minimum_nodes: write true"));
    let accepted = json!({ "licenses": "", "immediate": false, "crontab": null, "x11": [] });
    assert!(asked(accepted, Version::V44).is_ok());
}

#[test]
fn a_submission_without_a_part_is_refused() {
    let job = json!({ "current_working_directory": "/" });
    for (body, text) in [
        (json!([]), "a submission is an object"),
        (json!({ "script": "x" }), "a submission is an object"),
        (json!({ "job": job }), "script: a submission needs one"),
        (json!({ "script": "x", "job": {} }), "current_working_directory: a job needs one"),
        (json!({ "script": "x", "job": job, "name": "n" }), "no field `name`"),
        (json!({ "jobs": [] }), "a submission is an object"),
    ] {
        let refused = submission(&body, Version::V40).unwrap_err();
        assert!(refused.contains(text), "{body}: {refused}");
    }
}

#[test]
fn components_become_requests_of_their_own() {
    let component = |tasks: u32| json!({ "current_working_directory": "/", "tasks": tasks });
    let body = json!({ "script": "x", "jobs": [component(1), component(4)] });
    let read = submission(&body, Version::V41).unwrap();
    let tasks: Vec<u32> = read.asks.iter().map(|ask| ask.request.tasks.0).collect();
    assert_eq!(tasks, [1, 4]);
    let mut other = component(2);
    other["script"] = json!("y");
    let body = json!({ "script": "x", "jobs": [component(1), other] });
    assert!(submission(&body, Version::V41).unwrap_err().contains("component 1"));
    let with = |name: &str, value: Value| {
        let mut job = component(1);
        job[name] = value;
        job
    };
    let jobs =
        [with("environment", json!(["A=1"])), component(1), with("environment", json!(["A=2"]))];
    let refused = submission(&json!({ "script": "x", "jobs": jobs }), Version::V41).unwrap_err();
    assert!(refused.contains("environment: ") && refused.contains("component 2"), "{refused}");
    let jobs = [with("user_id", json!("ada")), with("user_id", json!("bob"))];
    let read = submission(&json!({ "script": "x", "jobs": jobs }), Version::V41).unwrap();
    assert_eq!(read.users, ["ada", "bob"].map(str::to_owned).into());
}

#[test]
fn gpus_are_read_in_each_form_of_slurm() {
    for (text, kind) in [
        ("gres:gpu:h100:2", Some("h100")),
        ("gres/gpu:h100:2", Some("h100")),
        ("gpu:2", None),
        ("gres/gpu=2", None),
    ] {
        let request = asked(json!({ "tres_per_job": text }), Version::V43).unwrap().request;
        assert_eq!(request.gpus, Some(GpuRequest::Total(Gpus(2))), "{text}");
        assert_eq!(request.gpu_kind.map(|kind| kind.0).as_deref(), kind, "{text}");
    }
    let per_gpu = json!({ "tres_per_job": "gres/gpu:2", "cpus_per_tres": "gres:gpu:4" });
    assert_eq!(asked(per_gpu, Version::V43).unwrap().request.cpus_per_task, Cpus(8));
}

#[test]
fn a_job_may_be_unlimited_and_prefer_one_switch() {
    let unlimited = json!({ "time_limit": { "set": false, "infinite": true, "number": 0 } });
    let ask = asked(unlimited, Version::V40).unwrap();
    assert!(ask.unlimited && ask.time_limit.is_none());
    let ask = asked(json!({ "required_switches": number(1), "segment_size": 0 }), Version::V42);
    assert!(ask.unwrap().request.near.is_some());
}

#[test]
fn fields_that_contradict_each_other_are_refused_by_name() {
    for (job, text) in [
        (
            json!({ "tres_per_job": "gres/gpu:8", "tres_per_node": "gres/gpu:4" }),
            "tres_per_node: it contradicts tres_per_job",
        ),
        (
            json!({ "tres_per_task": "gres/gpu:1", "tres_per_node": "gres/gpu:4" }),
            "tres_per_task: it contradicts tres_per_node",
        ),
        (json!({ "tres_per_job": "gres/gpu:a100:1,gres/gpu:h100:2" }), "tres_per_job: a job gets"),
        (
            json!({ "tasks": 4, "ntasks_per_tres": 2, "tres_per_job": "gpu:2" }),
            "tasks: it contradicts ntasks_per_tres",
        ),
        (
            json!({ "cpus_per_task": 4, "cpus_per_tres": "gpu:2", "tres_per_job": "gpu:2" }),
            "cpus_per_tres: it contradicts cpus_per_task",
        ),
        (
            json!({ "memory_per_cpu": number(100), "memory_per_node": number(100) }),
            "memory_per_node: it contradicts memory_per_cpu",
        ),
        (
            json!({ "cpus_per_task": 4, "tres_per_task": "cpu=2,gres/gpu:1" }),
            "tres_per_task: it contradicts cpus_per_task",
        ),
        (json!({ "nodes": "2", "maximum_nodes": 4 }), "nodes: it contradicts minimum_nodes"),
    ] {
        let refused = asked(job.clone(), Version::V44).unwrap_err();
        assert!(refused.contains(text), "{job}: {refused}");
    }
    let same = json!({ "cpus_per_task": 2, "tres_per_task": "cpu=2,gres/gpu:1" });
    assert_eq!(asked(same, Version::V44).unwrap().request.cpus_per_task, Cpus(2));
}

#[test]
fn a_maximum_of_nodes_is_a_range_from_one_on() {
    let request = asked(json!({ "maximum_nodes": 4 }), Version::V44).unwrap().request;
    assert_eq!((request.tasks_min, request.tasks), (Some(Tasks(1)), Tasks(4)));
    assert_eq!(request.nodes, None);
    let request = asked(json!({ "minimum_nodes": 4 }), Version::V44).unwrap().request;
    assert_eq!((request.nodes, request.tasks_min), (Some(Nodes(4)), None));
}

#[test]
fn a_variable_may_be_named_as_the_state_of_a_number() {
    let job = json!({ "current_working_directory": "/", "environment": { "set": "a", "B": "b" } });
    let read = submission(&json!({ "script": "x", "job": job }), Version::V38).unwrap();
    assert_eq!((read.environment.len(), read.environment["set"].as_str()), (2, "a"));
}

#[test]
fn other_names_of_fields_are_read_in_0_0_38() {
    let job = json!({
        "job_name": "train", "ntasks": 2, "constraint": "ib", "nodelist": ["g-1"],
        "exclude_nodes": "g-2",
    });
    let ask = asked(job.clone(), Version::V38).unwrap();
    assert_eq!((ask.name.as_str(), ask.request.tasks), ("train", Tasks(2)));
    assert_eq!((ask.request.only_nodes.len(), ask.request.not_nodes.len()), (1, 1));
    assert!(asked(job, Version::V40).unwrap_err().contains("no field `constraint`"));
    let twice = asked(json!({ "ntasks": 2, "tasks": 3 }), Version::V38).unwrap_err();
    assert!(twice.contains("tasks: it contradicts ntasks"), "{twice}");
}
