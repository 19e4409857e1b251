//! The allocations on one node, with their sums.

use common::cpuset::CpuSet;
use common::id::{AttemptId, GpuIndex};
use common::resource::GpuList;
use common::unit::{Bytes, GpuMilli};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The allocations on one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Holdings {
    /// In ascending order. Most nodes have few, and a map would take the room of eleven.
    #[serde(with = "as_map")]
    holders: Vec<(AttemptId, Held)>,
    cpus: CpuSet,
    memory: Bytes,
    /// All GPUs that are allocated, wholly or in part, in ascending order.
    gpus: GpuList,
    /// The allocated part of each shared GPU.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    parts: BTreeMap<GpuIndex, GpuMilli>,
}

/// The allocation of one attempt on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub cpus: CpuSet,
    pub memory: Bytes,
    /// In ascending order.
    pub gpus: GpuList,
    /// The part of each GPU; `None` if the GPUs are held whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_milli: Option<GpuMilli>,
    /// No other attempt may run on the node.
    pub exclusive: bool,
}

impl Holdings {
    pub fn holders(&self) -> impl Iterator<Item = (AttemptId, &Held)> {
        self.holders.iter().map(|(id, held)| (*id, held))
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.holders.is_empty()
    }

    #[must_use]
    pub const fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    #[must_use]
    pub const fn memory(&self) -> Bytes {
        self.memory
    }

    /// All GPUs that are allocated, wholly or in part, in ascending order.
    #[must_use]
    pub fn gpus(&self) -> &[GpuIndex] {
        &self.gpus
    }

    /// The allocated part of a GPU: 0 to [`GpuMilli::WHOLE`].
    #[must_use]
    pub fn gpu_milli(&self, gpu: GpuIndex) -> GpuMilli {
        let part = || self.parts.get(&gpu).copied().unwrap_or(GpuMilli::WHOLE);
        self.gpus.binary_search(&gpu).map_or(GpuMilli::ZERO, |_| part())
    }

    /// The allocated part of each shared GPU, in ascending order of GPUs.
    #[must_use]
    pub const fn shared_gpus(&self) -> &BTreeMap<GpuIndex, GpuMilli> {
        &self.parts
    }

    /// Whether an attempt holds the node exclusively.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.holders.iter().any(|(_, held)| held.exclusive)
    }

    /// Adds a holder, which must not be one yet.
    pub(super) fn insert(&mut self, id: AttemptId, held: Held) {
        self.cpus.insert_all(&held.cpus);
        self.memory += held.memory;
        if self.holders.is_empty() {
            self.gpus = held.gpus.clone();
        } else {
            let more = held.gpus.iter().filter(|gpu| self.gpus.binary_search(gpu).is_err());
            self.gpus = self.gpus.iter().chain(more).copied().collect();
            self.gpus.sort_unstable();
        }
        for (gpu, part) in held.gpus.iter().filter_map(|gpu| Some((gpu, held.gpu_milli?))) {
            *self.parts.entry(*gpu).or_default() += part;
        }
        let at = self.holders.partition_point(|(other, _)| *other < id);
        self.holders.insert(at, (id, held));
    }

    /// Removes a holder, if it is one. No two hold the same CPU, or the same part of a GPU.
    pub(super) fn remove(&mut self, id: AttemptId) {
        let Ok(at) = self.holders.binary_search_by_key(&id, |(id, _)| *id) else { return };
        let (_, held) = self.holders.remove(at);
        if self.holders.is_empty() {
            // The list of holders keeps its memory for the next ones.
            *self = Self { holders: std::mem::take(&mut self.holders), ..Self::default() };
            return;
        }
        self.cpus.remove_all(&held.cpus);
        self.memory -= held.memory;
        let mut gone = held.gpus.to_vec();
        gone.retain(|gpu| {
            let (Some(part), Some(sum)) = (held.gpu_milli, self.parts.get_mut(gpu)) else {
                return true;
            };
            *sum -= part;
            let is_gone = *sum == GpuMilli::ZERO;
            if is_gone {
                self.parts.remove(gpu);
            }
            is_gone
        });
        self.gpus = self.gpus.iter().filter(|gpu| !gone.contains(gpu)).copied().collect();
    }
}

/// A vector of pairs with ascending keys, stored as a map.
mod as_map {
    use super::{AttemptId, BTreeMap, Deserialize, Held};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        holders: &[(AttemptId, Held)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(holders.iter().map(|(id, held)| (id, held)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(AttemptId, Held)>, D::Error> {
        BTreeMap::deserialize(deserializer).map(|holders| holders.into_iter().collect())
    }
}
