//! What somebody whose job waits can do about it: a command, or a choice that is theirs. Never a
//! command that would not help.

use super::waiting::Waiting;
use super::{change, deadline, held, length, outage};
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
        return deadline::may_miss(waiting, deadline);
    }
    let again = |how: &str| format!("`kantctl cancel {key}`, and submit it again {how}");
    match reason {
        WaitReason::NotConsidered => LATER.to_owned(),
        WaitReason::Held => held::held(waiting),
        WaitReason::BeginTime { .. } => {
            format!(
                "nothing: it waits for its time; to start it sooner, {}",
                change::to(waiting, "--begin=none")
            )
        }
        WaitReason::BackOff { .. } => {
            format!("nothing: it is tried again; `kantctl show {key}` says what went wrong")
        }
        WaitReason::QueueGone { .. } => {
            let other = change::of_queue(waiting);
            other.unwrap_or_else(|| again("to a queue that `kantctl queues` shows"))
        }
        WaitReason::Component { key: other } => format!(
            "`kantctl explain {other}` says what that one waits for; if it is held, `kantctl \
             release {other}`"
        ),
        WaitReason::ArrayLimit { .. } => array(waiting),
        WaitReason::QuotaExceeded { .. } => quota(waiting, reason),
        WaitReason::LimitReached { bound, counted } => {
            limit(waiting, bound, counted, reason.is_for_ever())
        }
        WaitReason::DeadlineTooNear { deadline } => deadline::too_late(waiting, *deadline),
        WaitReason::ReservationClosed { from, .. } => match from {
            Some(_) => format!(
                "nothing: it waits for its reservation; to start it sooner, {}",
                change::to(waiting, "--reservation=none")
            ),
            None => format!(
                "{}, or with one that `kantctl reservations` shows",
                change::to(waiting, "--reservation=none")
            ),
        },
        WaitReason::NodesReserved { name, from, .. } => reserved(waiting, name, *from),
        WaitReason::Topology { .. } => format!(
            "wait, or let it run on nodes further apart: {}; `kantctl explain {key} --what-if \
             'near=none'` tells whether it would start then",
            change::to(waiting, "--near=none")
        ),
        WaitReason::Preempting { .. } => {
            format!("nothing: it starts as soon as {}", cleaned_up(waiting))
        }
        WaitReason::BehindHead { head } => {
            let other = change::of_queue(waiting).map(|other| format!(", or {other}"));
            let other = other.unwrap_or_default();
            format!("wait for job {head} (`kantctl explain {head}`){other}")
        }
        WaitReason::Priority { next, .. } => behind(waiting, *next),
        WaitReason::Resources { need, nearest, nodes_free, .. } => {
            room(waiting, need, nearest.as_ref(), nodes_free.0)
        }
        WaitReason::NodesUnavailable { need, .. } => outage::advice(waiting, need),
        WaitReason::NeverFits { .. } => {
            format!("{}, or keep it until there is such a node", held::for_less(waiting))
        }
        WaitReason::NeverNear { .. } => format!(
            "let it run on nodes further apart: {}, or ask for fewer",
            change::to(waiting, "--near=none")
        ),
    }
}

/// As many tasks of its array run as may.
fn array(waiting: &Waiting<'_>) -> String {
    let job = waiting.job.key.job;
    let limit = waiting.job.ask.array.as_ref().and_then(common::job::ArraySpec::limit);
    let more = limit.unwrap_or(1).saturating_mul(2);
    format!(
        "nothing: the next task starts when one is over; to run more at once, \
         `kantctl update {job} --array-limit={more}` (or another number)"
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
    /// How it gets to where that does not hold, as what follows an "or".
    other: Option<String>,
}

impl Bounded<'_> {
    /// Who asks for more than the bound allows waits for ever; others wait for jobs to end.
    fn advice(&self) -> String {
        let (key, counted) = (self.waiting.job.key, self.counted);
        let other = self.other.as_ref().map(|other| format!(", or {other}")).unwrap_or_default();
        if self.is_for_ever {
            let how = match counted.what {
                What::GpuMinutes => "with a shorter --time or for fewer GPUs",
                _ => "for less",
            };
            return format!(
                "it waits for ever, unless an operator raises what {} may have: `kantctl cancel \
                 {key}`, and submit it again {how}{other}",
                self.of
            );
        }
        let left = counted.limit.saturating_sub(counted.used) / 1000;
        let less = match counted.what {
            What::Gpus if left > 0 && u64::from(self.waiting.job.gpus.0) > left => {
                format!(
                    ", or, if a smaller job does, ask for less ({})",
                    change::to(self.waiting, &format!("--gpus={left}"))
                )
            }
            _ => String::new(),
        };
        let until = if self.is_lent { "others use less" } else { "some of those jobs end" };
        format!("wait until {until} ({}){less}{other}", self.look)
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
        other: change::of_queue(waiting),
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
        Bound::Queue(_) | Bound::UserInQueue(..) => change::of_queue(waiting),
        Bound::Qos(_) | Bound::UserInQos(..) => {
            Some(format!("give it another QoS, or none: {}", change::to(waiting, "--qos=none")))
        }
        _ => {
            let key = waiting.job.key;
            Some(format!("`kantctl cancel {key}`, and submit it again with another --account"))
        }
    };
    let (of, is_lent) = (bound.to_string(), false);
    Bounded { waiting, counted, is_for_ever, is_lent, of, look, other }.advice()
}

/// Nodes are kept for a reservation, or held by one that has begun.
fn reserved(waiting: &Waiting<'_>, name: &ReservationName, from: Time) -> String {
    let key = waiting.job.key;
    if from > waiting.now {
        return match length::limit_within(from.since(waiting.now)) {
            Some(limit) => format!(
                "wait until it is over, or ask for a time limit that ends before it: {}; `kantctl \
                 explain {key} --what-if 'time={limit}'` tells whether it would start then",
                change::to(waiting, &format!("--time={limit}"))
            ),
            None => "nothing: it begins in a moment; wait until it is over".to_owned(),
        };
    }
    match waiting.state.reservation(name) {
        Some(reservation) if !reservation.maintenance => format!(
            "wait until it is over, or, if you may use it (`kantctl reservations`), {}",
            change::to(waiting, &format!("--reservation={name}"))
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
            "wait, or ask for a time limit that ends before job {next} starts: {}; `kantctl \
             explain {key} --what-if 'time={limit}'` tells whether it would start then",
            change::to(waiting, &format!("--time={limit}"))
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
        Some(smaller) => format!(
            "wait, or, if a smaller job does, ask for less: {}; `kantctl explain {key} --what-if \
             '{smaller}'` tells whether that would start then",
            change::to(waiting, &format!("--{}", smaller.replace("cpus=", "cpus-per-task=")))
        ),
        None => "wait; `kantctl queue` shows the jobs that run now, `kantctl nodes` what is free"
            .to_owned(),
    }
}
