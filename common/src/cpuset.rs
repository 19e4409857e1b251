//! A set of logical CPUs in the kernel's form (`0-3,8`; man 7 cpuset, "List format").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The largest CPU number accepted, far above any machine; it bounds memory.
pub const CPU_ID_MAX: u32 = 65_535;

/// A set of logical CPU numbers, as a bit mask.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet {
    /// Bit `i % 64` of word `i / 64` is CPU `i`; no trailing zero words, so equal sets are equal.
    words: Vec<u64>,
}

/// The text is not a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of CPUs: write numbers and ranges like 0-3,8")]
pub struct CpuSetError(pub String);

impl CpuSet {
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// CPUs `0..count`.
    #[must_use]
    pub fn first(count: u32) -> Self {
        (0..count).collect()
    }

    /// Adds a CPU; one above [`CPU_ID_MAX`] is ignored.
    pub fn insert(&mut self, cpu: u32) {
        if cpu > CPU_ID_MAX {
            return;
        }
        let word = cpu as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    pub fn remove(&mut self, cpu: u32) {
        if let Some(word) = self.words.get_mut(cpu as usize / 64) {
            *word &= !(1 << (cpu % 64));
        }
        self.trim();
    }

    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|w| w >> (cpu % 64) & 1 == 1)
    }

    #[must_use]
    pub fn len(&self) -> u32 {
        self.words.iter().map(|w| w.count_ones()).sum()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| {
            let base = u32::try_from(i * 64).unwrap_or(u32::MAX);
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| base + bit)
        })
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// Adds the CPUs of another set.
    pub fn insert_all(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own |= other);
    }

    /// Removes the CPUs of another set.
    pub fn remove_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= !other);
        self.trim();
    }

    /// Is every CPU of this set in `other`?
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        let word = |at: usize| other.words.get(at).copied().unwrap_or(0);
        (0..).zip(&self.words).all(|(at, own)| own & !word(at) == 0)
    }

    /// Do the two share a CPU?
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(own, other)| own & other != 0)
    }

    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let word = |set: &Self, i: usize| set.words.get(i).copied().unwrap_or(0);
        let words = self.words.len().max(other.words.len());
        let mut set =
            Self { words: (0..words).map(|i| combine(word(self, i), word(other, i))).collect() };
        set.trim();
        set
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
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
        fn sets_behave_as_sets(a in btree_set(0u32..200, 0..40),
                               b in btree_set(0u32..200, 0..40)) {
            let x: CpuSet = a.iter().copied().collect();
            let y: CpuSet = b.iter().copied().collect();
            prop_assert!(x.union(&y).iter().eq(a.union(&b).copied()));
            prop_assert!(x.intersection(&y).iter().eq(a.intersection(&b).copied()));
            prop_assert!(x.difference(&y).iter().eq(a.difference(&b).copied()));
            prop_assert_eq!(x.to_string().parse::<CpuSet>().unwrap(), x);
        }
    }
}
