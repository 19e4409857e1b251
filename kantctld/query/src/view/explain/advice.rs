//! Advice for the user of a waiting job: a command that helps, or a choice that the user has.

use super::waiting::Waiting;
use super::{awaited, bounded, change, deadline, held, length, less, outage, shared};
use common::hostlist;
use common::id::{NodeName, ReservationName};
use common::job::Ask;
use common::policy::Order;
use common::reason::{Nearest, Need, WaitReason};
use common::time::{Span, Time};
use engine::RunningJob;
use std::collections::BTreeSet;
use std::sync::Arc;

/// For a job that no round has considered.
const LATER: &str = "ask again in a few seconds; if nothing changes, `kantctl status` says how the \
                     controller is";

pub(super) fn advice(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let key = waiting.job.key;
    if let Some(deadline) = waiting.deadline_likely_missed() {
        return deadline::may_miss_advice(waiting, deadline);
    }
    let again = |how: &str| format!("`kantctl cancel {key}`, and submit it again {how}");
    match reason {
        WaitReason::NotConsidered | WaitReason::Unrecognized => LATER.to_owned(),
        WaitReason::Held => held::held_advice(waiting),
        WaitReason::Dependency { open, .. } => awaited::open_dependency_advice(waiting, open),
        WaitReason::DependencyNever { failed, .. } => awaited::never_met_advice(waiting, failed),
        WaitReason::BeginTime { .. } => {
            format!(
                "nothing: it waits for its time; to start it sooner, {}",
                change::change_options_advice(waiting, "--begin=none")
            )
        }
        WaitReason::BackOff { .. } => {
            format!("nothing: it is tried again; `kantctl show {key}` says what went wrong")
        }
        WaitReason::QueueGone { .. } => {
            let other = change::move_queue_advice(waiting);
            other.unwrap_or_else(|| again("to a queue that `kantctl queues` shows"))
        }
        WaitReason::Component { key: other } => format!(
            "`kantctl explain {other}` says what that one waits for; if it is held, `kantctl \
             release {other}`"
        ),
        WaitReason::ArrayLimit { .. } => array_limit_advice(waiting),
        WaitReason::QuotaExceeded { .. } => bounded::quota_advice(waiting, reason),
        WaitReason::LimitReached { bound, counted } => {
            bounded::limit_advice(waiting, bound, counted, reason.is_for_ever())
        }
        WaitReason::DeadlineTooNear { deadline } => deadline::too_late_advice(waiting, *deadline),
        WaitReason::ReservationClosed { from, .. } => closed_advice(waiting, from.is_some()),
        WaitReason::NodesReserved { name, from, .. } => reserved_advice(waiting, name, *from),
        WaitReason::Topology { .. } => format!(
            "wait, or let it run on nodes further apart: {}; `kantctl explain {key} --what-if \
             'near=none'` says whether it would start then",
            change::change_options_advice(waiting, "--near=none")
        ),
        WaitReason::GroupPerNode { .. } => group_per_node_advice(waiting),
        WaitReason::Preempting { .. } => making_room_advice(waiting),
        // No job has this reason in the state: it is made for readers.
        WaitReason::PrivateJobs => "wait for them".to_owned(),
        WaitReason::BehindHead { head } => {
            let other = change::move_queue_advice(waiting).map(|other| format!(", or {other}"));
            let other = other.unwrap_or_default();
            format!("wait for job {head} (`kantctl explain {head}`){other}")
        }
        WaitReason::Priority { next, .. } => kept_nodes_advice(waiting, *next),
        WaitReason::Resources { need, nearest, nodes_free, .. } => {
            lack_of_room_advice(waiting, need, nearest.as_deref(), nodes_free.0)
        }
        WaitReason::NodesUnavailable { need, .. } => outage::advice(waiting, need),
        WaitReason::NeverFits { .. } => {
            format!(
                "{}; or `kantctl cancel {key}`, or keep it until there is such a node",
                held::smaller_request_advice(waiting, reason)
            )
        }
        WaitReason::NoNodes => "wait, or ask an operator whether kantd runs on the nodes \
                                (`kantctl nodes`)"
            .to_owned(),
        WaitReason::NeverNear { .. } => format!(
            "let it run on nodes further apart: {}, or ask for fewer",
            change::change_options_advice(waiting, "--near=none")
        ),
    }
}

/// For a job that waits for a node with fewer jobs of its group.
fn group_per_node_advice(waiting: &Waiting<'_>) -> String {
    let key = waiting.job.key;
    match waiting.job.ask.replica {
        Some(_) => "wait for more nodes, or deploy the service with a higher \
                    `spread_max_per_node`, or with `spread` instead"
            .to_owned(),
        None => format!(
            "wait, or `kantctl cancel {key}`, and submit it again with a higher --max-per-node"
        ),
    }
}

/// For an array that runs as many tasks as its limit allows.
fn array_limit_advice(waiting: &Waiting<'_>) -> String {
    let job = waiting.job.key.job;
    let limit = waiting.job.ask.array.as_ref().and_then(common::job::ArraySpec::limit);
    let more = limit.unwrap_or(1).saturating_mul(2);
    format!(
        "nothing: the next task starts when one is over; to run more at once, \
         `kantctl update {job} --array-limit={more}` (or another number)"
    )
}

/// For a job whose reservation has not begun (`comes`), or has ended.
fn closed_advice(waiting: &Waiting<'_>, comes: bool) -> String {
    let without = change::change_options_advice(waiting, "--reservation=none");
    match comes {
        true => format!("nothing: it waits for its reservation; to start it sooner, {without}"),
        false => format!("{without}, or with one that `kantctl reservations` shows"),
    }
}

/// For a job whose nodes are kept for a reservation or belong to one that has begun.
fn reserved_advice(waiting: &Waiting<'_>, name: &ReservationName, from: Time) -> String {
    let key = waiting.job.key;
    if from > waiting.now {
        return match length::limit_within(from.since(waiting.now)) {
            Some(limit) => format!(
                "wait until it is over, or, if that is time enough for the job (it is ended at its \
                 time limit), let it end before: {}; `kantctl explain {key} --what-if \
                 'time={limit}'` says whether it would start then",
                change::change_options_advice(waiting, &format!("--time={limit}"))
            ),
            None => "nothing: it begins in a moment; wait until it is over".to_owned(),
        };
    }
    match waiting.state.reservation(name) {
        Some(reservation) if !reservation.maintenance => format!(
            "wait until it is over, or, if you may use it (`kantctl reservations`), {}",
            change::change_options_advice(waiting, &format!("--reservation={name}"))
        ),
        _ => "nothing: wait until it is over".to_owned(),
    }
}

/// For a job that other jobs are making room for.
fn making_room_advice(waiting: &Waiting<'_>) -> String {
    let grace = waiting.state.settings().map(|settings| settings.kill_grace).unwrap_or_default();
    let (clean, grace) = (nodes_still_releasing(waiting), length::in_words(grace));
    format!("nothing: it starts as soon as {clean}; what runs there has {grace} to stop")
}

/// The nodes that still have to release the jobs that make room.
fn nodes_still_releasing(waiting: &Waiting<'_>) -> String {
    let key = Some(waiting.job.key);
    let victims = waiting.snapshot.all_running().filter(|job| job.yields_to == key);
    // A job that is only shrunk leaves only its last nodes.
    let leaves = |job: &'_ Arc<RunningJob>| -> Vec<NodeName> {
        let all = if job.ending { job.allocation.shares() } else { job.given_up_shares() };
        all.iter().map(|share| share.node.clone()).collect()
    };
    let names: BTreeSet<NodeName> = victims.flat_map(leaves).collect();
    match names.len() {
        0 => "their nodes have cleaned up".to_owned(),
        1 => format!("{} has cleaned up after that", hostlist::compress(&names)),
        _ => format!("{} have cleaned up after that", hostlist::compress(&names)),
    }
}

/// For a job behind one that nodes are kept for. It may start earlier if it ends in time.
fn kept_nodes_advice(waiting: &Waiting<'_>, next: common::id::JobKey) -> String {
    let key = waiting.job.key;
    let starts = engine::forecast(waiting.snapshot, waiting.now, next);
    let gap: Option<Span> = starts.expected_at.map(|at| at.since(waiting.now));
    let limit = gap.and_then(length::limit_within);
    match limit {
        Some(limit) if is_shorter(&waiting.job.ask, gap) => format!(
            "wait, or, if that is time enough for it (it is ended at its time limit), let it end \
             before job {next} starts: {}; `kantctl explain {key} --what-if 'time={limit}'` says \
             whether it would start then",
            change::change_options_advice(waiting, &format!("--time={limit}"))
        ),
        _ => format!("wait for job {next}: `kantctl explain {next}` says what it waits for"),
    }
}

fn is_shorter(ask: &Ask, gap: Option<Span>) -> bool {
    ask.time_limit.is_none_or(|limit| gap.is_some_and(|gap| gap < limit))
}

/// For a job that lacks free resources. A smaller one might fit.
fn lack_of_room_advice(
    waiting: &Waiting<'_>,
    need: &Need,
    nearest: Option<&Nearest>,
    nodes_free: u32,
) -> String {
    let key = waiting.job.key;
    let smaller = match nearest {
        Some(near) if need.nodes.0 == 1 && need.gpus > near.gpus => {
            less::fewer_gpus(need, near).map(|gpus| format!("gpus={gpus}"))
        }
        Some(near) if need.nodes.0 == 1 && need.gpus <= near.gpus && need.cpus > near.cpus => {
            let tasks = waiting.job.ask.request.tasks.0.max(1);
            Some(near.cpus.0 / tasks).filter(|cpus| *cpus > 0).map(|cpus| format!("cpus={cpus}"))
        }
        _ if need.nodes.0 > 1 && nodes_free > 0 && nodes_free < need.nodes.0 => {
            Some(format!("nodes={nodes_free}"))
        }
        _ => None,
    };
    let multifactor = waiting.job.ask.queue.as_ref().and_then(|name| waiting.state.queue(name));
    let order = match multifactor.is_some_and(|queue| queue.order == Order::Multifactor) {
        _ if shared::is_fair(waiting.state) => ", `kantctl share` the share of each queue",
        true => ", `kantctl priority` the priority of each job",
        false => "",
    };
    match smaller {
        Some(smaller) => format!(
            "wait, or, if a smaller job is enough, ask for less: {}; `kantctl explain {key} \
             --what-if '{smaller}'` says whether that would start then",
            change::change_options_advice(
                waiting,
                &format!("--{}", smaller.replace("cpus=", "cpus-per-task="))
            )
        ),
        None => format!(
            "wait; `kantctl queue` shows the jobs that run now, `kantctl nodes` what is free{order}"
        ),
    }
}
