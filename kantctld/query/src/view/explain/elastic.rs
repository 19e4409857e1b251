//! Sentences on jobs with a range of tasks: how many tasks they start with, and how many they have.

use common::hostlist::compress;
use common::id::JobKey;
use common::wire::api::JobView;

/// For a waiting job: the number of tasks that it starts with. `None` if it has no range.
pub(super) fn starting_tasks_line(job: &JobView) -> Option<String> {
    let (most, least) = (job.ask.request.tasks, job.ask.request.tasks_min?);
    Some(format!("it starts with {least} to {most} tasks: as many as there is room for"))
}

/// For a job that gave up nodes: which still have to release it, and for which other job.
pub(super) fn leaving_nodes_line(job: &JobView, gives_to: Option<JobKey>) -> Option<String> {
    let s = if job.leaving.len() == 1 { "s" } else { "" };
    let nodes = Some(compress(&job.leaving)).filter(|nodes| !nodes.is_empty())?;
    let for_job = gives_to.map_or_else(String::new, |key| format!(" for job {key}"));
    Some(format!("it gave up nodes{for_job}: {nodes} still stop{s} its tasks there"))
}

/// For a growing job: the nodes that prepare it.
pub(super) fn joining_nodes_line(job: &JobView) -> Option<String> {
    let s = if job.joining.len() == 1 { "s" } else { "" };
    let nodes = Some(compress(&job.joining)).filter(|nodes| !nodes.is_empty())?;
    Some(format!("{nodes} join{s} it, and make{s} ready for it"))
}

/// For a running job: how many of its tasks it has. `None` if it has no range.
pub(super) fn running_tasks_line(job: &JobView) -> Option<String> {
    let (most, least) = (job.ask.request.tasks, job.ask.request.tasks_min?);
    let has = job.allocation.as_ref()?.tasks();
    let more = match job.ask.request.grow && has < most {
        true => "; it takes more nodes as soon as no other job needs them",
        false => "",
    };
    Some(format!("it has {has} of {most} tasks, and needs at least {least}{more}"))
}
