//! GPUs of one node, in a list that needs no allocation for most nodes: each share of a job has
//! one.

use crate::id::GpuIndex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The number of GPUs without an allocation.
const FEW: usize = 8;

/// A list of GPUs, in the order in which they were given.
#[derive(Clone)]
pub struct GpuList(List);

#[derive(Clone)]
enum List {
    /// The first ones of these.
    Few(u8, [GpuIndex; FEW]),
    Many(Box<[GpuIndex]>),
}

impl GpuList {
    /// No GPU.
    #[must_use]
    pub const fn new() -> Self {
        Self(List::Few(0, [GpuIndex(0); FEW]))
    }
}

impl Default for GpuList {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for GpuList {
    type Target = [GpuIndex];

    fn deref(&self) -> &[GpuIndex] {
        match &self.0 {
            List::Few(count, all) => &all[..usize::from(*count)],
            List::Many(all) => all,
        }
    }
}

impl DerefMut for GpuList {
    fn deref_mut(&mut self) -> &mut [GpuIndex] {
        match &mut self.0 {
            List::Few(count, all) => &mut all[..usize::from(*count)],
            List::Many(all) => all,
        }
    }
}

impl FromIterator<GpuIndex> for GpuList {
    fn from_iter<I: IntoIterator<Item = GpuIndex>>(gpus: I) -> Self {
        let mut gpus = gpus.into_iter();
        let (mut count, mut few) = (0, [GpuIndex(0); FEW]);
        while let Some(gpu) = gpus.next() {
            let Some(place) = few.get_mut(usize::from(count)) else {
                let all = few.into_iter().chain([gpu]).chain(gpus);
                return Self(List::Many(all.collect()));
            };
            *place = gpu;
            count += 1;
        }
        Self(List::Few(count, few))
    }
}

impl From<Vec<GpuIndex>> for GpuList {
    fn from(gpus: Vec<GpuIndex>) -> Self {
        gpus.into_iter().collect()
    }
}

impl<const N: usize> From<[GpuIndex; N]> for GpuList {
    fn from(gpus: [GpuIndex; N]) -> Self {
        gpus.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a GpuList {
    type Item = &'a GpuIndex;
    type IntoIter = std::slice::Iter<'a, GpuIndex>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for GpuList {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for GpuList {}

impl fmt::Debug for GpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for GpuList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GpuList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_behave_and_are_stored_as_vectors() {
        for count in 0..20 {
            let plain: Vec<GpuIndex> = (0..count).rev().map(GpuIndex).collect();
            let mut list = GpuList::from(plain.clone());
            assert_eq!(*list, *plain);
            let stored = rmp_serde::to_vec_named(&plain).unwrap();
            assert_eq!(rmp_serde::to_vec_named(&list).unwrap(), stored);
            assert_eq!(rmp_serde::from_slice::<GpuList>(&stored).unwrap(), list);
            list.sort_unstable();
            assert!(list.iter().copied().eq((0..count).map(GpuIndex)));
        }
    }
}
