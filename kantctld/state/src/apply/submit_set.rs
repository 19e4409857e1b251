//! `SubmitSet`: what each component of a set asks for, once that goes together. What is of the set
//! and not of one component is the first one's: it alone waits for other jobs and has letters sent,
//! and by its word all are held, begin, have to be over and are started again. The others hold what
//! they ask for and run no script. Source: man sbatch and Slurm's guide to heterogeneous jobs.
//! Never accepts anything; `submit_job` does.

use super::submit_job::{Submission, Text};
use crate::command::Command;
use common::job::{Ask, Launch, check_size};
use common::reason::Refusal;

/// What a command submits: a job, or a set.
///
/// # Errors
/// As of [`components`].
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
            let (operator, via, asks) = (*operator, via.as_ref(), vec![ask.as_ref().clone()]);
            let (script, environment) = (Text::new(script), Text::new(environment));
            Ok(Submission { request_key, owner, groups, operator, via, asks, script, environment })
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
            let (script, environment) = (Text::new(script), Text::new(environment));
            Ok(Submission { request_key, owner, groups, operator, via, asks, script, environment })
        }
        _ => Err(Refusal::BadAsk { message: "nothing is submitted by that".to_owned() }),
    }
}

/// What a component asks for itself though it is the set's, and the first does not.
fn of_the_set(first: &Ask, ask: &Ask) -> Option<&'static str> {
    let differs = |option, differs: bool| differs.then_some(option);
    differs("--dependency", ask.dependency.is_some() && ask.dependency != first.dependency)
        .or(differs("--begin", ask.begin_at.is_some() && ask.begin_at != first.begin_at))
        .or(differs("--deadline", ask.deadline.is_some() && ask.deadline != first.deadline))
        .or(differs("--mail-type", ask.mail.is_some() && ask.mail != first.mail))
        .or(differs("--hold", ask.hold && !first.hold))
        .or(differs("--no-requeue", !ask.requeue && first.requeue))
}

/// The components as they are accepted.
///
/// # Errors
/// Too few or too many, an array, or a set without a script.
fn components(asks: &[Ask]) -> Result<Vec<Ask>, Refusal> {
    let refuse = |message: String| Err(Refusal::BadAsk { message });
    check_size(asks.len())?;
    let first = &asks[0];
    if let Some(option) = asks[1..].iter().find_map(|ask| of_the_set(first, ask)) {
        return refuse(format!(
            "{option} of a later component: it holds for all of a set, so give it to the first"
        ));
    }
    if asks.iter().any(|ask| ask.array.is_some()) {
        return refuse(
            "an array cannot have components: leave --array out, or the `:` between them"
                .to_owned(),
        );
    }
    if first.launch == Launch::Held || first.lease.is_some() {
        return refuse(
            "a set has a script: submit one, which starts programs in its components".to_owned(),
        );
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
        ..ask.clone()
    };
    Ok(std::iter::once(first.clone()).chain(asks[1..].iter().map(other)).collect())
}
