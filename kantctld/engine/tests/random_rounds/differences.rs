//! How the rounds of two engines differ on the same snapshots, by kind of decision.

use common::id::JobKey;
use engine::{Decision, Round};
use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};

/// Jobs that only one of the two decides about in this way.
#[derive(Debug, Clone, Copy, Default)]
struct Only {
    old: u64,
    new: u64,
    both: u64,
}

impl Only {
    fn compare(&mut self, old: &BTreeSet<JobKey>, new: &BTreeSet<JobKey>) {
        self.old += old.difference(new).count() as u64;
        self.new += new.difference(old).count() as u64;
        self.both += old.intersection(new).count() as u64;
    }

    fn add(&mut self, other: Self) {
        self.old += other.old;
        self.new += other.new;
        self.both += other.both;
    }
}

/// The differences of many rounds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Differences {
    pub rounds: u64,
    /// Rounds that decide the same about the same jobs.
    pub same: u64,
    starts: Only,
    preempts: Only,
    shrinks: Only,
    planned: Only,
}

impl Differences {
    pub fn compare(&mut self, old: &Round, new: &Round) {
        let kinds = [
            |one: &Decision| match one {
                Decision::Start { key, .. } => Some(*key),
                _ => None,
            },
            |one: &Decision| match one {
                Decision::Preempt { key, .. } => Some(*key),
                _ => None,
            },
            |one: &Decision| match one {
                Decision::Shrink { key, .. } => Some(*key),
                _ => None,
            },
        ];
        let of = |round: &Round, kind: fn(&Decision) -> Option<JobKey>| -> BTreeSet<JobKey> {
            round.decisions.iter().filter_map(kind).collect()
        };
        let planned = |round: &Round| round.planned_starts.keys().copied().collect();
        let sides = kinds.map(|kind| (of(old, kind), of(new, kind)));
        let (before, after): (BTreeSet<JobKey>, BTreeSet<JobKey>) = (planned(old), planned(new));
        self.rounds += 1;
        let is_same = sides.iter().all(|(old, new)| old == new) && before == after;
        self.same += u64::from(is_same);
        let sums = [&mut self.starts, &mut self.preempts, &mut self.shrinks];
        sums.into_iter().zip(&sides).for_each(|(sum, (old, new))| sum.compare(old, new));
        self.planned.compare(&before, &after);
    }

    pub fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.same += other.same;
        self.starts.add(other.starts);
        self.preempts.add(other.preempts);
        self.shrinks.add(other.shrinks);
        self.planned.add(other.planned);
    }
}

impl Display for Differences {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        writeln!(to, "{} of {} rounds are the same", self.same, self.rounds)?;
        let kinds = [
            ("starts", self.starts),
            ("preemptions", self.preempts),
            ("shrinks", self.shrinks),
            ("planned starts", self.planned),
        ];
        for (name, only) in kinds {
            let Only { old, new, both } = only;
            writeln!(to, "{name}: {both} of both, {old} of the old only, {new} of the new only")?;
        }
        Ok(())
    }
}
