//! A set of logical CPUs in the kernel's form (`0-3,8`; man 7 cpuset, "List format").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The largest CPU number accepted, far above any machine; it bounds memory.
pub const CPU_ID_MAX: u32 = 65_535;

/// The number of words without an allocation: enough for most machines, since each share of a job
/// has a set.
const FIRST_WORDS: usize = 4;

/// A set of logical CPU numbers, as a bit mask.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet {
    /// Bit `i % 64` of word `i / 64` is CPU `i`.
    first: [u64; FIRST_WORDS],
    /// The words after those; no trailing zero words, so equal sets are equal.
    rest: Vec<u64>,
}

/// The text is not a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of CPUs: write numbers and ranges like 0-3,8")]
pub struct CpuSetError(pub String);

impl CpuSet {
    #[must_use]
    pub const fn new() -> Self {
        Self { first: [0; FIRST_WORDS], rest: Vec::new() }
    }

    /// CPUs `0..count`.
    #[must_use]
    pub fn first_n(count: u32) -> Self {
        (0..count).collect()
    }

    /// Adds a CPU; one above [`CPU_ID_MAX`] is ignored.
    pub fn insert(&mut self, cpu: u32) {
        if cpu > CPU_ID_MAX {
            return;
        }
        let word = cpu as usize / 64;
        if self.rest.len() + FIRST_WORDS <= word {
            self.rest.resize(word + 1 - FIRST_WORDS, 0);
        }
        if let Some(word) = self.word_mut(word) {
            *word |= 1 << (cpu % 64);
        }
    }

    pub fn remove(&mut self, cpu: u32) {
        if let Some(word) = self.word_mut(cpu as usize / 64) {
            *word &= !(1 << (cpu % 64));
        }
        self.trim();
    }

    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.word(cpu as usize / 64) >> (cpu % 64) & 1 == 1
    }

    #[must_use]
    pub fn len(&self) -> u32 {
        self.words().map(u64::count_ones).sum()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first == [0; FIRST_WORDS] && self.rest.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).step_by(64).zip(self.words()).flat_map(|(base, word)| {
            let without_lowest = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
            let left = std::iter::successors(Some(word).filter(|word| *word != 0), without_lowest);
            left.map(move |left| base + left.trailing_zeros())
        })
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.insert_all(other);
        set
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.combine_words(other, |a, b| a & b);
        set
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.remove_all(other);
        set
    }

    /// Adds the CPUs of another set.
    pub fn insert_all(&mut self, other: &Self) {
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        self.combine_words(other, |a, b| a | b);
    }

    /// Removes the CPUs of another set.
    pub fn remove_all(&mut self, other: &Self) {
        self.combine_words(other, |a, b| a & !b);
    }

    /// Is every CPU of this set in `other`?
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words().enumerate().all(|(at, own)| own & !other.word(at) == 0)
    }

    /// Do the two share a CPU?
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.words().zip(other.words()).any(|(own, other)| own & other != 0)
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.first.iter().chain(&self.rest).copied()
    }

    fn word(&self, at: usize) -> u64 {
        let rest = || self.rest.get(at - FIRST_WORDS);
        self.first.get(at).or_else(rest).copied().unwrap_or(0)
    }

    fn word_mut(&mut self, at: usize) -> Option<&mut u64> {
        match at.checked_sub(FIRST_WORDS) {
            None => self.first.get_mut(at),
            Some(at) => self.rest.get_mut(at),
        }
    }

    /// Combines each word with that of another set.
    fn combine_words(&mut self, other: &Self, combine: impl Fn(u64, u64) -> u64) {
        for (own, other) in self.first.iter_mut().zip(other.first) {
            *own = combine(*own, other);
        }
        let others = other.rest.iter().copied().chain(std::iter::repeat(0));
        self.rest.iter_mut().zip(others).for_each(|(own, other)| *own = combine(*own, other));
        self.trim();
    }

    fn trim(&mut self) {
        while self.rest.last() == Some(&0) {
            self.rest.pop();
        }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        let texts: Vec<String> = ranges
            .iter()
            .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
            .collect();
        f.pad(&texts.join(","))
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;
    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let bad = || CpuSetError(text.to_owned());
        let mut set = Self::new();
        for part in text.trim().split(',').filter(|p| !p.is_empty()) {
            let (a, b) = part.split_once('-').unwrap_or((part, part));
            let (a, b): (u32, u32) = (a.parse().map_err(|_| bad())?, b.parse().map_err(|_| bad())?);
            if a > b || b > CPU_ID_MAX {
                return Err(bad());
            }
            (a..=b).for_each(|cpu| set.insert(cpu));
        }
        Ok(set)
    }
}

impl TryFrom<String> for CpuSet {
    type Error = CpuSetError;
    fn try_from(text: String) -> Result<Self, CpuSetError> {
        text.parse()
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    #[test]
    fn the_kernels_list_format_is_read_and_written() {
        for text in ["", "0", "0-3", "0-3,8", "1,3,5-7,127"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
        for text in ["3-1", "x", "1-", "-1", "0-99999999"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn sets_behave_as_sets(a in btree_set(0u32..400, 0..40),
                               b in btree_set(0u32..400, 0..40)) {
            let x: CpuSet = a.iter().copied().collect();
            let y: CpuSet = b.iter().copied().collect();
            prop_assert!(x.union(&y).iter().eq(a.union(&b).copied()));
            prop_assert!(x.intersection(&y).iter().eq(a.intersection(&b).copied()));
            prop_assert!(x.difference(&y).iter().eq(a.difference(&b).copied()));
            prop_assert_eq!(x.to_string().parse::<CpuSet>().unwrap(), x);
        }
    }
}
