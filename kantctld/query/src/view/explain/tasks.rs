//! A summary of an array's tasks in few lines, since there may be many tasks.

use crate::view::Waits;
use common::id::JobKey;
use common::job::Phase;
use state::held_by::HeldBy;
use state::job::{Element, Record};
use std::collections::BTreeMap;

/// The numbers of tasks that wait, run and have ended, the reasons why they wait, and the task to
/// which the rest of the explanation refers.
pub(super) fn summary(record: &Record, waits: &Waits, first: JobKey) -> Vec<String> {
    let (mut pending, mut running, mut over) = (0_u32, 0_u32, 0_u32);
    let mut by_reason: BTreeMap<&str, u32> = BTreeMap::new();
    for (index, element) in &record.elements {
        match element.phase {
            Phase::Pending => {
                pending += 1;
                let wait = waits.get(&record.key(*index)).map(|wait| wait.reason.code());
                let code = match element {
                    Element { held_by, .. } if *held_by != HeldBy::User => "JobHeldAdmin",
                    Element { held: true, .. } => "JobHeldUser",
                    _ => wait.unwrap_or("None"),
                };
                *by_reason.entry(plain_words(code)).or_default() += 1;
            }
            Phase::Done => over += 1,
            _ => running += 1,
        }
    }
    let counts = [(pending, "wait"), (running, "run"), (over, "are over")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let all = record.elements.len();
    let mut lines = vec![match counts.as_slice() {
        [one] => format!("all of its {all} tasks {}", one.split_once(' ').map_or("", |(_, w)| w)),
        _ => format!("of its {all} tasks {}", counts.join(", ")),
    }];
    if by_reason.len() > 1 {
        let reasons: Vec<String> =
            by_reason.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        lines.push(format!("of those that wait: {}", reasons.join(", ")));
    }
    if record.elements.len() > 1 {
        let which = if pending > 0 { "the first that waits" } else { "the first" };
        lines.push(format!("of task {first}, {which}:"));
    }
    lines
}

/// A phrase for the tasks that have this reason.
fn plain_words(code: &str) -> &'static str {
    match code {
        "JobHeldUser" => "held",
        "JobHeldAdmin" => "held by an operator",
        // Slurm has one code for both.
        "JobHeldCoordinator" => "held by a coordinator",
        "BeginTime" => "waiting for a time",
        "JobArrayTaskLimit" => "waiting for other tasks to end",
        "Resources" => "waiting for room",
        "Priority" => "behind other jobs",
        "Reservation" => "waiting for a reservation",
        "ReqNodeNotAvail" => "waiting for nodes that are down or drained",
        "BadConstraints" => "too large to run here ever",
        "DeadLine" => "too late for their deadline",
        "Dependency" => "waiting for other jobs",
        "DependencyNeverSatisfied" => "waiting for what cannot come any more",
        "None" => "not looked at yet",
        _ => "waiting for a quota or limit",
    }
}
