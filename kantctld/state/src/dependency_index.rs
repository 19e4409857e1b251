//! Indexes over the jobs: dependents by the job that they wait for, and unfinished jobs by name.
//! They are derived from the jobs and not stored. Dependents of a whole array are indexed by the
//! change that can affect them, so that the start or end of one of many tasks visits only those.

use crate::job::Record;
use crate::living::highest_key_of;
use common::id::{JobId, JobKey, Uid};
use common::job::dependency::Rule;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs by user and name.
type Named = BTreeMap<Uid, BTreeMap<String, BTreeSet<JobId>>>;

/// The change of a whole job that can affect a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counts {
    /// None of its tasks waits for its start any more.
    Started,
    /// All of it has ended.
    Over,
    /// One of its tasks has ended.
    Each,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DependencyIndex {
    /// By the job or task that is waited for and the change that counts, even after the term is
    /// decided.
    dependents: BTreeMap<(JobKey, Counts), BTreeSet<JobId>>,
    /// Jobs with an unfinished element.
    named: Named,
    /// Those of them that are singletons.
    singletons: Named,
}

impl DependencyIndex {
    /// The dependents of this task, and the dependents of its whole array that one of the changes
    /// `counts` can affect; in ascending order. A job that is no array counts as a whole.
    pub(crate) fn dependents(&self, moved: JobKey, counts: &[Counts]) -> BTreeSet<JobId> {
        let whole = counts.iter().map(|counts| (JobKey::single(moved.job), *counts));
        let one = moved.index.map(|_| (moved, Counts::Over));
        let of = |key| self.dependents.get(&key).into_iter().flatten().copied();
        whole.chain(one).flat_map(of).collect()
    }

    /// The unfinished jobs of this name, in ascending order.
    pub(crate) fn named(&self, owner: Uid, name: &str) -> impl Iterator<Item = JobId> + '_ {
        jobs_named(&self.named, owner, name)
    }

    /// The unfinished jobs of this name from `from` up to but excluding `before`, in ascending
    /// order.
    pub(crate) fn named_within(
        &self,
        (owner, name): (Uid, &str),
        from: JobId,
        before: JobId,
    ) -> impl Iterator<Item = JobId> + '_ {
        let ids = self.named.get(&owner).and_then(|names| names.get(name));
        ids.filter(|_| from <= before)
            .into_iter()
            .flat_map(move |ids| ids.range(from..before))
            .copied()
    }

    /// Whether there are any singletons.
    pub(crate) fn has_singletons(&self) -> bool {
        !self.singletons.is_empty()
    }

    /// The unfinished singletons of this name, in ascending order.
    pub(crate) fn singletons(&self, owner: Uid, name: &str) -> impl Iterator<Item = JobId> + '_ {
        jobs_named(&self.singletons, owner, name)
    }

    /// Adds the dependencies of a new or changed job. `knows` returns whether a job exists.
    pub(crate) fn bind(&mut self, record: &Record, knows: impl Fn(JobId) -> bool) {
        for on in awaited_changes(record).filter(|(on, _)| knows(on.job)) {
            self.dependents.entry(on).or_default().insert(record.id);
        }
    }

    /// Removes a job's dependencies.
    pub(crate) fn unbind(&mut self, record: &Record) {
        for on in awaited_changes(record) {
            if let Some(waiting) = self.dependents.get_mut(&on) {
                waiting.remove(&record.id);
                if waiting.is_empty() {
                    self.dependents.remove(&on);
                }
            }
        }
    }

    /// Removes a forgotten job, both as a dependent and as a dependency.
    pub(crate) fn forget(&mut self, record: &Record) {
        self.unbind(record);
        let last = (highest_key_of(record.id), Counts::Each);
        let all = (JobKey::single(record.id), Counts::Started)..=last;
        let gone: Vec<_> = self.dependents.range(all).map(|(key, _)| *key).collect();
        gone.iter().for_each(|key| drop(self.dependents.remove(key)));
    }

    /// Adds a job that has an unfinished element.
    pub(crate) fn insert_unfinished(&mut self, record: &Record) {
        let (owner, name) = (record.spec.owner.uid, &record.spec.ask.name);
        let add = |to: &mut Named| {
            let names = to.entry(owner).or_default();
            if let Some(ids) = names.get_mut(name.as_str()) {
                ids.insert(record.id);
            } else {
                names.insert(name.clone(), BTreeSet::from([record.id]));
            }
        };
        add(&mut self.named);
        if is_singleton(record) {
            add(&mut self.singletons);
        }
    }

    /// Removes a job that has no unfinished element any more.
    pub(crate) fn remove_finished(&mut self, record: &Record) {
        let (owner, name) = (record.spec.owner.uid, record.spec.ask.name.as_str());
        for from in [&mut self.named, &mut self.singletons] {
            let Some(names) = from.get_mut(&owner) else { continue };
            let Some(ids) = names.get_mut(name) else { continue };
            ids.remove(&record.id);
            if ids.is_empty() {
                names.remove(name);
            }
            if names.is_empty() {
                from.remove(&owner);
            }
        }
    }
}

fn jobs_named<'a>(named: &'a Named, owner: Uid, name: &str) -> impl Iterator<Item = JobId> + 'a {
    let ids = named.get(&owner).and_then(|names| names.get(name));
    ids.into_iter().flatten().copied()
}

/// The jobs that the terms name, and the changes of those that count. A term that names one task is
/// affected by each of its changes.
fn awaited_changes(record: &Record) -> impl Iterator<Item = (JobKey, Counts)> + '_ {
    let terms = record.spec.ask.dependency.iter().flat_map(|dependency| dependency.terms());
    let is_array = record.spec.ask.array.is_some();
    terms.filter_map(move |term| {
        let counts = match term.rule {
            _ if term.on?.index.is_some() => Counts::Over,
            Rule::After => Counts::Started,
            Rule::AfterCorr if is_array => Counts::Each,
            _ => Counts::Over,
        };
        Some((term.on?, counts))
    })
}

fn is_singleton(record: &Record) -> bool {
    record.spec.ask.dependency.as_ref().is_some_and(|dependency| dependency.is_singleton())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Element, Elements};
    use common::blob::BlobHash;
    use common::id::{ArrayIndex, Gid};
    use common::job::{Ask, Owner, Spec};
    use common::time::Time;

    fn waits_for(id: u32, text: &str, array: Option<&str>) -> Record {
        let dependency = Some(text.parse().unwrap());
        let array = array.map(|text| text.parse().unwrap());
        let ask = Ask { dependency, array, ..Ask::default() };
        let owner = Owner { uid: Uid(7), gid: Gid(7), name: "ada".to_owned() };
        let (script, environment) = (BlobHash::of(b""), BlobHash::of(b""));
        Record {
            id: JobId(id),
            numbers: 0,
            set: None,
            spec: Spec { owner, script, environment, ask },
            groups: Vec::new(),
            via: None,
            submitted_at: Time(0),
            expected: None,
            standing: Vec::new(),
            timeline: Vec::new(),
            elements: Elements::from_single(Element::new(false)),
        }
    }

    fn task(index: u32) -> JobKey {
        JobKey { job: JobId(1), index: Some(ArrayIndex(index)) }
    }

    #[test]
    fn a_changed_task_finds_its_dependents_and_no_others() {
        let mut index = DependencyIndex::default();
        let pairs: Vec<Record> =
            (0..1_000).map(|i| waits_for(10 + i, &format!("afterok:1_{i}"), None)).collect();
        pairs.iter().for_each(|record| index.bind(record, |_| true));
        let whole = [("after:1", None), ("afterany:1", None), ("aftercorr:1", Some("0-9"))];
        let whole = [5_000, 5_001, 5_002].into_iter().zip(whole);
        let whole: Vec<Record> =
            whole.map(|(id, (text, array))| waits_for(id, text, array)).collect();
        whole.iter().for_each(|record| index.bind(record, |_| true));
        let of = |index: &DependencyIndex, counts: &[Counts]| -> Vec<u32> {
            index.dependents(task(7), counts).into_iter().map(|id| id.0).collect()
        };
        assert_eq!(of(&index, &[]), [17]);
        assert_eq!(of(&index, &[Counts::Each]), [17, 5_002]);
        assert_eq!(of(&index, &[Counts::Over, Counts::Started]), [17, 5_000, 5_001]);
        index.unbind(&pairs[7]);
        assert_eq!(of(&index, &[Counts::Over]), [5_001]);
        index.forget(&waits_for(1, "afterok:2", None));
        assert_eq!(index, DependencyIndex::default(), "nothing is kept of a forgotten job");
    }
}
