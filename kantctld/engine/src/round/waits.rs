//! Why jobs wait, by class if equivalent jobs wait for the same reason.

use crate::model::shape_cache::ShapeIndex;
use crate::model::snapshot::Snapshot;
use crate::model::wait_queue::{ClassId, KindId};
use common::id::JobKey;
use common::reason::WaitReason;
use common::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Why jobs wait, as of the last round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Waits {
    /// The time of the round, to which reasons that depend on time refer.
    #[serde(default)]
    at: Time,
    by_job: BTreeMap<JobKey, WaitReason>,
    by_class: BTreeMap<u32, WaitReason>,
    by_kind: BTreeMap<u32, WaitReason>,
    #[serde(skip)]
    pub(crate) notes: Notes,
}

/// Notes of a round, turned into reasons at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Notes {
    pub by_job: BTreeMap<JobKey, (ShapeIndex, Option<JobKey>)>,
    pub by_kind: BTreeMap<KindId, (ShapeIndex, Option<JobKey>)>,
    started: BTreeSet<JobKey>,
}

impl Waits {
    /// For a round at this time, still empty.
    pub(crate) fn new(at: Time) -> Self {
        Self { at, ..Self::default() }
    }

    /// Why this job waits. `None`: it does not, or came after the round. Held jobs and jobs before
    /// their begin time have those reasons in any case.
    #[must_use]
    pub fn reason_of(&self, snapshot: &Snapshot, key: JobKey) -> Option<WaitReason> {
        let job = snapshot.waiting_job(key)?;
        if job.held {
            return Some(WaitReason::Held);
        }
        if job.awaits {
            return Some(WaitReason::Dependency { open: Vec::new(), more: 0, any: false });
        }
        if let Some(reason) = self.by_job.get(&key) {
            return Some(reason.clone());
        }
        let Some(class) = snapshot.class_of(key) else {
            return match (job.begin_at, job.not_before) {
                (Some(at), until) if Some(at) >= until => Some(WaitReason::BeginTime { at }),
                (_, Some(until)) => Some(WaitReason::BackOff { until }),
                _ => None,
            };
        };
        if let Some(reason) = self.by_class.get(&class.0) {
            return Some(reason.clone());
        }
        // The other jobs of its kind have no room; a reason of this job's own takes precedence.
        let kind = snapshot.wait_queue.class(class)?.kind;
        let reason = self.by_kind.get(&kind.0)?;
        Some(
            crate::policy::admit::admission_refusal(snapshot, job, self.at)
                .unwrap_or_else(|| reason.clone()),
        )
    }

    /// Whether [`Self::reason_of`] would return a reason.
    pub(crate) fn knows(&self, snapshot: &Snapshot, key: JobKey) -> bool {
        let Some(job) = snapshot.waiting_job(key) else { return false };
        job.is_kept_back()
            || self.by_job.contains_key(&key)
            || snapshot.class_of(key).map_or(job.earliest_start().is_some(), |class| {
                let kind = snapshot.wait_queue.class(class).map(|class| class.kind.0);
                self.by_class.contains_key(&class.0)
                    || kind.is_some_and(|kind| self.by_kind.contains_key(&kind))
            })
    }

    pub(crate) fn set_reason(&mut self, key: JobKey, reason: WaitReason) {
        self.by_job.insert(key, reason);
    }

    pub(crate) fn set_class_reason(&mut self, class: ClassId, reason: WaitReason) {
        self.by_class.insert(class.0, reason);
    }

    pub(crate) fn note_no_room(
        &mut self,
        key: JobKey,
        shape: ShapeIndex,
        kept_for: Option<JobKey>,
    ) {
        self.notes.by_job.insert(key, (shape, kept_for));
    }

    pub(crate) fn set_kind_reason(&mut self, kind: KindId, reason: WaitReason) {
        self.by_kind.insert(kind.0, reason);
    }

    pub(crate) fn note_kind_no_room(
        &mut self,
        kind: KindId,
        shape: ShapeIndex,
        kept_for: Option<JobKey>,
    ) {
        self.notes.by_kind.insert(kind, (shape, kept_for));
    }

    /// The job waits for the reason of an earlier round.
    pub(crate) fn set_earlier_reason(&mut self, key: JobKey, reason: WaitReason) {
        self.notes.by_job.remove(&key);
        self.by_job.insert(key, reason);
    }

    /// The same for all jobs of its kind.
    pub(crate) fn set_earlier_kind_reason(&mut self, kind: KindId, reason: WaitReason) {
        self.notes.by_kind.remove(&kind);
        self.by_kind.insert(kind.0, reason);
    }

    /// The reason that is known of a job, or of its class or kind.
    pub(crate) fn known_reason(&self, snapshot: &Snapshot, key: JobKey) -> Option<&WaitReason> {
        let class = snapshot.class_of(key)?;
        let own = self.by_job.get(&key).or_else(|| self.by_class.get(&class.0));
        own.or_else(|| self.by_kind.get(&snapshot.wait_queue.class(class)?.kind.0))
    }

    pub(crate) fn note_start(&mut self, key: JobKey) {
        self.notes.started.insert(key);
    }

    /// Whether the job has started in this round.
    pub(crate) fn has_started(&self, key: JobKey) -> bool {
        self.notes.started.contains(&key)
    }

    /// Reverts starts that did not happen after all.
    pub(crate) fn forget_starts(&mut self, keys: impl Iterator<Item = JobKey>) {
        for key in keys {
            self.notes.started.remove(&key);
        }
    }

    /// Whether this job is already decided on.
    pub(crate) fn is_decided(&self, key: JobKey) -> bool {
        self.notes.started.contains(&key)
            || self.by_job.contains_key(&key)
            || self.notes.by_job.contains_key(&key)
    }
}
