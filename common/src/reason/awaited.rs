//! Which other jobs a job waits for, and how far they are. Never says when they will be as far.

use super::sentence::plural;
use super::wait::WaitReason;
use crate::id::JobKey;
use crate::job::dependency::Rule;
use crate::job::state::slurm_state;
use crate::job::{Outcome, Phase};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Another job that is waited for, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// What must become of it.
    pub rule: Rule,
    pub on: JobKey,
    /// Where it is; `None` of one that is forgotten, and of an array.
    pub phase: Option<Phase>,
    pub outcome: Option<Outcome>,
    /// Of an array: how many of its tasks are not as far, and how many it has.
    pub tasks: Option<(u32, u32)>,
    /// It is as far; the delay asked for is over then.
    pub until: Option<Time>,
}

impl Awaited {
    /// How far it is, in brackets.
    fn so_far(&self) -> String {
        match (self.tasks, self.phase) {
            (Some((left, all)), _) => format!(" ({left} of its {all} tasks are not there yet)"),
            (None, Some(phase)) => format!(" ({})", slurm_state(phase, self.outcome).0),
            (None, None) => String::new(),
        }
    }

    /// What is still to come.
    fn open(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (on, so_far) = (self.on, self.so_far());
        if let Some(until) = self.until {
            return write!(f, "not before {until}, as asked with after:{on}+MINUTES");
        }
        match self.rule {
            Rule::After => write!(f, "job {on} must have started{so_far}"),
            Rule::AfterAny => write!(f, "job {on} must be over{so_far}"),
            Rule::AfterOk | Rule::AfterCorr => write!(f, "job {on} must succeed{so_far}"),
            Rule::AfterNotOk => write!(f, "job {on} must end without success{so_far}"),
            Rule::Singleton => write!(f, "job {on} of the same name must be over{so_far}"),
        }
    }

    /// What can no longer come.
    fn failed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let had_to = match self.rule {
            Rule::AfterNotOk => "had to end without success",
            _ => "had to succeed",
        };
        write!(f, "job {} {had_to}", self.on)?;
        match (self.rule, self.tasks, self.outcome) {
            (_, None, Some(outcome)) => write!(f, ", and ended as {outcome}"),
            (Rule::AfterNotOk, ..) => write!(f, ", and all of it succeeded"),
            (_, Some((bad, all)), _) => {
                write!(f, ", and {bad} of its {all} task{} did not", plural(all))
            }
            _ => write!(f, ", and did not"),
        }
    }
}

/// Of what is about other jobs; nothing of other reasons.
pub(super) fn show(reason: &WaitReason, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let rest = |f: &mut fmt::Formatter<'_>, more: u32| match more {
        0 => Ok(()),
        more => write!(f, "; and {more} more"),
    };
    match reason {
        WaitReason::Dependency { open, .. } if open.is_empty() => {
            write!(f, "waits for other jobs, as asked with --dependency")
        }
        WaitReason::Dependency { open, more, any } => {
            let one = *any && open.len() > 1;
            write!(f, "{}", if one { "waits for one of these: " } else { "" })?;
            for (place, awaited) in open.iter().enumerate() {
                write!(f, "{}", if place == 0 { "" } else { "; " })?;
                awaited.open(f)?;
            }
            rest(f, *more)
        }
        WaitReason::DependencyNever { failed, more } => {
            write!(f, "what it waits for cannot come any more: ")?;
            for (place, awaited) in failed.iter().enumerate() {
                write!(f, "{}", if place == 0 { "" } else { "; " })?;
                awaited.failed(f)?;
            }
            rest(f, *more)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(rule: Rule) -> Awaited {
        let on = "12".parse().unwrap();
        Awaited { rule, on, phase: Some(Phase::Running), outcome: None, tasks: None, until: None }
    }

    #[test]
    fn what_is_waited_for_is_named_with_how_far_it_is() {
        let many = Awaited { phase: None, tasks: Some((3, 10)), ..awaited(Rule::AfterAny) };
        let open = vec![awaited(Rule::AfterOk), many];
        let reason = WaitReason::Dependency { open, more: 2, any: false };
        assert_eq!(
            reason.to_string(),
            "job 12 must succeed (RUNNING); job 12 must be over (3 of its 10 tasks are not there \
             yet); and 2 more"
        );
    }

    #[test]
    fn what_cannot_come_any_more_says_why() {
        let over = |rule, outcome| Awaited {
            phase: Some(Phase::Done),
            outcome: Some(outcome),
            ..awaited(rule)
        };
        let failed = vec![over(Rule::AfterOk, Outcome::Failed)];
        let reason = WaitReason::DependencyNever { failed, more: 0 };
        assert_eq!(
            reason.to_string(),
            "what it waits for cannot come any more: job 12 had to succeed, and ended as FAILED"
        );
        assert!(reason.is_for_ever());
    }
}
