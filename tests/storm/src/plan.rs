//! The plan of one history: the size of the world, what users do, and what goes wrong. All of it is
//! drawn from the seed before the history begins.

use crate::faults::{Fault, Kind};
use crate::mutants::Mutant;
use crate::rng::Rng;
use crate::services;
use crate::work::{self, Action, Work};

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The source of all later random draws.
    pub seed: u64,
    /// Number of controllers before any change of the members.
    pub controllers: usize,
    pub nodes: usize,
    /// User actions, by time.
    pub works: Vec<Work>,
    /// Faults, by time.
    pub faults: Vec<Fault>,
    /// When all faults have ended, in milliseconds after the cluster is up.
    pub trouble_ms: u64,
    /// A controller takes a snapshot after this number of log entries.
    pub snapshot_every: u64,
    /// It also takes one when new entries exceed both this size and the last snapshot.
    pub snapshot_bytes_min: u64,
    /// A node out of contact for longer than this is lost, in milliseconds.
    pub node_lost_after_ms: u64,
    pub mutant: Option<Mutant>,
}

/// Parts of a plan to leave out, to find out which of them matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cuts {
    /// Indexes of the faults to keep; `None` for all.
    pub faults: Option<Vec<usize>>,
    /// Number of user actions to keep; `None` for all.
    pub works: Option<usize>,
}

impl Plan {
    /// Draws the plan of a seed, with faults of these kinds.
    pub fn draw(seed: u64, kinds: &[Kind], mutant: Option<Mutant>) -> Self {
        let mut rng = Rng::new(seed, 1);
        let controllers = match rng.below(20) {
            0 => 1,
            1..15 => 3,
            _ => 5,
        };
        let nodes = usize::try_from(rng.between(2, 12)).unwrap_or(2).min(rng.place(16) + 2);
        let trouble_ms = rng.between(8_000, 30_000);
        let count = usize::try_from(rng.between(10, 60)).unwrap_or(10);
        let snapshot_every = rng.between(8, 120);
        let snapshot_bytes_min = rng.between(2 << 10, 64 << 10);
        let [on_services, last] = services::draw(trouble_ms, nodes, &mut Rng::new(seed, 8));
        let mut works = work::draw(count, trouble_ms, nodes, on_services, &mut Rng::new(seed, 2));
        let mut rng = Rng::new(seed, 3);
        let lone = |kind: &Kind| controllers > 1 || !matches!(kind, Kind::Rot);
        // Faults of a few kinds coincide more often than faults of all kinds.
        let mut kinds: Vec<Kind> = kinds.iter().copied().filter(lone).collect();
        if kinds.len() > 4 && rng.percent(60) {
            let few = rng.place(5) + 2;
            while kinds.len() > few {
                kinds.remove(rng.place(kinds.len()));
            }
        }
        let count = rng.between(1, 14);
        let draw = |_| Fault::draw(&kinds, trouble_ms, &mut rng);
        let mut faults: Vec<Fault> = (0..count).filter_map(draw).collect();
        faults.sort_by_key(|fault| fault.at_ms);
        let ends = faults.iter().map(|fault| fault.at_ms + fault.lasts_ms);
        let trouble_ms = ends.max().unwrap_or(0).max(trouble_ms);
        works.extend(after(trouble_ms, last));
        let node_lost_after_ms = *Rng::new(seed, 6).one(&[12_000, 20_000]).unwrap_or(&20_000);
        Self {
            seed,
            controllers,
            nodes,
            works,
            faults,
            trouble_ms,
            snapshot_every,
            snapshot_bytes_min,
            node_lost_after_ms,
            mutant,
        }
    }

    /// The plan without the parts that `cuts` leaves out.
    pub fn cut(mut self, cuts: &Cuts) -> Self {
        if let Some(kept) = &cuts.faults {
            let places = kept.iter().filter_map(|place| self.faults.get(*place).copied());
            self.faults = places.collect();
        }
        if let Some(works) = cuts.works {
            self.works.truncate(works);
        }
        self
    }

    pub fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}

/// Actions on services after the faults.
pub fn after(trouble_ms: u64, last: Vec<(u64, services::ServiceWork)>) -> Vec<Work> {
    let last = last.into_iter().map(|(since_ms, work)| Work {
        at_ms: trouble_ms + since_ms,
        action: Action::Service(Box::new(work)),
    });
    last.collect()
}
