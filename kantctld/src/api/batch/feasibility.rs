//! The check of a batch for jobs that can never run. Jobs with equal requests are checked once.

use crate::api::error::ApiFailure;
use crate::core::Core;
use common::job::Ask;
use common::reason::Refusal;
use common::wire::api::BatchJob;

/// The requests checked last, with the result: a batch has many equal jobs.
#[derive(Default)]
pub(super) struct LastChecked {
    fits: Option<Ask>,
    never: Option<(Ask, Refusal)>,
}

/// As `submit::refuse_what_never_fits`, for each job. A job with the same request as one checked
/// before gets its result, from a view no older than this batch.
pub(super) fn refusals_of_never_fitting(
    core: &Core,
    jobs: &[Result<BatchJob, ApiFailure>],
    known: &[bool],
    last: &mut LastChecked,
) -> Vec<Option<Refusal>> {
    let mut refusals = vec![None; jobs.len()];
    let mut unchecked: Vec<usize> = (0..jobs.len()).filter(|place| !known[*place]).collect();
    let mut check = |snapshot: &engine::Snapshot, is_now: bool| {
        unchecked.retain(|place| {
            let Ok(BatchJob { ask, .. }) = &jobs[*place] else { return false };
            if last.fits.as_ref().is_some_and(|fits| has_same_placement(fits, ask)) {
                return false;
            }
            if let Some((never, refusal)) = &last.never
                && has_same_placement(never, ask)
            {
                refusals[*place] = Some(refusal.clone());
                return false;
            }
            match state::snapshot::never_fits(&core.state.read(), snapshot, ask) {
                None => last.fits = Some(ask.clone()),
                Some(_) if !is_now => return true,
                Some(refusal) => {
                    last.never = Some((ask.clone(), refusal.clone()));
                    refusals[*place] = Some(refusal);
                }
            }
            false
        });
        !unchecked.is_empty()
    };
    // None: the settings in force are not in the view yet.
    let has_unchecked = core.scheduler_cache.peek(&core.state, |snapshot| check(snapshot, false));
    if has_unchecked.unwrap_or(true) {
        core.scheduler_cache
            .with_current(&core.state, core.now(), |snapshot| check(snapshot, true));
    }
    refusals
}

/// Whether two requests can run on the same nodes.
fn has_same_placement(one: &Ask, other: &Ask) -> bool {
    let asked = |ask: &Ask| Ask {
        // These do not affect where a job can run.
        name: String::new(),
        command: None,
        args: Vec::new(),
        comment: None,
        stdin: None,
        stdout: None,
        stderr: None,
        ..ask.clone()
    };
    asked(one) == asked(other)
}
