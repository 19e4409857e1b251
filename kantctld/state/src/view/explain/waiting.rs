//! A job that waits: what came before, the first thing in its way, its place, its priority, and
//! when it will start. Never says what to do; `advice` does.

use super::living::why;
use super::{advice, length};
use crate::remembered::State;
use crate::story::StoryEvent;
use common::job::Preempted;
use common::policy::Order;
use common::reason::WaitReason;
use common::time::Time;
use common::wire::api::JobView;
use engine::{Forecast, Snapshot, WaitingJob};

/// What is known of a waiting job.
pub(super) struct Waiting<'a> {
    pub state: &'a State,
    pub job: &'a JobView,
    pub snapshot: &'a Snapshot,
    pub now: Time,
    pub forecast: Forecast,
}

impl<'a> Waiting<'a> {
    pub fn new(state: &'a State, job: &'a JobView, snapshot: &'a Snapshot, now: Time) -> Self {
        let forecast = match job.reason.as_ref().map(|reason| &reason.detail) {
            None | Some(WaitReason::Held | WaitReason::NeverFits { .. }) => Forecast::default(),
            Some(_) => engine::forecast(snapshot, now, job.key),
        };
        Self { state, job, snapshot, now, forecast }
    }

    /// When it starts, if anybody can say.
    pub const fn expected_at(&self) -> Option<Time> {
        if self.forecast.bounded { None } else { self.forecast.expected_at }
    }

    /// The deadline that it will miss, unless something ends before its time limit.
    pub fn will_miss(&self) -> Option<Time> {
        let is_late = match self.job.reason.as_ref().map(|reason| &reason.detail) {
            Some(WaitReason::DeadlineTooNear { .. }) => true,
            Some(WaitReason::Resources { .. } | WaitReason::Priority { .. }) => {
                self.forecast.expected_at.is_none()
            }
            _ => false,
        };
        self.job.ask.deadline.filter(|_| is_late)
    }

    /// When it would start if it had no deadline.
    pub fn without_deadline(&self) -> Option<Time> {
        let mut snapshot = self.snapshot.clone();
        let job = snapshot.waiting(self.job.key)?.as_ref().clone();
        snapshot.set_waiting(WaitingJob { deadline: None, ..job });
        let forecast = engine::forecast(&snapshot, self.now, self.job.key);
        forecast.expected_at.filter(|_| !forecast.bounded)
    }

    /// Why it could not run if it was let go: it is larger than what there is.
    pub fn never_fits(&self) -> Option<WaitReason> {
        let ask = &self.job.ask;
        let queue = self.state.queue(ask.queue.as_ref()?)?;
        engine::could_ever_fit(self.snapshot, queue, &ask.request, ask.service).err()
    }

    pub fn told(&self) -> (Vec<String>, Option<String>) {
        let mut lines = Vec::new();
        lines.extend(self.past());
        let Some(reason) = &self.job.reason else { return (lines, None) };
        lines.push(self.sentence(&reason.detail));
        lines.extend(self.job.message.clone());
        if reason.detail == WaitReason::Held {
            lines.extend(self.never_fits().map(|reason| reason.to_string()));
        }
        let has_a_place = !matches!(
            reason.detail,
            WaitReason::Held
                | WaitReason::BeginTime { .. }
                | WaitReason::BackOff { .. }
                | WaitReason::QueueGone { .. }
                | WaitReason::NeverFits { .. }
        );
        if has_a_place {
            lines.extend(self.place());
            lines.extend(self.priority());
        }
        lines.extend(self.start(&reason.detail));
        (lines, Some(advice::advice(self, &reason.detail)))
    }

    /// What it has been through.
    fn past(&self) -> Option<String> {
        let (_, element) = self.state.element(self.job.key)?;
        if self.job.attempt == 0 {
            return None;
        }
        let yielded = element.story.iter().rev().find_map(|line| match &line.what {
            StoryEvent::MadeToYield { preempted, .. } => Some(*preempted),
            _ => None,
        });
        let last = element.story.iter().rev().find_map(|line| match &line.what {
            StoryEvent::Requeued { preempted_by, .. } => Some(*preempted_by),
            _ => None,
        });
        let reason = match (last.flatten(), yielded) {
            (Some(by), Some(preempted)) if preempted.by == by => Some(preempted),
            _ => None,
        };
        Some(match reason {
            Some(preempted) => self.made_way(preempted),
            None => format!("it waits again, after attempt {}", self.job.attempt),
        })
    }

    /// The reason without the time, which is said in its own line, and with who holds the job.
    fn sentence(&self, reason: &WaitReason) -> String {
        let mut reason = reason.clone();
        match &mut reason {
            WaitReason::Resources { expected_at, .. }
            | WaitReason::Topology { expected_at, .. } => *expected_at = None,
            WaitReason::Held => return self.held(),
            _ => {}
        }
        reason.to_string()
    }

    fn held(&self) -> String {
        let element = self.state.element(self.job.key).map(|(_, element)| element);
        let last = element.into_iter().flat_map(|element| element.story.iter().rev());
        let by = last.into_iter().find_map(|line| match &line.what {
            StoryEvent::Held(by) => Some(Some(*by)),
            StoryEvent::HeldForFaults { .. } => Some(None),
            _ => None,
        });
        match by {
            Some(None) => {
                "it is held, after attempts that failed for no fault of its own".to_owned()
            }
            Some(Some(by)) if by == self.job.owner.uid => "its user holds it".to_owned(),
            Some(Some(_)) => "an operator holds it".to_owned(),
            None => "it was submitted with --hold, and nobody has let it go".to_owned(),
        }
    }

    fn made_way(&self, preempted: Preempted) -> String {
        format!(
            "it ran, and was stopped to make way for {}; it keeps its place in the queue",
            why(preempted)
        )
    }

    fn place(&self) -> Option<String> {
        let position = engine::position(self.snapshot, self.now, self.job.key)?;
        let all = self.snapshot.waiting_count();
        Some(match (position, all) {
            (1, 1) => "it is the only job that waits".to_owned(),
            (1, _) => format!("it is first of the {all} jobs that wait"),
            _ => format!("it is number {position} of the {all} jobs that wait"),
        })
    }

    /// What its priority is made of, where jobs go by that.
    fn priority(&self) -> Option<String> {
        let queue = self.state.queue(self.job.ask.queue.as_ref()?)?;
        if queue.order != Order::Multifactor {
            return None;
        }
        let (_, sheet) = engine::sheets(self.snapshot, self.now, &[self.job.key]).pop()?;
        let parts = sheet.named().into_iter().filter(|(_, factor)| factor.points != 0);
        let mut parts: Vec<String> =
            parts.map(|(name, factor)| format!("{} for {name}", factor.points)).collect();
        if sheet.nice != 0 {
            parts.push(format!("{} for nice", -i64::from(sheet.nice)));
        }
        let made_of =
            if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        Some(format!("its priority is {}{made_of}", sheet.points))
    }

    /// When it will start.
    fn start(&self, reason: &WaitReason) -> Option<String> {
        if matches!(
            reason,
            WaitReason::Held
                | WaitReason::NeverFits { .. }
                | WaitReason::QueueGone { .. }
                | WaitReason::DeadlineTooNear { .. }
                | WaitReason::ReservationClosed { from: None, .. }
                | WaitReason::NodesUnavailable { .. }
        ) {
            return None;
        }
        if let Some(deadline) = self.will_miss() {
            return Some(format!(
                "as things are, it will not start in time to be over by its deadline, {deadline}"
            ));
        }
        let Some(at) = self.forecast.expected_at else {
            if let WaitReason::QuotaExceeded { counted, .. }
            | WaitReason::LimitReached { counted, .. } = reason
                && counted.asked > counted.limit
            {
                return Some("it will never start".to_owned());
            }
            let mut running = self.snapshot.all_running();
            return Some(
                match running.any(|job| job.ends_by.is_none() && !job.ending) {
                    true => "nobody can say when it starts: jobs that run now have no time limit",
                    false => "nobody can say when it starts",
                }
                .to_owned(),
            );
        };
        let length = length::words(at.since(self.now));
        if self.forecast.bounded {
            return Some(format!("nobody can say when it starts; it is not in the next {length}"));
        }
        if at <= self.now {
            return Some("it is expected to start any moment".to_owned());
        }
        if matches!(reason, WaitReason::BeginTime { at: begin } if at <= *begin) {
            return Some(format!("it is expected to start in {length}"));
        }
        let ahead = match self.forecast.after {
            0 => String::new(),
            1 => ", after 1 other that waits".to_owned(),
            after => format!(", after {after} others that wait"),
        };
        Some(format!(
            "it is expected to start in {length}{ahead}, or sooner if jobs end before their time \
             limits"
        ))
    }
}
