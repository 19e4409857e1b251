//! Maintenance of the indexes that are derived from the jobs. They are rebuilt when a state is read
//! and updated when a job changes. They are not stored.

use super::State;
use crate::dependency_index::DependencyIndex;
use crate::footprint::Footprint;
use crate::living::{Bounds, Living};
use common::id::JobKey;
use common::job::{Phase, Rlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl State {
    /// Records that a job or array task is now unfinished, or no longer is.
    pub(crate) fn set_alive(&mut self, key: JobKey, alive: bool) {
        let Some(record) = self.jobs.get(&key.job) else { return };
        let (owner, bounds) = (record.spec.owner.uid, Bounds::of(&record.spec.ask));
        if let Some(replica) = &record.spec.ask.replica {
            let of_service = self.replicas.entry(replica.service.clone()).or_default();
            match alive {
                true => _ = of_service.insert(key.job),
                false => _ = of_service.remove(&key.job),
            }
            if of_service.is_empty() {
                self.replicas.remove(&replica.service);
            }
        }
        if alive {
            self.living.insert(key, owner, bounds);
            self.dependency_index.insert_unfinished(record);
        } else {
            self.living.remove(key, owner, bounds);
            if self.living.has_none_of(key.job) {
                self.dependency_index.remove_finished(record);
            }
        }
    }

    /// Builds the indexes, and lets jobs that were read one by one share equal values.
    pub(crate) fn build_indexes(&mut self) {
        let mut last: Arc<[Rlimit]> = Arc::default();
        for record in self.jobs.values_mut().filter_map(Arc::get_mut) {
            let own = &mut record.spec.ask.rlimits;
            if *own == last {
                *own = last.clone();
            }
            last = own.clone();
        }
        let (mut living, mut dependency_index) = (Living::default(), DependencyIndex::default());
        let mut footprint = Footprint::default();
        let mut replicas: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for record in self.jobs.values() {
            dependency_index.bind(record, |job| self.jobs.contains_key(&job));
            let lives = record.elements.values().any(|element| element.phase != Phase::Done);
            footprint.insert_restored(record, &self.blobs, (lives, !self.is_textless(record.id)));
            if lives {
                dependency_index.insert_unfinished(record);
            }
            if let Some(replica) = record.spec.ask.replica.as_ref().filter(|_| lives) {
                replicas.entry(replica.service.clone()).or_default().insert(record.id);
            }
            living.note_elements(u32::try_from(record.elements.len()).unwrap_or(u32::MAX), true);
            let active = record.elements.values().filter(|e| e.phase.holds_resources());
            active.for_each(|_| living.note_active(true));
            let alive = record.elements.iter().filter(|(_, e)| e.phase != Phase::Done);
            let (owner, bounds) = (record.spec.owner.uid, Bounds::of(&record.spec.ask));
            alive.for_each(|(index, _)| living.insert(record.key(*index), owner, bounds));
        }
        (self.living, self.dependency_index, self.footprint) =
            (living, dependency_index, footprint);
        self.replicas = replicas;
        let asked = self.requests().map(|(uid, key, known)| (known.job, (uid, key.clone())));
        self.asked = asked.collect();
        self.asked_of_forgotten = BTreeMap::new();
        for (job, (uid, _)) in self.asked.iter().filter(|(job, _)| !self.jobs.contains_key(job)) {
            self.asked_of_forgotten.entry(*uid).or_default().insert(*job);
        }
    }
}
