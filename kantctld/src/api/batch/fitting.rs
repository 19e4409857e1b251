//! Which jobs of a batch never fit the cluster. Never looks twice for jobs that ask for the same.

use crate::api::error::ApiFailure;
use crate::core::Core;
use common::job::Ask;
use common::reason::Refusal;
use common::wire::api::BatchJob;

/// Who was judged last, and how: batches hold many of a kind.
#[derive(Default)]
pub(super) struct Last {
    fits: Option<Ask>,
    never: Option<(Ask, Refusal)>,
}

/// As `submit::refuse_what_never_fits`, for each. Whoever asks for what the last one of its kind
/// asked for is judged as that one was, by nodes that were looked at no earlier than this request
/// was.
pub(super) fn never_fit(
    core: &Core,
    jobs: &[Result<BatchJob, ApiFailure>],
    known: &[bool],
    last: &mut Last,
) -> Vec<Option<Refusal>> {
    let mut refusals = vec![None; jobs.len()];
    let mut doubted: Vec<usize> = (0..jobs.len()).filter(|place| !known[*place]).collect();
    let mut look = |snapshot: &engine::Snapshot, is_now: bool| {
        doubted.retain(|place| {
            let Ok(BatchJob { ask, .. }) = &jobs[*place] else { return false };
            if last.fits.as_ref().is_some_and(|fits| is_alike(fits, ask)) {
                return false;
            }
            if let Some((never, refusal)) = &last.never
                && is_alike(never, ask)
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
        !doubted.is_empty()
    };
    // None: the settings in force were not taken up yet.
    let doubts = core.lookout.glance(&core.state, |snapshot| look(snapshot, false));
    if doubts.unwrap_or(true) {
        core.lookout.fresh(&core.state, core.now(), |snapshot| look(snapshot, true));
    }
    refusals
}

/// Is the same asked of the cluster?
fn is_alike(one: &Ask, other: &Ask) -> bool {
    let asked = |ask: &Ask| Ask {
        // None of these says where it could run.
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
