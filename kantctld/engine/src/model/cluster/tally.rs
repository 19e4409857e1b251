//! What is free on one node, as counts. Counts can be added up over time, because a job's CPUs are
//! whole cores of its own: it frees exactly what it held. `Free` tracks which CPUs and GPUs those
//! are.

use crate::model::cluster::class::bits;
use crate::model::cluster::free::{Free, WHOLE};
use crate::model::cluster::node::Holder;
use common::resource::Resources;
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};

/// What a part of a job takes on a node, as counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Takes {
    pub resources: Resources,
    /// The positions of the GPUs that it accepts.
    pub accepted: u128,
    /// The fraction it takes of each shared GPU; zero if it shares none.
    pub milli: GpuMilli,
    /// The number of GPUs that it shares.
    pub shared: Gpus,
    /// Whether it takes the whole node, which must be idle.
    pub whole_node: bool,
}

/// What is free on a node at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub cpus: Cpus,
    pub memory: Bytes,
    /// The positions of wholly free GPUs in the node's class.
    gpus: u128,
    /// Free thousandths of partly used GPUs, by ascending position.
    shared: Vec<(u8, u16)>,
    /// The number of jobs that hold something. A node with any, or a closed one, is not idle.
    pub holders: u32,
    pub closed: bool,
}

impl Tally {
    /// What is free now.
    pub fn of(free: &Free) -> Self {
        Self {
            cpus: free.core_cpus,
            memory: free.memory,
            gpus: free.gpus,
            shared: free.partly_used_gpus().to_vec(),
            holders: free.holders,
            closed: free.closed,
        }
    }

    /// A holder frees its share.
    pub fn give_back(&mut self, holder: &Holder) {
        let Holder { gpus, part, .. } = *holder;
        self.cpus += holder.cpus;
        self.memory += holder.memory;
        if part == GpuMilli::ZERO {
            self.gpus |= gpus;
            self.shared.retain(|(at, _)| gpus >> at & 1 == 0);
        } else {
            bits(gpus).for_each(|at| self.give_back_part(at, part.0));
        }
        self.holders = self.holders.saturating_sub(1);
        if self.holders == 0 {
            self.closed = false;
        }
    }

    fn give_back_part(&mut self, position: usize, each: u32) {
        let Ok(at) = u8::try_from(position) else { return };
        if self.gpus >> position & 1 == 1 {
            return;
        }
        let place = self.shared.binary_search_by_key(&at, |(at, _)| *at);
        let before = place.map_or(0, |place| self.shared[place].1);
        let after = u16::try_from(u32::from(before) + each).unwrap_or(WHOLE).min(WHOLE);
        match place {
            Ok(place) if after == WHOLE => drop(self.shared.remove(place)),
            Ok(place) => self.shared[place].1 = after,
            Err(place) if (1..WHOLE).contains(&after) => self.shared.insert(place, (at, after)),
            Err(_) => {}
        }
        if after == WHOLE {
            self.gpus |= 1 << position;
        }
    }

    /// Takes this much. `gpus`: of these GPUs, by position; none: of any that it accepts.
    pub fn take(&mut self, takes: Takes, gpus: u128) {
        self.cpus -= takes.resources.cpus;
        self.memory -= takes.resources.memory;
        self.holders += 1;
        self.closed |= takes.whole_node;
        if gpus != 0 {
            return self.take_gpus(gpus, takes.milli);
        }
        for _ in 0..takes.resources.gpus.0.min(self.gpus.count_ones()) {
            // The lowest GPU of those it accepts.
            let own = self.gpus & takes.accepted;
            self.gpus &= !(own & own.wrapping_neg());
        }
        let (share, mut others) =
            (u16::try_from(takes.milli.0).unwrap_or(u16::MAX), takes.accepted);
        for _ in 0..takes.shared.0 {
            let Some(at) = self.take_share(share, others) else { return };
            others &= !(1 << at);
        }
    }

    /// Takes a part of each of these GPUs, or (zero) all of it. What others leave of them is not
    /// free yet.
    fn take_gpus(&mut self, gpus: u128, part: GpuMilli) {
        let is_other = |at: u8| gpus >> at & 1 == 0;
        if part == GpuMilli::ZERO {
            self.gpus &= !gpus;
            return self.shared.retain(|(at, _)| is_other(*at));
        }
        let part = u16::try_from(part.0).unwrap_or(WHOLE);
        for (at, milli) in &mut self.shared {
            *milli = milli.saturating_sub(if is_other(*at) { 0 } else { part });
        }
        let whole = (0..u8::MAX).take(128).filter(|at| (self.gpus & gpus) >> at & 1 == 1);
        self.shared.extend(whole.map(|at| (at, WHOLE.saturating_sub(part))));
        self.gpus &= !gpus;
        self.shared.retain(|(_, milli)| *milli > 0);
        self.shared.sort_unstable();
    }

    /// Takes a share of the tightest GPU with room for it. Returns the GPU's position.
    fn take_share(&mut self, share: u16, accepted: u128) -> Option<u8> {
        let is_own = |at: u8| accepted >> at & 1 == 1;
        let enough = self.shared.iter_mut().filter(|(at, milli)| is_own(*at) && *milli >= share);
        if let Some(tightest) = enough.min_by_key(|(_, milli)| *milli) {
            let at = tightest.0;
            tightest.1 -= share;
            self.shared.retain(|(_, milli)| *milli > 0);
            Some(at)
        } else if self.gpus & accepted != 0 && share <= WHOLE {
            let position = (self.gpus & accepted).trailing_zeros();
            self.gpus &= !(1 << position);
            let at = u8::try_from(position).unwrap_or(u8::MAX);
            let place = self.shared.partition_point(|(other, _)| *other < at);
            if share < WHOLE {
                self.shared.insert(place, (at, WHOLE - share));
            }
            Some(at)
        } else {
            None
        }
    }

    /// Whether it holds this much.
    pub fn holds(&self, takes: Takes) -> bool {
        if self.closed || (takes.whole_node && self.holders > 0) {
            return false;
        }
        if takes.resources.cpus > self.cpus || takes.resources.memory > self.memory {
            return false;
        }
        if takes.resources.gpus == Gpus::ZERO && takes.milli == GpuMilli::ZERO {
            return true;
        }
        let accepted = takes.accepted;
        let whole = self.gpus & accepted;
        if takes.milli.0 > 0 {
            let has_room = |(at, milli): &(u8, u16)| {
                accepted >> at & 1 == 1 && u32::from(*milli) >= takes.milli.0
            };
            let whole = if takes.milli <= GpuMilli::WHOLE { whole.count_ones() } else { 0 };
            let in_part = self.shared.iter().filter(|one| has_room(one)).count();
            return u32::try_from(in_part).unwrap_or(u32::MAX)
                >= takes.shared.0.saturating_sub(whole);
        }
        whole.count_ones() >= takes.resources.gpus.0
    }

    /// Wholly free GPUs. `None` if some are partly used.
    pub fn whole_gpus(&self) -> Option<Gpus> {
        self.shared.is_empty().then(|| Gpus(self.gpus.count_ones()))
    }
}
