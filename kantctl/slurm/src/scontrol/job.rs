//! `scontrol show job`: a job's record in Slurm's fields.

use super::super::json;
use super::{Args, Record, jobs};
use crate::cluster_name::cluster_name;
use cli::failure::{Failure, OK};
use cli::output::{Screen, user_names};
use cli::server::Server;
use cli::slurm_time::{format_time, long_span};
use common::id::JobKey;
use common::job::Launch;
use common::resource::{GpuRequest, MemoryRequest, Share};
use common::time::Time;
use common::wire::api::{JobList, JobView, PriorityList};
use slurm_json::job_file::{stderr, stdin, stdout};
use slurm_json::job_line::{Line, LinePart, Page};
use slurm_json::size::format_size;
use std::collections::BTreeMap;

/// Shows these jobs, or all that the controller keeps.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a job is unknown.
pub async fn show(
    args: &Args,
    names: &[&str],
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let mut lists: Vec<JobList> = Vec::new();
    for key in jobs(names)? {
        let list = server.get(&format!("/v1/jobs/{key}")).await;
        let list: JobList = list.map_err(|failure: Failure| match failure.error_code() {
            Some("unknown_job") => {
                Failure::from_message("slurm_load_jobs error: Invalid job id specified".to_owned())
            }
            _ => failure,
        })?;
        // A heterogeneous job is shown component by component.
        let behind: Vec<JobKey> = match key.component_offset() {
            None => list.jobs.iter().flat_map(JobView::other_components).collect(),
            Some(_) => Vec::new(),
        };
        lists.push(list);
        for key in behind {
            lists.push(server.get(&format!("/v1/jobs/{key}")).await?);
        }
    }
    if names.is_empty() {
        let mut all: JobList = server.get("/v1/jobs?all=true").await?;
        all.jobs.sort_by_key(|job| job.key);
        lists.push(all);
    }
    let waiting: PriorityList = server.get("/v1/priority").await?;
    let priorities: BTreeMap<JobKey, i64> =
        waiting.jobs.into_iter().map(|view| (view.key, view.total)).collect();
    let cluster = if args.json { cluster_name(server).await? } else { String::new() };
    let mut shown = Vec::new();
    for list in &lists {
        let page = Page {
            cluster: cluster.clone(),
            as_of: list.as_of,
            priorities: priorities.clone(),
            ..Page::default()
        };
        if args.json {
            shown.extend(
                list.jobs.iter().map(|job| slurm_json::job::job(job, &page, json::VERSION)),
            );
            continue;
        }
        for job in &list.jobs {
            let line =
                Line { jobs: std::slice::from_ref(job), job, part: LinePart::Whole, page: &page };
            screen.print(&record(&line, args.details, screen).text(args.oneliner))?;
        }
    }
    if args.json {
        return json::print(screen, "jobs", shown);
    }
    if lists.iter().all(|list| list.jobs.is_empty()) {
        screen.print_line("No jobs in the system")?;
    }
    Ok(OK)
}

fn record(line: &Line<'_>, details: bool, screen: &Screen) -> Record {
    let (job, ask) = (line.job, &line.job.ask);
    let owner = &job.owner;
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "(null)".to_owned());
    let mut record = Record::default();
    let mut first = vec![("JobId", line.job_id())];
    if let Some(index) = job.key.index {
        first.push(("ArrayJobId", job.key.job.to_string()));
        first.push(("ArrayTaskId", index.to_string()));
    }
    if let Some(set) = job.set {
        first.push(("HetJobId", set.first.to_string()));
        first.push(("HetJobOffset", set.offset.to_string()));
    }
    first.push(("JobName", ask.name.clone()));
    record.add_line(first);
    let group = user_names::group(owner.gid.0);
    record.add_line(vec![
        ("UserId", format!("{}({})", user_names::owner(owner), owner.uid)),
        ("GroupId", format!("{group}({})", owner.gid)),
    ]);
    let priority = line.page.priorities.get(&job.key).copied().unwrap_or(0);
    record.add_line(vec![
        ("Priority", priority.to_string()),
        ("Nice", ask.nice.to_string()),
        ("Account", or_none(ask.account.as_ref().map(ToString::to_string))),
        ("QOS", or_none(ask.qos.as_ref().map(ToString::to_string))),
    ]);
    record.add_line(vec![
        ("JobState", line.state().0.to_owned()),
        ("Reason", line.reason_or_end().to_owned()),
        ("Dependency", or_none(job.dependency.clone())),
    ]);
    record.add_line(vec![
        ("Requeue", u8::from(ask.requeue).to_string()),
        ("Restarts", job.attempt.saturating_sub(1).to_string()),
        ("BatchFlag", u8::from(ask.launch != Launch::Held).to_string()),
        ("ExitCode", line.exit().to_string()),
    ]);
    times(&mut record, line, screen);
    resource_fields(&mut record, line);
    if details {
        for share in job.allocation.iter().flat_map(|given| given.shares()) {
            record.add_line(share_fields(share));
        }
    }
    files(&mut record, job);
    record
}

fn times(record: &mut Record, line: &Line<'_>, screen: &Screen) {
    let job = line.job;
    let at = |at: Option<Time>, none: &str| {
        at.map_or_else(|| none.to_owned(), |at| format_time(at, &screen.zone))
    };
    let limit = job.ask.time_limit.map_or_else(|| "UNLIMITED".to_owned(), long_span);
    record.add_line(vec![
        ("RunTime", long_span(line.elapsed())),
        ("TimeLimit", limit),
        ("TimeMin", "N/A".to_owned()),
    ]);
    let eligible = job.ask.begin_at.map_or(job.submitted_at, |begin| begin.max(job.submitted_at));
    record.add_line(vec![
        ("SubmitTime", at(Some(job.submitted_at), "")),
        ("EligibleTime", at(Some(eligible), "")),
    ]);
    record.add_line(vec![
        ("StartTime", at(line.start(), "Unknown")),
        ("EndTime", at(line.end(), "Unknown")),
        ("Deadline", at(job.ask.deadline, "N/A")),
    ]);
}

fn resource_fields(record: &mut Record, line: &Line<'_>) {
    let (job, request) = (line.job, &line.job.ask.request);
    let or_none = |text: String| if text.is_empty() { "(null)".to_owned() } else { text };
    let queue = job.ask.queue.as_ref().map(ToString::to_string);
    record.add_line(vec![
        ("Partition", or_none(queue.unwrap_or_default())),
        ("ReqNodeList", or_none(common::hostlist::compress(&request.only_nodes))),
        ("ExcNodeList", or_none(common::hostlist::compress(&request.not_nodes))),
    ]);
    record.add_line(vec![("NodeList", or_none(line.nodes()))]);
    let first = job.allocation.as_ref().and_then(|given| given.shares().first());
    if let Some(share) = first {
        record.add_line(vec![("BatchHost", share.node.to_string())]);
    }
    record.add_line(vec![
        ("NumNodes", line.node_count().to_string()),
        ("NumCPUs", job.cpus.to_string()),
        ("NumTasks", request.tasks.to_string()),
        ("CPUs/Task", request.cpus_per_task.to_string()),
    ]);
    record.add_line(vec![("TRES", line.tres())]);
    let memory = match request.memory {
        Some(MemoryRequest::PerCpu(bytes)) => ("MinMemoryCPU", format_size(bytes, line.page.unit)),
        Some(MemoryRequest::PerNode(bytes)) => {
            ("MinMemoryNode", format_size(bytes, line.page.unit))
        }
        _ => ("MinMemoryNode", "0".to_owned()),
    };
    record.add_line(vec![("MinCPUsNode", request.cpus_per_task.to_string()), memory]);
    let features = request.constraint.as_ref().map(ToString::to_string);
    record.add_line(vec![("Features", or_none(features.unwrap_or_default()))]);
    let kind = request.gpu_kind.as_ref().map(|kind| format!("{}:", kind.0)).unwrap_or_default();
    let gpus = match request.gpus {
        Some(GpuRequest::PerNode(each)) => Some(("TresPerNode", each.0)),
        Some(GpuRequest::PerTask(each)) => Some(("TresPerTask", each.0)),
        Some(GpuRequest::Total(all)) => Some(("TresPerJob", all.0)),
        Some(GpuRequest::Parts(_)) | None => None,
    };
    if let Some((field, count)) = gpus {
        record.add_line(vec![(field, format!("gres:gpu:{kind}{count}"))]);
    }
    let reservation = job.ask.reservation.as_ref().map(ToString::to_string);
    record.add_line(vec![
        ("OverSubscribe", if request.exclusive { "NO" } else { "OK" }.to_owned()),
        ("Reservation", or_none(reservation.unwrap_or_default())),
    ]);
}

fn share_fields(share: &Share) -> Vec<(&'static str, String)> {
    let gpus: Vec<String> = share.gpus.iter().map(ToString::to_string).collect();
    let mut fields = vec![
        ("Nodes", share.node.to_string()),
        ("CPU_IDs", share.cpus.to_string()),
        ("Mem", (share.memory.0 >> 20).to_string()),
    ];
    if !gpus.is_empty() {
        fields.push(("GRES", format!("gpu:{}(IDX:{})", gpus.len(), gpus.join(","))));
    }
    fields
}

fn files(record: &mut Record, job: &JobView) {
    let ask = &job.ask;
    record.add_line(vec![("Comment", ask.comment.clone().unwrap_or_else(|| "(null)".to_owned()))]);
    record.add_line(vec![("Command", ask.command.clone().unwrap_or_else(|| "(null)".to_owned()))]);
    record.add_line(vec![("WorkDir", ask.work_dir.clone())]);
    record.add_line(vec![("StdErr", stderr(job))]);
    record.add_line(vec![("StdIn", stdin(job))]);
    record.add_line(vec![("StdOut", stdout(job))]);
    if let Some(mail) = ask.mail.as_ref().filter(|mail| !mail.on.is_none()) {
        let to = mail.to.as_deref().unwrap_or(&job.owner.name);
        record.add_line(vec![("MailUser", to.to_owned()), ("MailType", mail.on.to_string())]);
    }
}
