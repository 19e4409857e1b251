//! Advice for a job that is held, or that no node can hold.

use super::waiting::Waiting;
use super::{change, less};
use common::reason::WaitReason;
use common::resource::GpuRequest;

/// For a held job: who can release it, and whether that would help.
pub(super) fn held_advice(waiting: &Waiting<'_>) -> String {
    let key = waiting.job.key;
    if let Some(reason) = waiting.never_runs_reason() {
        let (less, until) = match &reason {
            WaitReason::NeverFits { .. } | WaitReason::NeverNear { .. } => {
                (smaller_request_advice(waiting, &reason), "there is such a node")
            }
            _ => ("`kantctl queues` shows the bounds; ask for less".to_owned(), "it is raised"),
        };
        return format!(
            "{less}, and then `kantctl release {key}`; or leave it held until {until}: released \
             now, it would wait forever"
        );
    }
    let element = waiting.state.element(key).map(|(_, element)| element);
    let failed = element.is_some_and(|element| element.faults.is_some());
    let by_coordinator = element.is_some_and(|element| element.held_by.includes_coordinator());
    match waiting.is_held_by_operator() {
        true => format!("ask an operator to release it (`kantctl release {key}`)"),
        false if by_coordinator => {
            format!(
                "ask a coordinator of its queue or account to release it (`kantctl release {key}`)"
            )
        }
        false if failed => {
            format!("ask an operator to mend that; then `kantctl release {key}` tries it again")
        }
        false => format!("`kantctl release {key}`"),
    }
}

/// For a job that asks for more than there is: the largest possible request, in the same option.
pub(super) fn smaller_request_advice(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let shows = "`kantctl nodes` shows what there is";
    let WaitReason::NeverFits { need, largest: Some(most), .. } = reason else {
        return format!("{shows}; ask for less (`kantctl update --help`)");
    };
    let option = match waiting.job.ask.request.gpus {
        Some(GpuRequest::PerNode(_)) => "--gpus-per-node",
        Some(GpuRequest::Total(_)) if need.nodes.0 == 1 => "--gpus",
        Some(GpuRequest::Parts(_)) => "--gpus",
        _ => "",
    };
    if let Some(gpus) = less::fewer_gpus(need, most).filter(|_| !option.is_empty()) {
        let change = change::change_options_advice(waiting, &format!("{option}={gpus}"));
        return format!("{shows}; if less is enough, {change}");
    }
    format!("{shows}; ask for less (`kantctl update --help`)")
}
