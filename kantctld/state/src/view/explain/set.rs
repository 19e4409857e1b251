//! Of a component of a set that waits: with whom it starts, and what it can be told to do, which no
//! component is by itself. Never says why it waits.

use common::wire::api::JobView;

/// What is said of a job that waits, where it is a component of a set.
pub(super) fn told(
    job: &JobView,
    (mut lines, advice): (Vec<String>, Option<String>),
) -> (Vec<String>, Option<String>) {
    let Some(set) = job.set else { return (lines, advice) };
    let (first, last) = (set.first, set.size - 1);
    lines.push(format!(
        "it is {} of {} components, {first}+0 to {first}+{last}, which start together: what one of \
         them lacks, all wait for",
        set.name(),
        set.size
    ));
    let advice = match job.held {
        true => format!("`kantctl release {first}` lets all of it go"),
        false => format!(
            "wait, or change what a component asks for: `kantctl update {first}+1 ...`; `kantctl \
             cancel {first}` gives all of it up"
        ),
    };
    (lines, Some(advice))
}
