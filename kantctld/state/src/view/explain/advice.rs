//! What somebody whose job waits can do about it: a command, or a choice that is theirs. Never a
//! command that would not help.

use super::length;
use super::waiting::Waiting;
use common::job::Ask;
use common::node::Contact;
use common::reason::{Bound, Counted, Nearest, Need, WaitReason, What};
use common::time::{Span, Time};

/// What to do.
pub(super) fn advice(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let key = waiting.job.key;
    if let Some(deadline) = waiting.will_miss() {
        return deadline_advice(waiting, deadline);
    }
    let again = |how: &str| format!("`kantctl cancel {key}`, and submit it again {how}");
    match reason {
        WaitReason::NotConsidered => {
            "ask again in a few seconds; if nothing changes, `kantctl status` says how the \
             controller is"
                .to_owned()
        }
        WaitReason::Held if waiting.never_fits().is_some() => format!(
            "`kantctl nodes` shows what there is; {}, or keep it until there is such a node",
            again("for less, or for other nodes")
        ),
        WaitReason::Held => format!("kantctl release {key}"),
        WaitReason::BeginTime { .. } => {
            format!("nothing; to start it sooner, {}", again("without --begin"))
        }
        WaitReason::BackOff { .. } => {
            format!("nothing, it is tried again; `kantctl show {key}` says what went wrong")
        }
        WaitReason::QueueGone { .. } => again("to a queue that `kantctl queues` shows"),
        WaitReason::Component { key: other } => format!(
            "`kantctl explain {other}` says what that one waits for; if it is held, `kantctl release \
             {other}`"
        ),
        WaitReason::ArrayLimit { .. } => {
            "nothing, the next task starts when one is over; a larger number behind the % of \
             --array lets more run at once"
                .to_owned()
        }
        WaitReason::QuotaExceeded { queue, counted, .. } => Bounded {
            waiting,
            counted,
            of: format!("queue {queue}"),
            look: format!("`kantctl queue --queue={queue}`"),
            other: "to another queue (`kantctl queues`)",
        }
        .advice(),
        WaitReason::LimitReached { bound, counted } => limit(waiting, bound, counted),
        WaitReason::DeadlineTooNear { deadline } => deadline_advice(waiting, *deadline),
        WaitReason::ReservationClosed { from, .. } => match from {
            Some(_) => format!("nothing; to start it sooner, {}", again("without --reservation")),
            None => again("without --reservation, or in one that `kantctl reservations` shows"),
        },
        WaitReason::NodesReserved { from, .. } => before_reservation(waiting, *from),
        WaitReason::Topology { .. } => format!(
            "wait, or let it run on nodes further apart: `kantctl explain {key} --what-if \
             'near=none'` says whether it would start now"
        ),
        WaitReason::Preempting { .. } => {
            "nothing; it starts as soon as those nodes have cleaned up".to_owned()
        }
        WaitReason::BehindHead { head } => format!(
            "wait for job {head} (`kantctl explain {head}`), or submit it to another queue \
             (`kantctl queues`)"
        ),
        WaitReason::Priority { next, .. } => behind(waiting, *next),
        WaitReason::Resources { need, nearest, nodes_free, .. } => {
            room(waiting, need, nearest.as_ref(), nodes_free.0)
        }
        WaitReason::NodesUnavailable { example, .. } => unavailable(waiting, example),
        WaitReason::NeverFits { .. } => {
            format!(
                "`kantctl nodes` shows what there is; {}",
                again("for less, or for other nodes")
            )
        }
    }
}

/// A bound that a job ran into.
struct Bounded<'a> {
    waiting: &'a Waiting<'a>,
    counted: &'a Counted,
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
        if counted.asked > counted.limit {
            let how = match counted.what {
                What::GpuMinutes => "with a shorter --time or for fewer GPUs",
                _ => "for less",
            };
            return format!(
                "it alone asks for more than {} may ever have, and would wait for ever: `kantctl \
                 cancel {key}`, and submit it {how}, or {other}",
                self.of
            );
        }
        let left = counted.limit.saturating_sub(counted.used) / 1000;
        let less = match counted.what {
            What::Gpus if left > 0 && u64::from(self.waiting.job.gpus.0) > left => {
                format!(", ask for less (`kantctl explain {key} --what-if 'gpus={left}'`)")
            }
            _ => String::new(),
        };
        format!("wait until some of those jobs end ({}){less}, or submit it {other}", self.look)
    }
}

fn limit(waiting: &Waiting<'_>, bound: &Bound, counted: &Counted) -> String {
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
    Bounded { waiting, counted, of: bound.to_string(), look, other }.advice()
}

/// What is left until the deadline, counted from when there is room.
fn deadline_advice(waiting: &Waiting<'_>, deadline: Time) -> String {
    let key = waiting.job.key;
    let left = waiting.without_deadline().map(|starts| deadline.since(starts));
    let shorter = left.and_then(length::limit_within);
    let shorter = shorter.map(|limit| format!("--time={limit} or less, or with "));
    format!(
        "its deadline ends it as DeadlineMissed: `kantctl cancel {key}`, and submit it with {}a \
         later --deadline",
        shorter.unwrap_or_default()
    )
}

fn before_reservation(waiting: &Waiting<'_>, from: Time) -> String {
    let key = waiting.job.key;
    let left = from.since(waiting.now);
    match length::limit_within(left) {
        Some(limit) => format!(
            "wait until it is over, or ask for a time limit that ends before it: `kantctl explain \
             {key} --what-if 'time={limit}'` says whether it would start now"
        ),
        None => "wait until it is over; `kantctl reservations` shows who may use it".to_owned(),
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
            "wait, or ask for less: `kantctl explain {key} --what-if '{change}'` says whether it \
             would start now"
        ),
        None => "wait; `kantctl queue` shows the jobs that run now, `kantctl nodes` what is free"
            .to_owned(),
    }
}

/// Only an operator can help, and not each outage in the same way.
fn unavailable(waiting: &Waiting<'_>, name: &common::id::NodeName) -> String {
    let Some(node) = waiting.state.node(name) else {
        return "`kantctl nodes` shows which are down or drained; ask an operator".to_owned();
    };
    match (node.contact, &node.drain) {
        (Contact::Silent { .. } | Contact::Lost { .. }, _) => format!(
            "`kantctl nodes` shows which are down; ask an operator, who sees to it that {name} is \
             up and that `systemctl status kantd` there is well"
        ),
        (Contact::Connected, Some(drain)) => format!(
            "ask an operator: {name} is drained ({}), and `kantctl resume {name}` lets jobs start \
             there again",
            drain.reason
        ),
        (Contact::Connected, None) => {
            "nothing: the node is back, and the next look at it comes soon".to_owned()
        }
    }
}
