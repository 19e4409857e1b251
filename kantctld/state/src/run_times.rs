//! How long jobs ran, and what that lets expect of the next ones.
//!
//! Source: D. Tsafrir et al., "Backfilling Using System-Generated Predictions", IEEE TPDS 18(6),
//! 2007: the mean of a user's last two run times. Jobs of one user differ, so the runs of similar
//! jobs are asked first: those with the same name, size and time limit, then those with the same
//! time limit. All numbers are integers, so that replicas agree.
//!
//! Only runs that ended by themselves or by their time limit count. A user has at most
//! [`CLASSES_MAX`] classes of similar jobs, of which the one that ended longest ago is dropped
//! first, and users without an end for [`KEPT`] are dropped.

use common::id::Uid;
use common::job::Ask;
use common::resource::{GpuRequest, Request};
use common::time::{Span, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of classes of similar jobs of a user. A class takes some 50 bytes.
const CLASSES_MAX: usize = 64;

/// How long the run times of a user are kept after the last end.
pub(crate) const KEPT: Span = Span::from_minutes(90 * 24 * 60);

/// No job is expected to run for less than this.
const SHORTEST: Span = Span::from_seconds(1);

/// What similar jobs of a user have in common.
#[derive(Debug, Clone, Copy)]
pub struct Traits<'a> {
    pub name: &'a str,
    pub request: &'a Request,
    pub time_limit: Option<Span>,
}

impl<'a> Traits<'a> {
    #[must_use]
    pub fn of(ask: &'a Ask) -> Self {
        Self { name: &ask.name, request: &ask.request, time_limit: ask.time_limit }
    }
}

/// A class of similar jobs: the start of a hash of what they have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
struct Class(u64);

impl Class {
    /// All jobs of the user.
    const ALL: Self = Self(0);
}

/// The last two runs of similar jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LastRuns {
    last: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Span>,
    ended_at: Time,
}

type OfUser = BTreeMap<Class, LastRuns>;

/// The last run times by user and class of similar jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunTimes(BTreeMap<Uid, Arc<OfUser>>);

impl RunTimes {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How long a job of this user is expected to run: the mean of the last two runs of the first
    /// class with two runs, otherwise the user's only run. `None` if the user has none, or if it is
    /// no less than the time limit.
    #[must_use]
    pub fn expected(&self, user: Uid, traits: Traits<'_>, now: Time) -> Option<Span> {
        let of_user = self.0.get(&user).filter(|of_user| is_kept(of_user, now))?;
        let mut known = classes(traits).into_iter().filter_map(|class| of_user.get(&class));
        let has_two = known.clone().find(|runs| runs.before.is_some());
        let expected = has_two.or(known.next_back())?.mean().max(SHORTEST);
        Some(expected).filter(|expected| traits.time_limit.is_none_or(|limit| *expected < limit))
    }

    /// Notes how long a job ran that ended at this time.
    pub fn note(&mut self, user: Uid, traits: Traits<'_>, ran: Span, ended_at: Time) {
        let run = LastRuns { last: ran, before: None, ended_at };
        let of_user = Arc::make_mut(self.0.entry(user).or_default());
        if !is_kept(of_user, ended_at) {
            of_user.clear();
        }
        for class in classes(traits) {
            of_user.entry(class).and_modify(|runs| runs.add(run)).or_insert(run);
        }
        while of_user.len() > CLASSES_MAX {
            let others = of_user.iter().filter(|(class, _)| **class != Class::ALL);
            let oldest = others.min_by_key(|(class, runs)| (runs.ended_at, **class));
            let Some(oldest) = oldest.map(|(class, _)| *class) else { return };
            of_user.remove(&oldest);
        }
    }

    /// Drops users whose last end is too long ago.
    pub(crate) fn forget(&mut self, now: Time) {
        self.0.retain(|_, of_user| is_kept(of_user, now));
    }
}

fn is_kept(of_user: &OfUser, now: Time) -> bool {
    of_user.get(&Class::ALL).is_some_and(|runs| runs.ended_at + KEPT >= now)
}

impl LastRuns {
    fn add(&mut self, run: Self) {
        *self = Self { before: Some(self.last), ..run };
    }

    fn mean(&self) -> Span {
        let before = self.before.unwrap_or(self.last);
        Span(self.last.0.midpoint(before.0))
    }
}

/// The classes that a job belongs to, the most similar jobs first.
fn classes(traits: Traits<'_>) -> [Class; 3] {
    let Traits { name, request, time_limit } = traits;
    let limit = time_limit.map_or(u64::MAX, |limit| limit.0).to_le_bytes();
    let (how, gpus) = match &request.gpus {
        None => (0, 0),
        Some(GpuRequest::PerNode(gpus)) => (1, gpus.0),
        Some(GpuRequest::PerTask(gpus)) => (2, gpus.0),
        Some(GpuRequest::Total(gpus)) => (3, gpus.0),
        Some(GpuRequest::Parts(parts)) => (4, parts.devices.0),
    };
    let size = [request.nodes.map_or(0, |nodes| nodes.0), request.tasks.0, how, gpus];
    let mut similar = Sha256::new();
    similar.update(limit);
    let mut most_similar = similar.clone();
    size.iter().for_each(|number| most_similar.update(number.to_le_bytes()));
    most_similar.update(name);
    let [most_similar, similar] = [most_similar, similar].map(|hash| {
        let bytes = hash.finalize();
        let first = bytes.first_chunk().copied().unwrap_or_default();
        Class(u64::from_le_bytes(first))
    });
    [most_similar, similar, Class::ALL]
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::unit::Nodes;

    const USER: Uid = Uid(1000);

    const fn minutes(minutes: u64) -> Span {
        Span::from_minutes(minutes)
    }

    fn traits<'a>(name: &'a str, request: &'a Request, limit: u64) -> Traits<'a> {
        Traits { name, request, time_limit: Some(minutes(limit)) }
    }

    #[test]
    fn similar_jobs_are_asked_first_then_those_with_the_limit_then_all_of_the_user() {
        let (one, two) =
            (Request::default(), Request { nodes: Some(Nodes(2)), ..Request::default() });
        let mut runs = RunTimes::default();
        let mut at = Time(0);
        let mut note = |runs: &mut RunTimes, traits, ran| {
            at = at + minutes(1);
            runs.note(USER, traits, minutes(ran), at);
        };
        assert_eq!(runs.expected(USER, traits("train", &one, 60), Time(0)), None);
        note(&mut runs, traits("train", &one, 60), 10);
        note(&mut runs, traits("train", &two, 60), 40);
        let of = |runs: &RunTimes, name, request, limit| {
            runs.expected(USER, traits(name, request, limit), Time(0)).map(|span| span.0 / 60_000)
        };
        assert_eq!(of(&runs, "train", &one, 60), Some(25), "one run of such a job says little");
        note(&mut runs, traits("train", &one, 60), 20);
        assert_eq!(of(&runs, "train", &one, 60), Some(15));
        assert_eq!(of(&runs, "test", &one, 60), Some(30), "the last two with that limit");
        note(&mut runs, traits("test", &one, 5), 2);
        assert_eq!(of(&runs, "test", &one, 60), Some(30));
        assert_eq!(of(&runs, "other", &one, 600), Some(11), "the last two of the user");
        assert_eq!(of(&runs, "test", &one, 5), None, "more than its limit");
        assert_eq!(runs.expected(Uid(1), traits("train", &one, 60), Time(0)), None);
    }

    #[test]
    fn a_user_with_many_kinds_of_jobs_keeps_the_classes_that_ended_last() {
        let (request, mut runs) = (Request::default(), RunTimes::default());
        let names: Vec<String> = (0..1_000).map(|number| format!("job-{number}")).collect();
        for (at, name) in (1..).zip(&names) {
            runs.note(USER, traits(name, &request, 60), minutes(at), Time(0) + minutes(at));
        }
        assert_eq!(runs.0[&USER].len(), CLASSES_MAX);
        let last = traits(&names[999], &request, 60);
        runs.note(USER, last, minutes(2), Time(0) + minutes(1_001));
        assert_eq!(runs.expected(USER, last, Time(0)), None, "above the limit");
        runs.note(USER, last, minutes(4), Time(0) + minutes(1_002));
        assert_eq!(runs.expected(USER, last, Time(0)), Some(minutes(3)));
        runs.forget(Time(0) + minutes(1_002) + KEPT);
        assert!(!runs.is_empty());
        let mut later = runs.clone();
        runs.forget(Time(0) + minutes(1_003) + KEPT);
        assert!(runs.is_empty());
        later.note(USER, last, minutes(9), Time(0) + minutes(1_003) + KEPT);
        assert_eq!(later.expected(USER, last, Time(0)), Some(minutes(9)), "the others are too old");
    }
}
