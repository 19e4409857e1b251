//! `SubmitSet`: what each component of a set asks for, once that goes together. What is of the set
//! and not of one component is the first one's: it alone waits for other jobs and has letters sent,
//! and by its word all are held, begin, have to be over and are started again. The others hold what
//! they ask for and run no script. Source: man sbatch and Slurm's guide to heterogeneous jobs.
//! Never accepts anything; `submit_job` does.

use super::submit_job::{Submission, Text};
use crate::command::Command;
use common::id::SET_SIZE_MAX;
use common::job::{Ask, Launch};
use common::reason::Refusal;

/// What a command submits: a job, or a set.
///
/// # Errors
/// As of [`components`].
pub(super) fn submission(command: &Command) -> Result<Submission<'_>, Refusal> {
    let (request_key, owner, groups, operator, asks, script, environment) = match command {
        Command::SubmitJob { request_key, owner, groups, operator, ask, script, environment } => {
            let asks = vec![ask.as_ref().clone()];
            (request_key, owner, groups, operator, asks, script, environment)
        }
        Command::SubmitSet { request_key, owner, groups, operator, asks, script, environment } => {
            (request_key, owner, groups, operator, components(asks)?, script, environment)
        }
        _ => return Err(Refusal::BadAsk { message: "nothing is submitted by that".to_owned() }),
    };
    let (operator, script, environment) = (*operator, Text::new(script), Text::new(environment));
    Ok(Submission { request_key, owner, groups, operator, asks, script, environment })
}

/// The components as they are accepted.
///
/// # Errors
/// Too few or too many, an array, or a set without a script.
fn components(asks: &[Ask]) -> Result<Vec<Ask>, Refusal> {
    let refuse = |message: String| Err(Refusal::BadAsk { message });
    let many = u32::try_from(asks.len()).unwrap_or(u32::MAX);
    let Some(first) = asks.first().filter(|_| (2..=SET_SIZE_MAX).contains(&many)) else {
        return refuse(format!(
            "a set of {many} components: it has 2 to {SET_SIZE_MAX}, with `:` between them"
        ));
    };
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
