//! Answers of a simulated controller: its address, and the results of requests.

use crate::message::Reply;
use common::id::{ControllerId, JobId};
use common::time::Span;
use replica::{Completion, ProposeError};
use state::{Event, State};

/// The address of a controller.
pub fn address(id: ControllerId) -> String {
    format!("c{id}:1")
}

/// A job's time limit in a state.
pub fn limit(state: &State, job: JobId) -> Option<Span> {
    state.job(job).and_then(|record| record.spec.ask.time_limit)
}

/// The reply to a user about the result of a request.
pub fn reply(
    result: &Result<Completion<Vec<Event>>, ProposeError>,
    last: JobId,
    leader: Option<ControllerId>,
) -> Reply {
    match result {
        Ok(Completion::Fresh) => Reply::Last(last),
        Ok(Completion::Applied(events)) => {
            match (state::event::changed_jobs(events), &events[..]) {
                (Err(refusal), _) => Reply::Refused(refusal.to_string()),
                (Ok(_), [Event::JobSubmitted { job, .. }, ..]) => Reply::Submitted(*job),
                (Ok(keys), _) => Reply::Changed(keys),
            }
        }
        Ok(Completion::Changed(_)) => Reply::Unknown,
        Err(ProposeError::NotLeader | ProposeError::Busy) => Reply::NotLeader(leader),
        Err(_) => Reply::Unknown,
    }
}
