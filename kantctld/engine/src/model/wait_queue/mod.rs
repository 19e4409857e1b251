//! The waiting jobs, grouped by equivalence: a round that cannot start the first job of a class or
//! kind can skip the others. Ranks are computed when a class gets another first job, not in each
//! round.

mod buckets;
mod class;
mod kind;

pub(crate) use buckets::JobsOfBucket;
pub(crate) use class::{Class, ClassId, ClassKey, JobsByLength, SharingTerms};
pub(crate) use kind::{Kind, KindFacts, KindId, KindKey, PartId};

use crate::model::job::WaitingJob;
use crate::model::rank::Rank;
use common::id::JobKey;
use common::resource::Request;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where a waiting job is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Held, waiting for a dependency, or before its begin time.
    Parked,
    In(ClassId),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct WaitQueue {
    jobs: BTreeMap<JobKey, (Arc<WaitingJob>, Place)>,
    /// Jobs that wait for a time, soonest first.
    gates: BTreeSet<(Time, JobKey)>,
    classes: BTreeMap<ClassId, Class>,
    by_key: BTreeMap<ClassKey, ClassId>,
    next_class: u32,
    kinds: BTreeMap<KindId, Kind>,
    /// The kinds by the ranks of their first jobs.
    by_rank: BTreeMap<(Rank, KindId), KindFacts>,
    kind_by_key: BTreeMap<KindKey, KindId>,
    next_kind: u32,
    /// What jobs ask for, and how many kinds ask for it.
    requests: BTreeMap<Arc<Request>, u32>,
    /// What kinds ask of one node, and how many kinds ask for it.
    parts: BTreeMap<KindKey, (PartId, u32)>,
    next_part: u32,
    /// Components of sets, parked ones too, by their first component.
    together: BTreeMap<JobKey, BTreeSet<JobKey>>,
    /// Classes whose first job may have changed since ranks were computed.
    stale: BTreeSet<ClassId>,
}

impl WaitQueue {
    /// Adds or changes a job. Jobs that ask for the same share their request, which is compared
    /// often.
    pub fn set(&mut self, mut job: WaitingJob) {
        self.remove(job.key);
        if let Some((known, _)) = self.requests.get_key_value(&job.request) {
            job.request = known.clone();
        }
        let job = Arc::new(job);
        if let Some(first) = job.together {
            self.together.entry(first).or_default().insert(job.key);
        }
        let place = match job.earliest_start() {
            _ if job.is_kept_back() => Place::Parked,
            Some(gate) => {
                self.gates.insert((gate, job.key));
                Place::Parked
            }
            None => Place::In(self.join(&job)),
        };
        self.jobs.insert(job.key, (job, place));
    }

    fn join(&mut self, job: &Arc<WaitingJob>) -> ClassId {
        let key = ClassKey::of(job);
        let next = ClassId(self.next_class);
        let id = *self.by_key.entry(key.clone()).or_insert(next);
        if id == next {
            self.next_class += 1;
            let kind = self.kind(KindKey::of(job));
            self.classes.insert(id, Class::new(key, kind));
        }
        self.change(id, |class| class.add(job.clone()));
        if let Some(kind) = self.classes.get(&id).and_then(|class| self.kinds.get_mut(&class.kind))
        {
            kind.buckets.add(job.clone());
        }
        id
    }

    fn kind(&mut self, key: KindKey) -> KindId {
        let next = KindId(self.next_kind);
        let id = *self.kind_by_key.entry(key.clone()).or_insert(next);
        if id == next {
            self.next_kind += 1;
            *self.requests.entry(key.request().clone()).or_default() += 1;
            let next_part = PartId(self.next_part);
            let part = self.parts.entry(key.of_one_node()).or_insert((next_part, 0));
            part.1 += 1;
            self.next_part += u32::from(part.0 == next_part);
            self.kinds.insert(id, Kind::new(key, part.0));
        }
        id
    }

    /// Changes a class, and updates what its kind knows of it.
    fn change(&mut self, id: ClassId, change: impl FnOnce(&mut Class)) {
        let Some(class) = self.classes.get_mut(&id) else { return };
        let was = (!class.is_empty()).then(|| class.limit_min());
        change(class);
        let is = (!class.is_empty()).then(|| class.limit_min());
        self.stale.insert(id);
        if let Some(kind) = self.kinds.get_mut(&class.kind)
            && was != is
        {
            kind.change_shortest(id, was, is);
        }
    }

    /// Changes which classes lead a kind, and the place of the kind among all.
    fn change_heads(&mut self, id: KindId, change: impl FnOnce(&mut Kind)) {
        let Some(kind) = self.kinds.get_mut(&id) else { return };
        let was = kind.rank();
        change(kind);
        let is = kind.rank();
        if was != is {
            let facts = was.and_then(|was| self.by_rank.remove(&(was, id)));
            if let Some(is) = is {
                self.by_rank.insert((is, id), facts.unwrap_or_else(|| kind.facts(id)));
            }
        }
    }

    /// Removes a class without jobs.
    fn drop_class(&mut self, id: ClassId) {
        let Some(class) = self.classes.remove(&id) else { return };
        self.by_key.remove(class.key());
        self.stale.remove(&id);
        if let Some(rank) = class.rank {
            self.change_heads(class.kind, |kind| kind.remove_class_rank(id, rank));
        }
        if self.kinds.get(&class.kind).is_some_and(Kind::is_empty)
            && let Some(kind) = self.kinds.remove(&class.kind)
        {
            self.kind_by_key.remove(kind.key());
            if let Some(kinds) = self.requests.get_mut(kind.key().request()) {
                *kinds -= 1;
                if *kinds == 0 {
                    self.requests.remove(kind.key().request());
                }
            }
            let part = kind.key().of_one_node();
            if let Some((_, kinds)) = self.parts.get_mut(&part) {
                *kinds -= 1;
                if *kinds == 0 {
                    self.parts.remove(&part);
                }
            }
        }
    }

    /// Removes a job.
    pub fn remove(&mut self, key: JobKey) {
        let Some((job, place)) = self.jobs.remove(&key) else { return };
        if let Some(first) = job.together
            && let Some(components) = self.together.get_mut(&first)
        {
            components.remove(&key);
            if components.is_empty() {
                self.together.remove(&first);
            }
        }
        match place {
            Place::Parked => {
                if let Some(gate) = job.earliest_start() {
                    self.gates.remove(&(gate, key));
                }
            }
            Place::In(id) => {
                self.change(id, |class| class.remove(&job));
                if let Some(kind) =
                    self.classes.get(&id).and_then(|class| self.kinds.get_mut(&class.kind))
                {
                    kind.buckets.remove(&job);
                }
                if self.classes.get(&id).is_some_and(Class::is_empty) {
                    self.drop_class(id);
                }
            }
        }
    }

    /// Moves jobs whose time has come from the parked ones to their classes.
    pub fn unpark_due_jobs(&mut self, now: Time) {
        while let Some((gate, key)) = self.gates.first().copied().filter(|(gate, _)| *gate <= now) {
            self.gates.remove(&(gate, key));
            if let Some((job, _)) = self.jobs.get(&key) {
                let job = job.clone();
                let id = self.join(&job);
                self.jobs.insert(key, (job, Place::In(id)));
            }
        }
    }

    /// Computes the ranks of first jobs, and what the policy says of their classes: of classes that
    /// changed, or of all.
    pub fn compute_ranks(
        &mut self,
        all: bool,
        rank: impl Fn(&WaitingJob) -> Rank,
        sharing: impl Fn(&WaitingJob) -> Option<SharingTerms>,
    ) {
        let stale: Vec<ClassId> = if all {
            self.classes.keys().copied().collect()
        } else {
            self.stale.iter().copied().collect()
        };
        self.stale.clear();
        for id in stale {
            let Some(class) = self.classes.get_mut(&id) else { continue };
            let Some(first) = class.jobs().next() else { continue };
            let (first, sharing) = (rank(first), sharing(first));
            class.sharing = sharing;
            let (kind, before) = (class.kind, class.rank.replace(first));
            if before == Some(first) {
                continue;
            }
            self.change_heads(kind, |kind| {
                before.into_iter().for_each(|before| kind.remove_class_rank(id, before));
                kind.insert_class_rank(id, first);
            });
        }
    }

    /// Whether no parked job's time has come, and all classes have ranks.
    pub fn is_settled(&self, now: Time) -> bool {
        self.stale.is_empty() && self.gates.first().is_none_or(|(gate, _)| *gate > now)
    }

    /// When the next parked job's time comes.
    pub fn next_due_time(&self) -> Option<Time> {
        self.gates.first().map(|(gate, _)| *gate)
    }

    /// The classes of jobs that may start, in arbitrary order.
    pub fn classes(&self) -> impl Iterator<Item = (ClassId, &Class)> {
        self.classes.iter().map(|(id, class)| (*id, class))
    }

    /// The components that start together with this one, by key.
    pub fn components_with(&self, first: JobKey) -> impl Iterator<Item = &Arc<WaitingJob>> {
        let keys = self.together.get(&first).into_iter().flatten();
        keys.filter_map(|key| self.get(*key))
    }

    /// The kinds, in arbitrary order.
    pub fn kinds(&self) -> impl Iterator<Item = (KindId, &Kind)> {
        self.kinds.iter().map(|(id, kind)| (*id, kind))
    }

    /// What a round asks first of the kinds, by the ranks of their first jobs.
    pub fn by_rank(&self) -> impl Iterator<Item = (Rank, &KindFacts)> {
        self.by_rank.iter().map(|((rank, _), facts)| (*rank, facts))
    }

    pub fn kinds_len(&self) -> usize {
        self.kinds.len()
    }

    pub fn kind_of(&self, id: KindId) -> Option<&Kind> {
        self.kinds.get(&id)
    }

    pub fn class(&self, id: ClassId) -> Option<&Class> {
        self.classes.get(&id)
    }

    /// The class of a job. `None`: it is parked or unknown.
    pub fn class_of(&self, key: JobKey) -> Option<ClassId> {
        match self.jobs.get(&key)? {
            (_, Place::In(id)) => Some(*id),
            (_, Place::Parked) => None,
        }
    }

    pub fn get(&self, key: JobKey) -> Option<&Arc<WaitingJob>> {
        self.jobs.get(&key).map(|(job, _)| job)
    }

    /// All jobs, by key.
    pub fn all(&self) -> impl Iterator<Item = &Arc<WaitingJob>> {
        self.jobs.values().map(|(job, _)| job)
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }
}
