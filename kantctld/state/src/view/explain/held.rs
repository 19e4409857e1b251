//! What to do about a job that is held, or that nothing can hold. Never a command that would not
//! help.

use super::change;
use super::waiting::Waiting;

/// Somebody holds it: who can let it go, and whether that would help.
pub(super) fn held(waiting: &Waiting<'_>) -> String {
    let key = waiting.job.key;
    if waiting.never_fits().is_some() {
        return format!(
            "{}, or keep it until there is such a node; released now, it would wait for ever",
            for_less(waiting)
        );
    }
    let element = waiting.state.element(key).map(|(_, element)| element);
    let failed = element.is_some_and(|element| element.faults.is_some());
    match waiting.is_held_by_operator() {
        true => format!("ask an operator to release it (`kantctl release {key}`)"),
        false if failed => {
            format!("ask an operator to see to that; then `kantctl release {key}` tries it again")
        }
        false => format!("`kantctl release {key}`"),
    }
}

/// It asks for more than there is.
pub(super) fn for_less(waiting: &Waiting<'_>) -> String {
    let change = change::to(waiting, "--gpus=...");
    format!("`kantctl nodes` shows what there is; ask for less ({change}, --nodes, --mem)")
}
