//! What a simulated controller answers: where others are, and what became of a request. Never
//! decides what becomes of it.

use crate::message::Reply;
use common::id::{ControllerId, JobId};
use common::time::Span;
use replica::{Completion, ProposeError};
use state::{Event, State};

/// Where a controller is reached.
pub fn address(id: ControllerId) -> String {
    format!("c{id}:1")
}

/// A job's time limit, as a state has it.
pub fn limit(state: &State, job: JobId) -> Option<Span> {
    state.job(job).and_then(|record| record.spec.ask.time_limit)
}

/// What a user is told of what became of a request.
pub fn reply(
    told: &Result<Completion<Vec<Event>>, ProposeError>,
    last: JobId,
    leader: Option<ControllerId>,
) -> Reply {
    match told {
        Ok(Completion::Fresh) => Reply::Last(last),
        Ok(Completion::Applied(events)) => match (state::event::changed(events), &events[..]) {
            (Err(refusal), _) => Reply::Refused(refusal.to_string()),
            (Ok(_), [Event::JobSubmitted { job, .. }, ..]) => Reply::Submitted(*job),
            (Ok(keys), _) => Reply::Changed(keys),
        },
        Ok(Completion::Changed(_)) => Reply::Unknown,
        Err(ProposeError::NotLeader | ProposeError::Busy) => Reply::NotLeader(leader),
        Err(_) => Reply::Unknown,
    }
}
