//! File name patterns of jobs (`--output=logs/%x-%4j.out`; man sbatch, "filename pattern"). The
//! node that opens a file and the controller that finds it use the same code.

use crate::id::{JobId, JobKey, NodeName};

/// The maximum zero padding of a pattern (`%10j`), as in Slurm.
pub const PATTERN_WIDTH_MAX: usize = 10;

/// The values that a pattern can refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatternFacts<'a> {
    /// The job or array task: `%A` (42) and `%a` (7; 0 for a job that is no array).
    pub key: JobKey,
    /// `%j`: the job id of the job or task (SLURM_JOB_ID). `None` for a task without an id yet:
    /// then `%j` is `42_7`, which is unique as well.
    pub number: Option<JobId>,
    /// `%x`.
    pub job_name: &'a str,
    /// `%u`.
    pub user: &'a str,
    /// `%N`.
    pub node: &'a NodeName,
    /// `%n`: the node's position in the allocation, from 0.
    pub node_rank: u32,
    /// `%t`: the task's rank in the job, from 0.
    pub task_rank: u32,
}

/// The pattern with its letters replaced. Numbers are padded with zeros where requested (`%4j`). A
/// `/` in a job's or user's name becomes `_`, so that a name cannot change the directory. Parts
/// that `job::check` refuses stay as they are.
#[must_use]
pub fn fill(pattern: &str, facts: &PatternFacts<'_>) -> String {
    let mut filled = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(percent) = rest.find('%') {
        filled.push_str(&rest[..percent]);
        let after = &rest[percent + 1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let width = after[..digits].parse().unwrap_or(0_usize).min(PATTERN_WIDTH_MAX);
        let letter = after[digits..].chars().next();
        match letter.and_then(|l| value(l, width, facts)) {
            Some(value) => {
                filled.push_str(&value);
                rest = &after[digits + 1..];
            }
            None => {
                filled.push('%');
                rest = after;
            }
        }
    }
    filled + rest
}

/// The value of one letter; `None` for an unknown letter.
fn value(letter: char, width: usize, facts: &PatternFacts<'_>) -> Option<String> {
    let number = |n: u32| format!("{n:0width$}");
    let job = number(facts.key.job.0);
    Some(match letter {
        // In Slurm %J is job and step; for a batch script it is the job.
        'j' | 'J' => match (facts.key.index, facts.number) {
            (None, _) => job,
            (Some(_), Some(own)) => number(own.0),
            (Some(index), None) => format!("{job}_{index}"),
        },
        'A' => job,
        'a' => number(facts.key.index.map_or(0, |index| index.0)),
        'x' => facts.job_name.replace('/', "_"),
        'u' => facts.user.replace('/', "_"),
        'N' => facts.node.to_string(),
        'n' => number(facts.node_rank),
        't' => number(facts.task_rank),
        's' => "batch".to_owned(),
        '%' => "%".to_owned(),
        _ => return None,
    })
}

/// The filled pattern as an absolute path; relative paths begin in the working directory.
#[must_use]
pub fn absolute(work_dir: &str, filled: &str) -> String {
    if filled.starts_with('/') {
        return filled.to_owned();
    }
    format!("{}/{filled}", work_dir.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ArrayIndex;
    use proptest::prelude::*;

    fn filled(pattern: &str) -> String {
        numbered(pattern, Some(JobId(50)))
    }

    fn numbered(pattern: &str, number: Option<JobId>) -> String {
        let node = NodeName::new("g-012").unwrap();
        let key = JobKey { job: JobId(42), index: Some(ArrayIndex(7)) };
        let facts = PatternFacts {
            key,
            number,
            job_name: "../train",
            user: "ada",
            node: &node,
            node_rank: 1,
            task_rank: 9,
        };
        fill(pattern, &facts)
    }

    #[test]
    fn every_letter_stands_for_its_fact() {
        for (pattern, name) in [
            ("kant-%A_%a.out", "kant-42_7.out"),
            ("%j", "50"),
            ("%5j-%3A-%2a", "00050-042-07"),
            ("%x.%u.%N", ".._train.ada.g-012"),
            ("%n/%4t", "1/0009"),
            ("100%%", "100%"),
            ("%99t", "0000000009"),
            ("plain", "plain"),
        ] {
            assert_eq!(filled(pattern), name, "{pattern}");
        }
    }

    #[test]
    fn a_task_without_a_number_of_its_own_is_named_by_its_key() {
        assert_eq!(numbered("%j", None), "42_7");
        assert_eq!(numbered("%5j", None), "00042_7");
    }

    #[test]
    fn what_is_no_pattern_stays_as_written() {
        for pattern in ["%", "%q", "%4", "a%é", "50% of%"] {
            assert_eq!(filled(pattern), pattern);
        }
    }

    #[test]
    fn a_job_that_is_no_array_has_a_plain_number() {
        let node = NodeName::new("n").unwrap();
        let key = JobKey::single(JobId(5));
        let (number, job_name, user) = (Some(key.job), "", "");
        let facts =
            PatternFacts { key, number, job_name, user, node: &node, node_rank: 0, task_rank: 0 };
        assert_eq!(fill("%j.%A.%a", &facts), "5.5.0");
    }

    #[test]
    fn relative_names_begin_in_the_working_directory() {
        assert_eq!(absolute("/home/ada", "o/x"), "/home/ada/o/x");
        assert_eq!(absolute("/", "x"), "/x");
        assert_eq!(absolute("/home/ada", "/tmp/x"), "/tmp/x");
    }

    proptest! {
        #[test]
        fn doubled_percent_signs_protect_any_text(text in "[%a-zé0-9]{0,20}") {
            let protected = text.replace('%', "%%");
            prop_assert_eq!(filled(&protected), text);
        }
    }
}
