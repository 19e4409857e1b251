//! Dependencies that a waiting job still has, and their progress.

use super::sentence::plural;
use super::wait::WaitReason;
use crate::id::JobKey;
use crate::job::dependency::Rule;
use crate::job::state::slurm_state;
use crate::job::{Outcome, Phase};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A dependency on another job, and that job's progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Awaited {
    pub rule: Rule,
    pub on: JobKey,
    /// `None` for an array, or once the job's record is removed.
    pub phase: Option<Phase>,
    pub outcome: Option<Outcome>,
    /// For an array: the number of tasks that do not satisfy the rule yet, and of all tasks.
    pub tasks: Option<(u32, u32)>,
    /// The job satisfies the rule; the requested delay ends then.
    pub until: Option<Time>,
}

impl Awaited {
    /// The dependency alone.
    #[must_use]
    pub fn without_progress(self) -> Self {
        let (phase, outcome, tasks, until) = (None, None, None, None);
        Self { phase, outcome, tasks, until, ..self }
    }

    /// The current progress, in parentheses.
    fn progress_text(&self) -> String {
        match (self.tasks, self.phase) {
            (Some((left, all)), _) => format!(" ({left} of its {all} tasks remaining)"),
            (None, Some(phase)) => format!(" ({})", slurm_state(phase, self.outcome).0),
            (None, None) => String::new(),
        }
    }

    /// A condition that can still be met.
    fn write_open(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (on, so_far) = (self.on, self.progress_text());
        if let Some(until) = self.until {
            return write!(f, "not before {until}, as requested with after:{on}+MINUTES");
        }
        match self.rule {
            Rule::After => write!(f, "job {on} must have started{so_far}"),
            Rule::AfterAny => write!(f, "job {on} must finish{so_far}"),
            Rule::AfterOk | Rule::AfterCorr => write!(f, "job {on} must succeed{so_far}"),
            Rule::AfterNotOk => write!(f, "job {on} must end without success{so_far}"),
            Rule::Singleton => write!(f, "job {on} of the same name must finish{so_far}"),
        }
    }

    /// A condition that can no longer be met.
    fn write_failed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let had_to = match self.rule {
            Rule::AfterNotOk => "had to end without success",
            _ => "had to succeed",
        };
        write!(f, "job {} {had_to}", self.on)?;
        match (self.rule, self.tasks, self.outcome) {
            (_, None, Some(outcome)) => write!(f, ", but ended as {outcome}"),
            (Rule::AfterNotOk, ..) => write!(f, ", but all of it succeeded"),
            (_, Some((bad, all)), _) => {
                write!(f, ", but {bad} of its {all} task{} did not", plural(all))
            }
            _ => write!(f, ", but did not"),
        }
    }
}

/// Writes the reasons about other jobs; writes nothing for other reasons.
pub(super) fn write_dependency(reason: &WaitReason, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let rest = |f: &mut fmt::Formatter<'_>, more: u32| match more {
        0 => Ok(()),
        more => write!(f, "; and {more} more"),
    };
    match reason {
        WaitReason::Dependency { open, .. } if open.is_empty() => {
            write!(f, "waits for other jobs, as requested with --dependency")
        }
        WaitReason::Dependency { open, more, any } => {
            let one = *any && open.len() > 1;
            write!(f, "{}", if one { "waits for one of these: " } else { "" })?;
            for (place, awaited) in open.iter().enumerate() {
                write!(f, "{}", if place == 0 { "" } else { "; " })?;
                awaited.write_open(f)?;
            }
            rest(f, *more)
        }
        WaitReason::DependencyNever { failed, more } => {
            write!(f, "its dependency can no longer be satisfied: ")?;
            for (place, awaited) in failed.iter().enumerate() {
                write!(f, "{}", if place == 0 { "" } else { "; " })?;
                awaited.write_failed(f)?;
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
            "job 12 must succeed (RUNNING); job 12 must finish (3 of its 10 tasks \
             remaining); and 2 more"
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
            "its dependency can no longer be satisfied: job 12 had to succeed, but ended as FAILED"
        );
        assert!(reason.is_for_ever());
    }
}
