//! The output of Slurm's commands with --json: the frame, and jobs as squeue and scontrol show
//! them. The fields are those of Slurm 22.05; a field that kant does not have is null or empty.
//! Source: the answers of Slurm's openapi/v0.0.38 (release 22.05): plugins/openapi/v0.0.38.

use super::job_line::{Line, LinePart, Page, Unit, format_size};
use super::shared_options::VERSION;
use cli::failure::{Failure, OK};
use cli::output::Screen;
use common::hostlist::fold;
use common::job::attributes::{self, Kind, ROWS, Row};
use common::job::pattern::absolute;
use common::job::{Ask, Launch, Phase, SetPlace};
use common::resource::{GpuRequest, MemoryRequest};
use common::time::Time;
use common::wire::api::JobView;
use serde_json::{Map, Value, json};

/// Prints `what` under `name`, in Slurm's frame.
///
/// # Errors
/// [`Failure`] when writing to stdout fails.
pub fn print(screen: &Screen, name: &str, what: Vec<Value>) -> Result<u8, Failure> {
    let mut answer = Map::new();
    answer.insert("meta".to_owned(), meta());
    answer.insert("errors".to_owned(), json!([]));
    answer.insert(name.to_owned(), Value::Array(what));
    screen.answer(&answer)?;
    Ok(OK)
}

fn meta() -> Value {
    let release = VERSION.trim_start_matches("slurm ");
    json!({
        "plugin": { "type": "openapi/v0.0.38", "name": "kant, in the words of Slurm v0.0.38" },
        "Slurm": { "version": { "major": 22, "micro": 8, "minor": 5 }, "release": release }
    })
}

/// Seconds since 1970; 0 for `None`.
#[must_use]
pub fn unix_seconds(at: Option<Time>) -> u64 {
    at.map_or(0, |at| at.0 / 1000)
}

/// A job or array task, as `squeue --json` and `scontrol show job --json` show it.
#[must_use]
pub fn job(job: &JobView, page: &Page) -> Value {
    let line = Line { jobs: std::slice::from_ref(job), job, part: LinePart::Whole, page };
    merge_objects([
        identity_fields(&line),
        state_fields(&line),
        resource_fields(&line),
        file_fields(job),
        attribute_fields(&job.ask),
    ])
}

/// One object with the fields of all.
#[must_use]
pub fn merge_objects(parts: impl IntoIterator<Item = Value>) -> Value {
    let mut fields = Map::new();
    for part in parts {
        if let Value::Object(part) = part {
            fields.extend(part);
        }
    }
    Value::Object(fields)
}

/// The attributes that have a field.
fn attribute_fields(ask: &Ask) -> Value {
    let rows = ROWS.iter().filter(|row| !row.slurm.json.is_empty());
    let field = |row: &Row| {
        let value = match (row.kind, ask.value(row.attribute)) {
            (_, Some(attributes::Value::Time(at))) => json!(unix_seconds(Some(at))),
            (_, Some(attributes::Value::Integer(number))) => json!(number),
            (_, Some(value)) => json!(value.to_string()),
            (Kind::Begin | Kind::Deadline | Kind::Nice, None) => json!(0),
            (_, None) => json!(""),
        };
        (row.slurm.json.to_owned(), value)
    };
    Value::Object(rows.map(field).collect())
}

fn identity_fields(line: &Line<'_>) -> Value {
    let job = line.job;
    let ask = &job.ask;
    let array = job.key.index.map(|index| index.0);
    json!({
        "admin_comment": "",
        "array_job_id": array.map_or(0, |_| job.key.job.0),
        "array_task_id": array,
        "array_max_tasks": 0,
        "array_task_string": "",
        "association_id": 0,
        "cluster": line.page.cluster,
        "federation_origin": "",
        "group_id": job.owner.gid.0,
        "job_id": job.number.unwrap_or(job.key.job).0,
        "het_job_id": job.set.map_or(0, |set| set.first.0),
        "het_job_id_set": job.set.map(component_range).unwrap_or_default(),
        "het_job_offset": job.set.map_or(0, |set| set.offset),
        "mcs_label": "",
        "name": ask.name,
        "system_comment": "",
        "user_id": job.owner.uid.0,
        "user_name": job.owner.name,
        "wckey": "",
        "licenses": "",
        "network": "",
        "flags": [],
        "show_flags": ["SHOW_ALL", "SHOW_DETAIL"],
    })
}

/// The job ids of all components, as Slurm writes them: `42-44`.
fn component_range(set: SetPlace) -> String {
    format!("{}-{}", set.first, set.first.0 + set.size - 1)
}

fn state_fields(line: &Line<'_>) -> Value {
    let job = line.job;
    let exit = line.exit();
    // The encoding of wait(2): the code above the signal.
    let status = u32::from(exit.code) << 8 | u32::from(exit.signal.unwrap_or(0));
    let eligible = job.ask.begin_at.map_or(job.submitted_at, |at| at.max(job.submitted_at));
    json!({
        "accrue_time": unix_seconds(Some(eligible)),
        "batch_flag": job.ask.launch != Launch::Held,
        "batch_features": "",
        "delay_boot": 0,
        "dependency": job.dependency.as_deref().unwrap_or_default(),
        "derived_exit_code": status,
        "eligible_time": unix_seconds(Some(eligible)),
        "end_time": unix_seconds(line.end()),
        "exit_code": status,
        "job_state": line.state().0,
        "last_sched_evaluation": unix_seconds(Some(line.page.as_of)),
        "preempt_time": 0,
        "pre_sus_time": 0,
        "priority": line.page.priorities.get(&job.key).copied().unwrap_or(0).max(0),
        "reboot": false,
        "requeue": job.ask.requeue,
        "resize_time": 0,
        "restart_cnt": job.attempt.saturating_sub(1),
        "start_time": unix_seconds(line.start()),
        "state_description": job.reason.as_ref().map_or("", |reason| &reason.sentence),
        "state_reason": line.reason_or_end(),
        "submit_time": unix_seconds(Some(job.submitted_at)),
        "suspend_time": unix_seconds(job.suspended_at),
        // In minutes; 0: no limit.
        "time_limit": job.ask.time_limit.map_or(0, |limit| limit.seconds().div_ceil(60)),
        "time_minimum": 0,
    })
}

fn resource_fields(line: &Line<'_>) -> Value {
    let job = line.job;
    let request = &job.ask.request;
    let begun = job.phase != Phase::Pending && job.allocation.is_some();
    let mebibytes = |bytes: common::unit::Bytes| bytes.0 >> 20;
    let memory = |wanted: fn(MemoryRequest) -> Option<common::unit::Bytes>| {
        request.memory.and_then(wanted).map(mebibytes)
    };
    let gpus = |wanted: fn(GpuRequest) -> Option<u32>| {
        let kind = request.gpu_kind.as_ref().map(|kind| format!("{}:", kind.0)).unwrap_or_default();
        let count = request.gpus.and_then(wanted);
        count.map(|count| format!("gres:gpu:{kind}{count}")).unwrap_or_default()
    };
    let tres = line.tres();
    json!({
        "batch_host": host(job),
        "billable_tres": f64::from(line.cpus()),
        "contiguous": false,
        "cpus": job.cpus.0,
        "cpus_per_task": request.cpus_per_task.0,
        "cpus_per_tres": "",
        "max_cpus": 0,
        "max_nodes": 0,
        "memory_per_node": memory(|memory| match memory {
            MemoryRequest::PerNode(bytes) => Some(bytes),
            _ => None,
        }),
        "memory_per_cpu": memory(|memory| match memory {
            MemoryRequest::PerCpu(bytes) => Some(bytes),
            _ => None,
        }),
        "memory_per_tres": "",
        "minimum_cpus_per_node": request.cpus_per_task.0,
        "minimum_tmp_disk_per_node": 0,
        "node_count": line.node_count(),
        "nodes": line.nodes(),
        "job_resources": if begun { resources(job) } else { json!({}) },
        "shared": if request.exclusive { "none" } else { "" },
        "tasks": request.tasks.0,
        "tasks_per_board": 0,
        "tasks_per_core": null,
        "tasks_per_node": 0,
        "tasks_per_socket": null,
        "tres_alloc_str": if begun { tres.clone() } else { String::new() },
        "tres_bind": "",
        "tres_freq": "",
        "tres_per_job": gpus(|gpus| match gpus {
            GpuRequest::Total(count) => Some(count.0),
            _ => None,
        }),
        "tres_per_node": gpus(|gpus| match gpus {
            GpuRequest::PerNode(count) => Some(count.0),
            _ => None,
        }),
        "tres_per_socket": "",
        "tres_per_task": gpus(|gpus| match gpus {
            GpuRequest::PerTask(count) => Some(count.0),
            _ => None,
        }),
        "tres_req_str": tres,
    })
}

fn host(job: &JobView) -> String {
    let first = job.allocation.as_ref().and_then(|given| given.shares().first());
    first.map(|share| share.node.to_string()).unwrap_or_default()
}

/// The allocation, node by node.
fn resources(job: &JobView) -> Value {
    let shares = job.allocation.iter().flat_map(|given| given.shares());
    let nodes: Map<String, Value> = shares
        .clone()
        .enumerate()
        .map(|(place, share)| {
            let node = json!({
                "nodename": share.node,
                "cpus_used": share.cpus.len(),
                "memory_used": share.memory.0 >> 20,
                "memory_allocated": share.memory.0 >> 20,
                "gpus_used": share.gpus,
            });
            (place.to_string(), node)
        })
        .collect();
    json!({
        "nodes": fold(shares.clone().map(|share| &share.node)),
        "allocated_hosts": shares.clone().count(),
        "allocated_cpus": job.cpus.0,
        "allocated_nodes": nodes,
    })
}

fn file_fields(job: &JobView) -> Value {
    let ask = &job.ask;
    let path = |pattern: Option<&str>| pattern.map(|p| absolute(&ask.work_dir, p));
    let output = path(Some(ask.stdout_pattern()));
    json!({
        "command": ask.command.as_deref().unwrap_or_default(),
        "current_working_directory": ask.work_dir,
        "standard_error": path(ask.stderr.as_deref()).or_else(|| output.clone()),
        "standard_input": path(ask.stdin.as_deref()).unwrap_or_else(|| "/dev/null".to_owned()),
        "standard_output": output,
    })
}

/// `8G`, as Slurm writes sizes in JSON.
#[must_use]
pub fn size_text(bytes: common::unit::Bytes) -> String {
    format_size(bytes, Unit::Fitting)
}
