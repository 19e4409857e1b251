//! The view of one job or array task.

use super::requested::without_bulk;
use super::{Waits, element_view};
use crate::viewer::Viewer;
use common::id::JobKey;
use common::job::Ask;
use common::wire::api::JobView;
use state::State;

/// A job or array task, without its timeline. `None` if there is none that the viewer sees.
#[must_use]
pub fn job_view(state: &State, viewer: &Viewer, key: JobKey, waits: &Waits) -> Option<JobView> {
    let (record, element) = state.element(key).filter(|(record, _)| viewer.sees(record))?;
    Some(element_view((state, viewer), (record, element, key), waits, Ask::clone))
}

/// A job or array task that does not wait, as in lists. `None` if there is none that the viewer
/// sees.
#[must_use]
pub fn running_job((state, viewer): (&State, &Viewer), key: JobKey) -> Option<JobView> {
    let (record, element) = state.element(key).filter(|(record, _)| viewer.sees(record))?;
    let waits = Waits::new();
    Some(element_view((state, viewer), (record, element, key), &waits, without_bulk))
}
