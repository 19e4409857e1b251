//! Advice for a job that a quota or a limit keeps from starting.

use super::change;
use super::waiting::Waiting;
use common::reason::{Bound, Counted, QuotaBound, WaitReason, What};
use common::resource::GpuRequest;

/// A quota or limit that keeps a job from starting.
struct Bounded<'a> {
    waiting: &'a Waiting<'a>,
    counted: &'a Counted,
    /// The job alone exceeds it, so no end of other jobs helps.
    is_for_ever: bool,
    /// Other queues use up what could be lent, not the jobs under the same quota.
    is_lent: bool,
    of: String,
    /// The command that shows which jobs use it up.
    look: String,
    /// How the job can avoid it, as a phrase after an "or".
    other: Option<String>,
}

impl Bounded<'_> {
    /// Whether the request has a total of GPUs above this number, so that a smaller one can be
    /// given.
    fn asks_for_more_than(&self, gpus: u64) -> bool {
        let asked = self.waiting.job.ask.request.gpus;
        matches!(asked, Some(GpuRequest::Total(all)) if u64::from(all.0) > gpus)
    }

    /// A job that alone exceeds the bound waits forever; otherwise it waits for other jobs to end.
    fn advice(&self) -> String {
        let (key, counted) = (self.waiting.job.key, self.counted);
        let other = self.other.as_ref().map(|other| format!(", or {other}")).unwrap_or_default();
        if self.is_for_ever {
            let most = counted.limit / 1000;
            let less = match counted.what {
                What::GpuMinutes => {
                    "give it a shorter time or fewer GPUs (`kantctl update --help`)".to_owned()
                }
                What::Gpus if most > 0 && self.asks_for_more_than(most) => {
                    let change =
                        change::change_options_advice(self.waiting, &format!("--gpus={most}"));
                    format!("if a smaller job is enough, {change}")
                }
                _ => "ask for less (`kantctl update --help`)".to_owned(),
            };
            return format!(
                "it waits forever, unless an operator raises what {} may have: {less}{other}, or \
                 `kantctl cancel {key}`",
                self.of
            );
        }
        let left = counted.limit.saturating_sub(counted.used) / 1000;
        let less = match counted.what {
            What::Gpus if left > 0 && self.asks_for_more_than(left) => {
                format!(
                    ", or, if a smaller job is enough, ask for less ({})",
                    change::change_options_advice(self.waiting, &format!("--gpus={left}"))
                )
            }
            _ => String::new(),
        };
        let until = if self.is_lent { "others use less" } else { "some of those jobs end" };
        format!("wait until {until} ({}){less}{other}", self.look)
    }
}

pub(super) fn quota_advice(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let WaitReason::QuotaExceeded { queue, bound, counted } = reason else { return String::new() };
    let is_lent = matches!(bound, QuotaBound::Lent { .. });
    let look = match is_lent {
        true => "`kantctl queues` shows what each queue uses".to_owned(),
        false => format!("`kantctl queue --queue={queue}`"),
    };
    Bounded {
        waiting,
        counted,
        is_for_ever: reason.is_for_ever(),
        is_lent,
        of: format!("queue {queue}"),
        look,
        other: change::move_queue_advice(waiting),
    }
    .advice()
}

pub(super) fn limit_advice(
    waiting: &Waiting<'_>,
    bound: &Bound,
    counted: &Counted,
    is_for_ever: bool,
) -> String {
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
        Bound::Queue(_) | Bound::UserInQueue(..) => change::move_queue_advice(waiting),
        Bound::Qos(_) | Bound::UserInQos(..) => Some(format!(
            "give it another QoS, or none, without that one's priority: {}",
            change::change_options_advice(waiting, "--qos=none")
        )),
        _ => {
            let key = waiting.job.key;
            Some(format!("`kantctl cancel {key}`, and submit it again with another --account"))
        }
    };
    let (of, is_lent) = (bound.to_string(), false);
    Bounded { waiting, counted, is_for_ever, is_lent, of, look, other }.advice()
}
