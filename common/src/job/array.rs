//! The tasks of an array and its concurrency limit, as written in `--array=0-9:2,20%4`.

use crate::id::ArrayIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The maximum number of tasks of one array.
pub const ARRAY_TASKS_MAX: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct ArraySpec {
    /// `(first, last, step)`, each with first <= last and step >= 1, as written.
    ranges: Vec<(u32, u32, u32)>,
    /// The maximum number of tasks that run at once.
    limit: Option<u32>,
}

/// The text does not describe an array.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    #[error("`{0}` is not an array: write indices like 0-99, 1,3,5-9:2 or 0-999%50")]
    Shape(String),
    #[error("array `{0}` has more than {ARRAY_TASKS_MAX} tasks: split it")]
    TooMany(String),
}

impl ArraySpec {
    /// The distinct indices, in ascending order.
    #[must_use]
    pub fn indices(&self) -> BTreeSet<ArrayIndex> {
        let each = self.ranges.iter().flat_map(|(a, b, s)| (*a..=*b).step_by(*s as usize));
        each.map(ArrayIndex).collect()
    }

    /// The number of job ids that the tasks take in addition to the array's own: one for each index
    /// of each range. An index that is named twice takes two, and uses the first.
    #[must_use]
    pub fn job_id_count(&self) -> u32 {
        self.ranges_with_sizes().map(|(_, size)| size).sum()
    }

    /// A task's position in the array, from 0; `None` if the array has no such task.
    #[must_use]
    pub fn place_of(&self, index: ArrayIndex) -> Option<u32> {
        let mut before = 0;
        for ((first, last, step), size) in self.ranges_with_sizes() {
            if (first..=last).contains(&index.0) && (index.0 - first).is_multiple_of(step) {
                return Some(before + (index.0 - first) / step);
            }
            before += size;
        }
        None
    }

    /// The task at a position.
    #[must_use]
    pub fn index_at(&self, place: u32) -> Option<ArrayIndex> {
        let mut left = place;
        for ((first, _, step), size) in self.ranges_with_sizes() {
            if left < size {
                return Some(ArrayIndex(first + left * step));
            }
            left -= size;
        }
        None
    }

    #[must_use]
    pub fn highest(&self) -> Option<ArrayIndex> {
        let last = |((first, _, step), size): ((u32, u32, u32), u32)| {
            size.checked_sub(1).map(|steps| ArrayIndex(first + steps * step))
        };
        self.ranges_with_sizes().filter_map(last).max()
    }

    fn ranges_with_sizes(&self) -> impl Iterator<Item = ((u32, u32, u32), u32)> + '_ {
        let size = |(first, last, step): (u32, u32, u32)| (last - first) / step + 1;
        self.ranges.iter().map(move |range| (*range, size(*range)))
    }

    /// The number of ranges as written.
    #[must_use]
    pub const fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// The maximum number of tasks that run at once; `None` without a limit.
    #[must_use]
    pub const fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// The same tasks with another limit on the number that run at once.
    #[must_use]
    pub fn with_limit(self, limit: Option<u32>) -> Self {
        Self { limit: limit.map(|limit| limit.max(1)), ..self }
    }

    /// The step, if the array is one stepped range (SLURM_ARRAY_TASK_STEP), else 1.
    #[must_use]
    pub fn step(&self) -> u32 {
        match self.ranges.as_slice() {
            [(_, _, step)] => *step,
            _ => 1,
        }
    }
}

/// Indices in ascending order as Slurm writes them: `0-3,7`.
#[must_use]
pub fn index_ranges(indices: &[ArrayIndex]) -> String {
    let follows = |a: &ArrayIndex, b: &ArrayIndex| a.0.checked_add(1) == Some(b.0);
    let show = |run: &[ArrayIndex]| match run {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
    };
    indices.chunk_by(follows).map(show).collect::<Vec<_>>().join(",")
}

impl FromStr for ArraySpec {
    type Err = ArrayError;
    fn from_str(text: &str) -> Result<Self, ArrayError> {
        let shape = || ArrayError::Shape(text.to_owned());
        let number = |t: &str| -> Result<u32, ArrayError> {
            let plain = !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
            if plain { t.parse().map_err(|_| shape()) } else { Err(shape()) }
        };
        let (list, limit) = match text.split_once('%') {
            Some((list, limit)) => (list, Some(number(limit)?)),
            None => (text, None),
        };
        let mut ranges = Vec::new();
        let mut count = 0_usize;
        for part in list.split(',') {
            let (range, step) = match part.split_once(':') {
                Some((range, step)) => (range, number(step)?),
                None => (part, 1),
            };
            let (a, b) = range.split_once('-').unwrap_or((range, range));
            let (a, b) = (number(a)?, number(b)?);
            if a > b || step == 0 || limit == Some(0) {
                return Err(shape());
            }
            count = count.saturating_add(((b - a) / step) as usize + 1);
            if count > ARRAY_TASKS_MAX {
                return Err(ArrayError::TooMany(text.to_owned()));
            }
            ranges.push((a, b, step));
        }
        Ok(Self { ranges, limit })
    }
}

impl fmt::Display for ArraySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (a, b, step)) in self.ranges.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match (a == b, step) {
                (true, _) => write!(f, "{comma}{a}")?,
                (false, 1) => write!(f, "{comma}{a}-{b}")?,
                (false, step) => write!(f, "{comma}{a}-{b}:{step}")?,
            }
        }
        self.limit.map_or(Ok(()), |limit| write!(f, "%{limit}"))
    }
}

impl TryFrom<String> for ArraySpec {
    type Error = ArrayError;
    fn try_from(text: String) -> Result<Self, ArrayError> {
        text.parse()
    }
}

impl From<ArraySpec> for String {
    fn from(array: ArraySpec) -> String {
        array.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lists_steps_and_limits_are_read() {
        let array: ArraySpec = "0-9:3,5,20-21%2".parse().unwrap();
        let indices: Vec<u32> = array.indices().into_iter().map(|i| i.0).collect();
        assert_eq!(indices, [0, 3, 5, 6, 9, 20, 21]);
        assert_eq!(array.limit(), Some(2));
        assert_eq!(array.to_string(), "0-9:3,5,20-21%2");
    }

    #[test]
    fn each_task_has_a_place_and_each_place_a_task() {
        let array: ArraySpec = "0-9:3,5,4-6,20-21%2".parse().unwrap();
        assert_eq!(array.job_id_count(), 10);
        for index in array.indices() {
            let place = array.place_of(index).unwrap();
            assert_eq!(array.index_at(place), Some(index));
        }
        assert_eq!(array.place_of(ArrayIndex(5)), Some(4));
        assert_eq!(array.index_at(6), Some(ArrayIndex(5)), "named twice");
        assert_eq!((array.place_of(ArrayIndex(1)), array.index_at(10)), (None, None));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "-1", "3-1", "0-4%0", "0-4%", "1-2:0", "0-4294967295", "1,,2"] {
            assert!(text.parse::<ArraySpec>().is_err(), "{text}");
        }
    }
}
