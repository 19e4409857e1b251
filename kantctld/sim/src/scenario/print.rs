//! The output of a scenario: events and the views of users, one line each. It shows only what users
//! can see.

use crate::cluster::{Cluster, Happening};
use common::hostlist;
use common::id::{JobKey, RoleName};
use common::job::Replica;
use common::time::{Span, Time};
use common::wire::api::{
    JobQuery, JobView, NodeView, ReplicaView, RoleView, ServiceView, ShareView,
};
use engine::solve::Effort;
use lead::services::{Names, service_view};
use query::view;
use query::viewer::Viewer;
use state::Event;
use state::event::ShareNews;
use state::service::Service;

/// The most places that a search for moves tries, unless the line sets another bound.
pub(super) const TRIALS: u64 = 200_000;

/// What happened, with its time. Of the steps' events, only ends are shown; of services, their own
/// events.
pub(super) fn line((at, happening): &(Time, Happening)) -> Option<String> {
    let text = match happening {
        Happening::Changed(Event::StepReported { news, .. })
            if !matches!(news, ShareNews::Ended(..)) =>
        {
            return None;
        }
        Happening::Changed(Event::ServiceChanged { .. }) => return None,
        Happening::Changed(event) => query::event::line(event),
        Happening::Service { name, event } => format!("service {name}: {event}"),
        Happening::Replica { replica, key, health } => {
            let Replica { service, role, ordinal, .. } = replica.as_ref();
            format!("service {service}: replica {role}.{ordinal} (job {key}) is {}", health.word())
        }
    };
    Some(format!("{} {text}", Span(at.0)))
}

/// The function that prints a list with this verb.
pub(super) fn list_printer(verb: &str) -> Option<fn(&mut Cluster) -> Vec<String>> {
    match verb {
        "queue" => Some(|cluster| queue(cluster)),
        "nodes" => Some(|cluster| nodes(cluster)),
        "services" => Some(|cluster| services(cluster)),
        "share" => Some(share),
        _ => None,
    }
}

/// GPUs of all queues.
fn share(cluster: &mut Cluster) -> Vec<String> {
    let now = cluster.now();
    let queues = engine::standings(cluster.snapshot(), now);
    let line = |view: &ShareView| {
        let of = engine::gpus_of(view)?;
        let gpus = |milli: u64| (milli as f64 / 1000.0).to_string();
        let maybe = |milli: Option<u64>| milli.map_or_else(|| "-".to_owned(), gpus);
        let lent = of.from.iter().map(|one| {
            let queue = one.queue.as_ref().map_or("rest", |name| name.as_str());
            format!(", {} from {queue}", gpus(one.amount))
        });
        let (quota, due, waits) = (maybe(of.quota), maybe(of.share), gpus(of.waiting));
        let (name, held) =
            (format!("{}{}", "  ".repeat(view.depth as usize), view.queue), gpus(of.held));
        let lent: String = lent.collect();
        Some(format!("{name:10} owed {quota} due {due} holds {held} waits for {waits}{lent}"))
    };
    queues.iter().filter_map(line).collect()
}

/// All jobs, including those that have ended.
fn queue(cluster: &Cluster) -> Vec<String> {
    let query = JobQuery { all: true, ..JobQuery::default() };
    let jobs = view::job_list(cluster.state(), &Viewer::ALL, &query, cluster.waits()).jobs;
    jobs.iter().map(job).collect()
}

fn job(job: &JobView) -> String {
    let place = match (&job.reason, &job.allocation) {
        (Some(reason), _) => format!("({}) {}", reason.code, reason.sentence),
        (None, Some(allocation)) => {
            hostlist::compress(allocation.shares().iter().map(|share| &share.node))
        }
        (None, None) => String::new(),
    };
    format!("{:5} {:10} {:2} {place}", job.key, job.ask.name, job.state_code)
}

fn nodes(cluster: &Cluster) -> Vec<String> {
    view::node_list(cluster.state(), &Viewer::ALL).nodes.iter().map(node).collect()
}

fn node(node: &NodeView) -> String {
    let (cpus, gpus) = (node.inventory.cpu_count(), node.inventory.gpu_count());
    let drain = node.drain.as_ref().map(|d| format!(" ({})", d.reason)).unwrap_or_default();
    format!(
        "{:5} {:9} cpus {}/{cpus} gpus {}/{gpus}{drain}",
        node.name,
        node.status.word(),
        node.cpus_used,
        node.gpus_used
    )
}

/// All services with their replicas.
fn services(cluster: &Cluster) -> Vec<String> {
    let state = cluster.state();
    let waits = cluster.waits();
    let view = |service: &Service| {
        let names = Names {
            user: &|uid| uid.to_string(),
            waits_for: &|key| waits.get(&key).map(|wait| wait.reason.to_string()),
            scaled_by: &|role| Some(cluster.autoscaler().reason(&service.name, role)?.to_string()),
        };
        service_view(state, service, cluster.readiness(), &names, false)
    };
    state.services().map(view).flat_map(|service| service_lines(&service)).collect()
}

fn service_lines(service: &ServiceView) -> Vec<String> {
    let ServiceView { name, revision, .. } = service;
    let mut lines = vec![format!("{name} {} revision {revision}", service.state.word())];
    for role in &service.roles {
        let RoleView { name, wanted, ready, .. } = role;
        let by = role.autoscale.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        lines.push(format!("  {name} {ready} of {wanted} ready{by}"));
        lines.extend(role.replicas.iter().map(|replica| replica_line(name, replica)));
    }
    lines
}

fn replica_line(role: &RoleName, replica: &ReplicaView) -> String {
    let ReplicaView { ordinal, revision, job, phase, .. } = replica;
    let health = replica.health.map(|health| format!(", {}", health.word()));
    let node = replica.node.as_ref().map(|node| format!(" on {node}"));
    let why = replica.why.as_ref().map(|why| format!(" ({why})"));
    let rest: String = [health, node, why].into_iter().flatten().collect();
    format!("    {role}.{ordinal} revision {revision} job {job} {phase}{rest}")
}

pub(super) fn show(cluster: &Cluster, key: JobKey) -> Vec<String> {
    let mut lines = Vec::new();
    let detail = view::job_detail(cluster.state(), &Viewer::ALL, key, cluster.waits());
    for job in detail.into_iter().flat_map(|list| list.jobs) {
        lines.push(format!("{} {} {}", job.key, job.ask.name, job.state));
        let timeline =
            job.timeline.iter().map(|line| format!("  {} {}", Span(line.at.0), line.text));
        lines.extend(timeline);
        lines.extend(job.message.map(|message| format!("  {message}")));
    }
    lines
}

/// Why a job is in its state, as kantctl prints it.
pub(super) fn explain(cluster: &mut Cluster, key: JobKey) -> Vec<String> {
    let now = cluster.now();
    let snapshot = cluster.snapshot().clone();
    let explained =
        view::explain(cluster.state(), &Viewer::ALL, key, cluster.waits(), &snapshot, now);
    let Some(explained) = explained else {
        return vec![format!("there is no job {key}")];
    };
    let advice = explained.advice.map(|advice| format!("What to do: {advice}"));
    explained.lines.into_iter().chain(advice).collect()
}

/// Which jobs would have to move for it, as kantctl prints it.
pub(super) fn solve(cluster: &mut Cluster, key: JobKey, trials: u64) -> Vec<String> {
    let now = cluster.now();
    let snapshot = cluster.snapshot().clone();
    let effort = Effort { trials, is_stopped: &|| false };
    let Some(solved) = view::solve(cluster.state(), &snapshot, key, now, &effort) else {
        return vec![format!("job {key} does not wait")];
    };
    let advice = solved.advice.map(|advice| format!("What to do: {advice}"));
    solved.lines.into_iter().chain(advice).collect()
}
