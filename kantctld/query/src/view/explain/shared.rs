//! Sentences on fair sharing: what a job's queue has borrowed, its share, and until when other
//! queues may not take it back.

use super::length;
use common::id::JobKey;
use common::policy::VictimMode;
use common::time::Time;
use common::wire::api::{ShareOf, ShareView};
use engine::Snapshot;
use engine::{Prospect, gpus_of, prospect};
use state::State;

/// Whether fair sharing is on.
pub(super) fn is_fair(state: &State) -> bool {
    state.settings().is_some_and(|settings| settings.fair_sharing)
}

/// For a running job: which jobs may preempt it, from when on, and advice. Empty if it cannot be
/// preempted.
pub(super) fn preemption_outlook(
    state: &State,
    key: JobKey,
    snapshot: &Snapshot,
    now: Time,
) -> (Vec<String>, Option<String>) {
    let job = snapshot.running_job(key).filter(|job| job.preemptible);
    let has_gpus =
        job.is_some_and(|job| job.allocation.shares().iter().any(|s| !s.gpus.is_empty()));
    let known = job.filter(|_| has_gpus).and_then(|_| prospect(snapshot, now, key));
    let Some((job, Prospect { queues, safe_until })) = job.zip(known) else {
        return (Vec::new(), None);
    };
    let borrowed = queues.iter().find_map(|view| {
        let of = gpus_of(view).filter(|of| of.borrowed > 0)?;
        Some(borrowing_sentence(view, of))
    });
    let is_elastic = job.nodes_min.is_some();
    let mut lines = Vec::new();
    let is_borrowing = borrowed.is_some();
    lines.extend(borrowed);
    if let Some(until) = safe_until.filter(|_| is_fair(state)) {
        let left = length::in_words(until.since(now));
        let preempt = if is_elastic { "stop" } else { "preempt" };
        lines.push(format!("no other queue may {preempt} it before {until} (in {left})"));
    }
    let grace = state.settings().map(|settings| settings.kill_grace).unwrap_or_default();
    let grace = length::in_words(grace);
    let after = match job.victim_mode {
        VictimMode::Requeue => "and starts again from the beginning later",
        VictimMode::Cancel => "and is over",
    };
    let first = match is_elastic {
        true => "it gives nodes up before it is stopped; ",
        false => "",
    };
    let says = match job.saved_at {
        Some(_) => "",
        None => " and report that with `kantctl checkpoint`",
    };
    let advice = format!(
        "{first}let its script save its work as it goes{says}: when it is preempted it gets \
         SIGTERM, has {grace} to stop, {after}; `kantctl share` shows the share of each queue"
    );
    (lines, is_borrowing.then_some(advice))
}

/// For example `queue a has borrowed 4 GPUs, lent are 2 by b: ...`.
fn borrowing_sentence(view: &ShareView, of: &ShareOf) -> String {
    let lent: Vec<String> = of
        .from
        .iter()
        .filter_map(|one| Some(format!("{} from {}", gpus(one.amount), one.queue.as_ref()?)))
        .collect();
    let lent = match lent.is_empty() {
        true => "which no other queue is due".to_owned(),
        false => format!("of which {}", lent.join(", ")),
    };
    format!(
        "queue {} has borrowed {} {}, {lent}: a queue that is due more may take them back and \
         preempt this job",
        view.queue,
        gpus(of.borrowed),
        if of.borrowed == 1000 { "GPU" } else { "GPUs" },
    )
}

/// For a job that waits for room: its queue's share, where shares decide.
pub(super) fn queue_share_line(
    state: &State,
    key: JobKey,
    snapshot: &Snapshot,
    now: Time,
) -> Option<String> {
    let Prospect { queues, .. } = is_fair(state).then(|| prospect(snapshot, now, key)).flatten()?;
    let view = queues.first()?;
    let of = gpus_of(view).filter(|of| of.waiting > 0)?;
    let share = of.share?;
    let (name, held, due) = (&view.queue, gpus(of.held), gpus(share));
    Some(match of.held < share {
        true => format!(
            "queue {name} has {held} of the {due} GPUs that it is due now: jobs of queues above \
             their share are preempted for its jobs as soon as that is allowed"
        ),
        false => format!(
            "queue {name} has {held} GPUs and is due {due} now: it gets more only where other \
             queues leave some, and no job is preempted for it"
        ),
    })
}

/// Formats thousandths of GPUs as GPUs.
fn gpus(milli: u64) -> String {
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        rest => format!("{}.{}", milli / 1000, format!("{rest:03}").trim_end_matches('0')),
    }
}
