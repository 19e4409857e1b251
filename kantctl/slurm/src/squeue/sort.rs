//! The order of squeue's lines (`--sort`).
//! Source: man squeue (--sort).

use super::super::job_fields::{self, JobField};
use super::super::line_value::Value;
use cli::failure::Failure;
use slurm_json::job_line::Line;
use std::cmp::Ordering;

/// Parses `P,t,-p` into fields; true: reversed.
///
/// # Errors
/// [`Failure`] naming the unknown field.
pub fn parse(text: &str) -> Result<Vec<(&'static JobField, bool)>, Failure> {
    let one = |word: &str| {
        let (word, reversed) = match word.strip_prefix('-') {
            Some(word) => (word, true),
            None => (word.trim_start_matches('+'), false),
        };
        let letter = word.chars().next().filter(|_| word.len() == 1);
        let field = letter.and_then(job_fields::by_letter).or(job_fields::by_squeue_name(word));
        let unknown = || Failure::usage(anyhow::anyhow!("cannot sort by {word:?}: no such field"));
        field.map(|field| (field, reversed)).ok_or_else(unknown)
    };
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(one).collect()
}

/// Compares by the first field in which the lines differ.
#[must_use]
pub fn compare(keys: &[(&JobField, bool)], one: &Line<'_>, other: &Line<'_>) -> Ordering {
    let by = |(field, reversed): &(&JobField, bool)| {
        let ordering = match field.letter {
            't' | 'T' => one.job.phase.cmp(&other.job.phase),
            'i' | 'A' => one.job.key.cmp(&other.job.key),
            // The position in the queue is the order of priorities.
            'p' | 'Q' => other.job.position.cmp(&one.job.position),
            _ => compare_values(field, one, other),
        };
        if *reversed { ordering.reverse() } else { ordering }
    };
    keys.iter().map(by).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

/// Compares numbers by size, text alphabetically, times and spans by length.
fn compare_values(field: &JobField, one: &Line<'_>, other: &Line<'_>) -> Ordering {
    match (field.value(one), field.value(other)) {
        (Value::At(one), Value::At(other)) => one.cmp(&other),
        (Value::Span(one), Value::Span(other)) => one.cmp(&other),
        (Value::Words(one), Value::Words(other)) => {
            match (one.parse::<i64>(), other.parse::<i64>()) {
                (Ok(one), Ok(other)) => one.cmp(&other),
                _ => one.cmp(&other),
            }
        }
        (one, other) => missing_value_rank(&one).cmp(&missing_value_rank(&other)),
    }
}

/// Fields without a value come last.
const fn missing_value_rank(value: &Value) -> u8 {
    match value {
        Value::Unlimited => 1,
        Value::Unset | Value::Unknown => 2,
        _ => 0,
    }
}
