//! What somebody whose job waits can do about it: a command, or a choice that is theirs. Never a
//! command that would not help.

use super::waiting::Waiting;
use super::{length, outage};
use common::hostlist;
use common::id::{NodeName, ReservationName};
use common::job::Ask;
use common::reason::{Bound, Counted, Nearest, Need, QuotaBound, WaitReason, What};
use common::time::{Span, Time};
use std::collections::BTreeSet;

/// Of a job that no round has looked at.
const LATER: &str = "ask again in a few seconds; if nothing changes, `kantctl status` says how the \
                     controller is";

/// What to do.
pub(super) fn advice(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let key = waiting.job.key;
    if let Some(deadline) = waiting.will_miss() {
        return deadline_advice(waiting, deadline);
    }
    let again = |how: &str| format!("`kantctl cancel {key}`, and submit it again {how}");
    match reason {
        WaitReason::NotConsidered => LATER.to_owned(),
        WaitReason::Held => held(waiting),
        WaitReason::BeginTime { .. } => {
            format!(
                "nothing: it waits for its time; to start it sooner, {}",
                again("without --begin")
            )
        }
        WaitReason::BackOff { .. } => {
            format!("nothing: it is tried again; `kantctl show {key}` says what went wrong")
        }
        WaitReason::QueueGone { .. } => again("to a queue that `kantctl queues` shows"),
        WaitReason::Component { key: other } => format!(
            "`kantctl explain {other}` says what that one waits for; if it is held, `kantctl \
             release {other}`"
        ),
        WaitReason::ArrayLimit { .. } => array(waiting),
        WaitReason::QuotaExceeded { .. } => quota(waiting, reason),
        WaitReason::LimitReached { bound, counted } => {
            limit(waiting, bound, counted, reason.is_for_ever())
        }
        WaitReason::DeadlineTooNear { deadline } => deadline_advice(waiting, *deadline),
        WaitReason::ReservationClosed { from, .. } => match from {
            Some(_) => format!(
                "nothing: it waits for its reservation; to start it sooner, {}",
                again("without --reservation")
            ),
            None => again("without --reservation, or in one that `kantctl reservations` shows"),
        },
        WaitReason::NodesReserved { name, from, .. } => reserved(waiting, name, *from),
        WaitReason::Topology { .. } => format!(
            "wait, or let it run on nodes further apart: `kantctl explain {key} --what-if \
             'near=none'` says whether it would start now"
        ),
        WaitReason::Preempting { .. } => {
            format!("nothing: it starts as soon as {}", cleaned_up(waiting))
        }
        WaitReason::BehindHead { head } => format!(
            "wait for job {head} (`kantctl explain {head}`), or submit it to another queue \
             (`kantctl queues`)"
        ),
        WaitReason::Priority { next, .. } => behind(waiting, *next),
        WaitReason::Resources { need, nearest, nodes_free, .. } => {
            room(waiting, need, nearest.as_ref(), nodes_free.0)
        }
        WaitReason::NodesUnavailable { need, .. } => outage::advice(waiting, need),
        WaitReason::NeverFits { .. } => {
            format!(
                "`kantctl nodes` shows what there is; {}",
                again("for less, or for other nodes")
            )
        }
    }
}

/// Somebody holds it: who can let it go, and whether that would help.
fn held(waiting: &Waiting<'_>) -> String {
    let key = waiting.job.key;
    if waiting.never_fits().is_some() {
        return format!(
            "`kantctl nodes` shows what there is; `kantctl cancel {key}`, and submit it again for \
             less, or for other nodes, or keep it until there is such a node"
        );
    }
    match waiting.is_held_by_operator() {
        true => format!("ask an operator to release it (`kantctl release {key}`)"),
        false => format!("`kantctl release {key}`"),
    }
}

/// As many tasks of its array run as may.
fn array(waiting: &Waiting<'_>) -> String {
    format!(
        "nothing: the next task starts when one is over; to run more at once, `kantctl cancel {}`, \
         and submit the rest again with a larger number behind the % of --array",
        waiting.job.key.job
    )
}

/// A bound that a job ran into.
struct Bounded<'a> {
    waiting: &'a Waiting<'a>,
    counted: &'a Counted,
    /// No end of other jobs helps.
    is_for_ever: bool,
    /// It is what others leave, not what jobs of its own have.
    is_lent: bool,
    /// Whose it is.
    of: String,
    /// What shows who uses it up.
    look: String,
    /// Where it would not hold.
    other: &'a str,
}

impl Bounded<'_> {
    /// Who asks for more than the bound allows waits for ever; others wait for jobs to end.
    fn advice(&self) -> String {
        let (key, counted, other) = (self.waiting.job.key, self.counted, self.other);
        if self.is_for_ever {
            let how = match counted.what {
                What::GpuMinutes => "with a shorter --time or for fewer GPUs",
                _ => "for less",
            };
            return format!(
                "it waits for ever, unless an operator raises what {} may have: `kantctl cancel \
                 {key}`, and submit it again {how}, or {other}",
                self.of
            );
        }
        let left = counted.limit.saturating_sub(counted.used) / 1000;
        let less = match counted.what {
            What::Gpus if left > 0 && u64::from(self.waiting.job.gpus.0) > left => {
                format!(
                    ", or, if a smaller job does, ask for less (`kantctl explain {key} --what-if \
                     'gpus={left}'`)"
                )
            }
            _ => String::new(),
        };
        let until = if self.is_lent { "others use less" } else { "some of those jobs end" };
        format!("wait until {until} ({}){less}, or submit it {other}", self.look)
    }
}

fn quota(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let WaitReason::QuotaExceeded { queue, bound, counted } = reason else { return String::new() };
    let is_lent = matches!(bound, QuotaBound::Lent { .. });
    let look = match is_lent {
        true => "`kantctl queues` shows who has what".to_owned(),
        false => format!("`kantctl queue --queue={queue}`"),
    };
    Bounded {
        waiting,
        counted,
        is_for_ever: reason.is_for_ever(),
        is_lent,
        of: format!("queue {queue}"),
        look,
        other: "to another queue (`kantctl queues`)",
    }
    .advice()
}

fn limit(waiting: &Waiting<'_>, bound: &Bound, counted: &Counted, is_for_ever: bool) -> String {
    let user = &waiting.job.owner.name;
    let look = match bound {
        Bound::Queue(queue) | Bound::AccountInQueue(_, queue) => {
            format!("`kantctl queue --queue={queue}`")
        }
        Bound::UserInQueue(_, queue) => format!("`kantctl queue --user={user} --queue={queue}`"),
        Bound::UserInQos(..) | Bound::UserInAccount(..) => format!("`kantctl queue --user={user}`"),
        Bound::Qos(_) | Bound::Account(_) => "`kantctl queue`".to_owned(),
    };
    let other = match bound {
        Bound::Queue(_) | Bound::UserInQueue(..) => "to another queue (`kantctl queues`)",
        Bound::Qos(_) | Bound::UserInQos(..) => "with another --qos, or none",
        _ => "with another --account",
    };
    let (of, is_lent) = (bound.to_string(), false);
    Bounded { waiting, counted, is_for_ever, is_lent, of, look, other }.advice()
}

/// What is left until the deadline, counted from when there is room.
fn deadline_advice(waiting: &Waiting<'_>, deadline: Time) -> String {
    let key = waiting.job.key;
    let left = waiting.without_deadline().map(|starts| deadline.since(starts));
    let shorter = left.and_then(length::limit_within);
    let shorter = shorter.map(|limit| format!("--time={limit} or less, or with "));
    format!(
        "it cannot be over in time and will end unstarted (state DEADLINE): `kantctl cancel \
         {key}`, and submit it again with {}a later --deadline",
        shorter.unwrap_or_default()
    )
}

/// Nodes are kept for a reservation, or held by one that has begun.
fn reserved(waiting: &Waiting<'_>, name: &ReservationName, from: Time) -> String {
    let key = waiting.job.key;
    if from > waiting.now {
        return match length::limit_within(from.since(waiting.now)) {
            Some(limit) => format!(
                "wait until it is over, or ask for a time limit that ends before it: `kantctl \
                 explain {key} --what-if 'time={limit}'` says whether it would start now"
            ),
            None => "nothing: it begins in a moment; wait until it is over".to_owned(),
        };
    }
    match waiting.state.reservation(name) {
        Some(reservation) if !reservation.maintenance => format!(
            "wait until it is over, or, if you may use it (`kantctl reservations`), `kantctl \
             cancel {key}`, and submit it again with --reservation={name}"
        ),
        _ => "nothing: wait until it is over".to_owned(),
    }
}

/// Which nodes have to be done with the jobs that make way for it.
fn cleaned_up(waiting: &Waiting<'_>) -> String {
    let key = Some(waiting.job.key);
    let victims = waiting.snapshot.all_running().filter(|job| job.yields_to == key);
    let names: BTreeSet<&NodeName> =
        victims.flat_map(|job| job.allocation.shares().iter().map(|share| &share.node)).collect();
    match names.len() {
        0 => "their nodes have cleaned up".to_owned(),
        1 => format!("{} has cleaned up after that", hostlist::fold(names)),
        _ => format!("{} have cleaned up after that", hostlist::fold(names)),
    }
}

/// Something is kept for another job: what is over in time may pass.
fn behind(waiting: &Waiting<'_>, next: common::id::JobKey) -> String {
    let key = waiting.job.key;
    let starts = engine::forecast(waiting.snapshot, waiting.now, next);
    let gap: Option<Span> = starts.expected_at.map(|at| at.since(waiting.now));
    let limit = gap.and_then(length::limit_within);
    match limit {
        Some(limit) if is_shorter(&waiting.job.ask, gap) => format!(
            "wait, or ask for a time limit that ends before job {next} starts: `kantctl explain \
             {key} --what-if 'time={limit}'` says whether it would start now"
        ),
        _ => format!("wait for job {next}: `kantctl explain {next}` tells what for"),
    }
}

fn is_shorter(ask: &Ask, gap: Option<Span>) -> bool {
    ask.time_limit.is_none_or(|limit| gap.is_some_and(|gap| gap < limit))
}

/// Too little is free: less might fit.
fn room(waiting: &Waiting<'_>, need: &Need, nearest: Option<&Nearest>, nodes_free: u32) -> String {
    let key = waiting.job.key;
    let smaller = match nearest {
        Some(near) if need.nodes.0 == 1 && need.gpus > near.gpus && near.gpus.0 > 0 => {
            Some(format!("gpus={}", near.gpus))
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
    match smaller {
        Some(change) => format!(
            "wait, or, if a smaller job does, ask for less: `kantctl explain {key} --what-if \
             '{change}'` says whether that would start now"
        ),
        None => "wait; `kantctl queue` shows the jobs that run now, `kantctl nodes` what is free"
            .to_owned(),
    }
}
