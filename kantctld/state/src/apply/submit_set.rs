//! `SubmitSet`: derives the requests of a set's components. Options that concern the whole set
//! belong to the first component: only it has dependencies and sends mail, and its hold, begin
//! time, deadline and requeue option apply to all. The other components hold their resources and
//! run no script. `submit_job` then accepts or refuses the set. Source: man sbatch and Slurm's
//! guide to heterogeneous jobs.

use super::submit_job::{Asked, Submission, Text};
use crate::command::Command;
use common::job::{Ask, Launch, check_size};
use common::reason::{BadRequest, Refusal};

/// The submission that a command contains: a job, or a set.
///
/// # Errors
/// Those of [`components`].
pub(super) fn submission(command: &Command) -> Result<Submission<'_>, Refusal> {
    match command {
        Command::SubmitJob {
            request_key,
            owner,
            groups,
            operator,
            via,
            ask,
            script,
            environment,
        } => {
            let (operator, via, asks) = (*operator, via.as_ref(), vec![without_replica(ask)]);
            let jobs = with_texts(asks, script, environment);
            Ok(Submission { request_key, owner, groups, operator, via, jobs })
        }
        Command::SubmitSet {
            request_key,
            owner,
            groups,
            operator,
            via,
            asks,
            script,
            environment,
        } => {
            let (operator, via, asks) = (*operator, via.as_ref(), components(asks)?);
            let jobs = with_texts(asks, script, environment);
            Ok(Submission { request_key, owner, groups, operator, via, jobs })
        }
        _ => Err(BadRequest::NoSubmission.into()),
    }
}

fn with_texts<'a>(asks: Vec<Ask>, script: &'a str, environment: &'a str) -> Vec<Asked<'a>> {
    let (script, environment) = (Text::new(script), Text::new(environment));
    asks.into_iter().map(|ask| Asked { ask, script, environment }).collect()
}

/// A user's request. Only the leader submits replicas, by another command.
pub(super) fn without_replica(ask: &Ask) -> Ask {
    Ask { replica: None, ..ask.clone() }
}

/// The option, if any, that concerns the whole set and that this component sets differently from
/// the first.
fn differing_set_option(first: &Ask, ask: &Ask) -> Option<&'static str> {
    let differs = |option, differs: bool| differs.then_some(option);
    differs("--dependency", ask.dependency.is_some() && ask.dependency != first.dependency)
        .or(differs("--begin", ask.begin_at.is_some() && ask.begin_at != first.begin_at))
        .or(differs("--deadline", ask.deadline.is_some() && ask.deadline != first.deadline))
        .or(differs("--mail-type", ask.mail.is_some() && ask.mail != first.mail))
        .or(differs("--hold", ask.hold && !first.hold))
        .or(differs("--no-requeue", !ask.requeue && first.requeue))
}

/// The requests of the components as they are accepted.
///
/// # Errors
/// Too few or too many components, an array, or a set without a script.
fn components(asks: &[Ask]) -> Result<Vec<Ask>, Refusal> {
    check_size(asks.len())?;
    let first = &asks[0];
    if let Some(option) = asks[1..].iter().find_map(|ask| differing_set_option(first, ask)) {
        return Err(BadRequest::OfLaterComponent { option }.into());
    }
    if asks.iter().any(|ask| ask.array.is_some()) {
        return Err(BadRequest::ArrayOfComponents.into());
    }
    if first.launch == Launch::Held || first.lease.is_some() {
        return Err(BadRequest::SetWithoutScript.into());
    }
    let other = |ask: &Ask| Ask {
        launch: Launch::Held,
        stdin: None,
        stdout: Some("/dev/null".to_owned()),
        stderr: None,
        begin_at: first.begin_at,
        deadline: first.deadline,
        hold: first.hold,
        requeue: first.requeue,
        dependency: None,
        kill_on_invalid_dependency: false,
        mail: None,
        lease: None,
        replica: None,
        ..ask.clone()
    };
    Ok(std::iter::once(without_replica(first)).chain(asks[1..].iter().map(other)).collect())
}
