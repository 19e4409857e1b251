//! The dependencies of a job on other jobs, as written in `--dependency=afterok:20:21,after:22+5`.
//! Source: man sbatch, `--dependency`.

use crate::id::JobKey;
use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The maximum number of terms of one job; each named job is one term.
pub const DEPENDENCY_TERMS_MAX: usize = 4_096;

/// The condition on another job.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// It has started, or ended without starting.
    After,
    /// It has ended.
    AfterAny,
    /// It has ended successfully.
    AfterOk,
    /// It has ended without success.
    AfterNotOk,
    /// Between arrays, task by task: the task with the same index has ended successfully.
    AfterCorr,
    /// No other job with this name and user runs, or has waited for longer.
    Singleton,
}

impl Rule {
    const ALL: [Self; 6] = [
        Self::After,
        Self::AfterAny,
        Self::AfterOk,
        Self::AfterNotOk,
        Self::AfterCorr,
        Self::Singleton,
    ];

    /// The name as sbatch has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::After => "after",
            Self::AfterAny => "afterany",
            Self::AfterOk => "afterok",
            Self::AfterNotOk => "afternotok",
            Self::AfterCorr => "aftercorr",
            Self::Singleton => "singleton",
        }
    }
}

/// One condition of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    pub rule: Rule,
    /// A job, all tasks of an array, or one task. `None` only for `singleton`.
    pub on: Option<JobKey>,
    /// The delay after the start, in whole minutes; only for `after`.
    pub delay: Span,
}

/// All conditions of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Dependency {
    terms: Vec<Term>,
    /// One satisfied condition is enough (`?`); otherwise all are required (`,`).
    any: bool,
}

/// The text is not a valid dependency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DependencyError {
    #[error(
        "`{0}` is not a dependency: write RULE:JOB as in afterok:20:21_3, after:20+5 (minutes) or \
         singleton, with `,` where all must be satisfied, `?` where one is enough"
    )]
    Shape(String),
    #[error(
        "there is no rule `{0}`: after, afterany, afterok, afternotok, aftercorr and singleton are \
         known"
    )]
    Rule(String),
    #[error(
        "`{0}` has both `,` and `?`: use `,` where all must be satisfied, `?` where one is enough"
    )]
    Mixed(String),
    #[error("a dependency on more than {DEPENDENCY_TERMS_MAX} jobs: chain them, or use an array")]
    TooMany,
}

impl Dependency {
    /// The conditions, in the order as written.
    #[must_use]
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Is one satisfied condition enough?
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.any
    }

    /// Does it depend on jobs of the same name?
    #[must_use]
    pub fn is_singleton(&self) -> bool {
        self.terms.iter().any(|term| term.rule == Rule::Singleton)
    }

    /// The same dependency with each job's key mapped by `name`.
    #[must_use]
    pub fn map_job_keys(&self, name: impl Fn(JobKey) -> JobKey) -> Self {
        let renamed = |term: &Term| Term { on: term.on.map(&name), ..*term };
        Self { terms: self.terms.iter().map(renamed).collect(), any: self.any }
    }
}

impl FromStr for Dependency {
    type Err = DependencyError;
    fn from_str(text: &str) -> Result<Self, DependencyError> {
        let any = text.contains('?');
        if any && text.contains(',') {
            return Err(DependencyError::Mixed(text.to_owned()));
        }
        let mut terms = Vec::new();
        for part in text.split([',', '?']) {
            read_part(part, &mut terms)?;
            if terms.len() > DEPENDENCY_TERMS_MAX {
                return Err(DependencyError::TooMany);
            }
        }
        Ok(Self { terms, any })
    }
}

fn read_part(part: &str, terms: &mut Vec<Term>) -> Result<(), DependencyError> {
    let shape = || DependencyError::Shape(part.to_owned());
    let mut words = part.split(':');
    let word = words.next().unwrap_or_default();
    let rule = Rule::ALL.into_iter().find(|rule| rule.word() == word.to_ascii_lowercase());
    let Some(rule) = rule else {
        let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
        return Err(if is_word { DependencyError::Rule(word.to_owned()) } else { shape() });
    };
    let before = terms.len();
    for job in words {
        let (job, minutes) = match job.split_once('+') {
            Some((job, minutes)) if rule == Rule::After => (job, Some(minutes)),
            _ => (job, None),
        };
        let plain = |m: &str| m.bytes().all(|b| b.is_ascii_digit()).then(|| m.parse::<u32>().ok());
        let minutes = minutes.map_or(Some(0), |m| plain(m).flatten()).ok_or_else(shape)?;
        let on = job.parse::<JobKey>().ok().filter(|key| key.component_offset().is_none());
        let on = Some(on.ok_or_else(shape)?);
        terms.push(Term { rule, on, delay: Span::from_minutes(u64::from(minutes)) });
    }
    match (rule, terms.len() - before) {
        (Rule::Singleton, 0) => terms.push(Term { rule, on: None, delay: Span(0) }),
        (Rule::Singleton, _) | (_, 0) => return Err(shape()),
        _ => {}
    }
    Ok(())
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule.word())?;
        if let Some(on) = self.on {
            write!(f, ":{on}")?;
        }
        match self.delay.seconds() / 60 {
            0 => Ok(()),
            minutes => write!(f, "+{minutes}"),
        }
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.any { "?" } else { "," };
        for (place, term) in self.terms.iter().enumerate() {
            write!(f, "{}{term}", if place == 0 { "" } else { between })?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Dependency {
    type Error = DependencyError;
    fn try_from(text: String) -> Result<Self, DependencyError> {
        text.parse()
    }
}

impl From<Dependency> for String {
    fn from(dependency: Dependency) -> Self {
        dependency.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_jobs_tasks_and_minutes_are_read() {
        let read = |text: &str| text.parse::<Dependency>().unwrap();
        let all = read("afterok:20:21_3,after:22+5,singleton");
        assert_eq!(all.to_string(), "afterok:20,afterok:21_3,after:22+5,singleton");
        assert_eq!(all.terms()[2].delay, Span::from_minutes(5));
        assert!(!all.is_any() && all.is_singleton());
        assert_eq!(read(&all.to_string()), all);
        let any = read("AFTERANY:1?afternotok:2");
        assert!(any.is_any() && !any.is_singleton());
        assert_eq!(any.to_string(), "afterany:1?afternotok:2");
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        for (text, word) in [
            ("", "is not a dependency"),
            ("12", "is not a dependency"),
            ("afterok", "is not a dependency"),
            ("afterok:", "is not a dependency"),
            ("afterok:x", "is not a dependency"),
            ("afterok:1+5", "is not a dependency"),
            ("after:1+", "is not a dependency"),
            ("after:1+-5", "is not a dependency"),
            ("singleton:1", "is not a dependency"),
            ("afterok:1,", "is not a dependency"),
            ("expand:1", "no rule `expand`"),
            ("afterburstbuffer:1", "no rule `afterburstbuffer`"),
            ("afterok:1,afterany:2?after:3", "both"),
        ] {
            let error = text.parse::<Dependency>().unwrap_err().to_string();
            assert!(error.contains(word), "{text:?}: {error}");
        }
        let many = vec!["1"; DEPENDENCY_TERMS_MAX + 1].join(":");
        assert_eq!(format!("after:{many}").parse::<Dependency>(), Err(DependencyError::TooMany));
    }
}
