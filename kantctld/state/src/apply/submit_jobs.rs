//! `SubmitJobs`: submits many jobs of one user. Each is accepted or refused on its own, as by
//! `submit_job`.

use super::submit_job::{self, Asked, Submission, Text};
use super::submit_set;
use crate::command::{ManyJobs, OneOfMany};
use crate::event::Event;
use crate::state::State;
use common::reason::{BadRequest, Refusal};

/// The command as a whole is never refused.
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    many: &ManyJobs,
) -> Result<(), Refusal> {
    let scripts: Vec<Text<'_>> = many.scripts.iter().map(|text| Text::new(text)).collect();
    let environments: Vec<Text<'_>> =
        many.environments.iter().map(|text| Text::new(text)).collect();
    for (place, job) in (0..).zip(&many.jobs) {
        let texts = (scripts.get(job.script as usize), environments.get(job.environment as usize));
        if let Err(refusal) = accept(state, events, (many, job), texts) {
            events.push(Event::SubmitRefused { place, refusal });
        }
    }
    Ok(())
}

fn accept(
    state: &mut State,
    events: &mut Vec<Event>,
    (many, job): (&ManyJobs, &OneOfMany),
    texts: (Option<&Text<'_>>, Option<&Text<'_>>),
) -> Result<(), Refusal> {
    let (Some(script), Some(environment)) = texts else {
        return Err(BadRequest::UnknownText.into());
    };
    let submission = Submission {
        request_key: &job.request_key,
        owner: &many.owner,
        groups: &many.groups,
        operator: many.operator,
        via: many.via.as_ref(),
        jobs: vec![Asked {
            ask: submit_set::without_replica(&job.ask),
            script: *script,
            environment: *environment,
        }],
    };
    submit_job::apply(state, events, submission)
}
