//! What is free on one node as counts, which add up over time: a job's CPUs are whole cores of its
//! own, so what it leaves is what it held. Never says which CPUs or GPUs; `Free` does.

use crate::floor::class::Class;
use crate::floor::free::Free;
use common::resource::{Request, Share};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus};

/// What a part of a job takes on a node: counts only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Takes {
    pub cpus: Cpus,
    pub memory: Bytes,
    /// Whole GPUs.
    pub gpus: Gpus,
    /// A share of one GPU.
    pub milli: GpuMilli,
    /// The whole node, idle.
    pub whole_node: bool,
}

/// What is free on a node at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub cpus: Cpus,
    pub memory: Bytes,
    /// Free thousandths of each GPU, by position in the node's class.
    pub milli: Vec<u16>,
    /// How many jobs hold something; a closed or used node is not idle.
    pub holders: u32,
    pub closed: bool,
}

impl Tally {
    /// What is free now.
    pub fn of(free: &Free) -> Self {
        Self {
            cpus: free.core_cpus,
            memory: free.memory,
            milli: free.milli.clone(),
            holders: free.holders,
            closed: free.closed,
        }
    }

    /// A job lets go of its share.
    pub fn give_back(&mut self, class: &Class, share: &Share) {
        self.cpus += Cpus(share.cpus.len());
        self.memory += share.memory;
        let each = share.gpu_milli.unwrap_or(GpuMilli::WHOLE).0;
        for index in &share.gpus {
            if let Some(milli) = class.position(*index).and_then(|at| self.milli.get_mut(at)) {
                *milli = u16::try_from(u32::from(*milli) + each).unwrap_or(1000).min(1000);
            }
        }
        self.holders = self.holders.saturating_sub(1);
        if self.holders == 0 {
            self.closed = false;
        }
    }

    /// Something else takes this much.
    pub fn take(&mut self, takes: Takes) {
        self.cpus -= takes.cpus;
        self.memory -= takes.memory;
        self.holders += 1;
        self.closed |= takes.whole_node;
        let mut left = takes.gpus.0;
        for milli in self.milli.iter_mut().filter(|milli| **milli == 1000) {
            if left == 0 {
                break;
            }
            *milli = 0;
            left -= 1;
        }
        if takes.milli.0 > 0 {
            let enough = self.milli.iter_mut().filter(|m| u32::from(**m) >= takes.milli.0);
            if let Some(tightest) = enough.min_by_key(|milli| **milli) {
                *tightest -= u16::try_from(takes.milli.0).unwrap_or(u16::MAX);
            }
        }
    }

    /// Does it hold this much of GPUs the request accepts?
    pub fn holds(&self, class: &Class, request: &Request, takes: Takes) -> bool {
        if self.closed || (takes.whole_node && self.holders > 0) {
            return false;
        }
        if takes.cpus > self.cpus || takes.memory > self.memory {
            return false;
        }
        if takes.gpus == Gpus::ZERO && takes.milli == GpuMilli::ZERO {
            return true;
        }
        let accepted = class.accepted(request);
        let on = self.milli.iter().enumerate().filter(|(at, _)| accepted >> at & 1 == 1);
        if takes.milli.0 > 0 {
            return on.map(|(_, milli)| u32::from(*milli)).any(|milli| milli >= takes.milli.0);
        }
        on.filter(|(_, milli)| **milli == 1000).count() >= takes.gpus.0 as usize
    }
}
