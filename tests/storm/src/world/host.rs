//! A controller's machine in the simulated world: its disk, its clock and its condition.

use crate::controller::{Clocks, Process};
use crate::disk::StormDisk;
use crate::machine::OLD_RELEASE;
use crate::message::Input;
use crate::steady::true_time;
use common::rules_level::RulesLevels;
use common::time::Time;
use replica::Bootstrap;

pub struct Host {
    pub disk: StormDisk,
    /// How an empty disk is initialized: to found a cluster, or to join one.
    pub bootstrap: Bootstrap,
    /// The rules levels of the release that is installed.
    pub levels: RulesLevels,
    /// When it replaced another one, in milliseconds.
    pub installed_ms: Option<u64>,
    /// The process, while it runs.
    pub process: Option<Process>,
    /// Number of starts of the process.
    pub life: u64,
    /// How far its wall clock is ahead of the true time, in milliseconds.
    pub skew_ms: i64,
    /// Its process is paused until this time, in milliseconds.
    pub paused_until_ms: u64,
    /// Its disk is slow until this time, in milliseconds.
    pub slow_until_ms: u64,
    /// The next failure of its disk is treated as a power failure.
    pub is_tearing: bool,
    /// Its log can no longer be read.
    pub is_broken: bool,
    /// It is no longer a member of the cluster.
    pub is_gone: bool,
    /// Inputs that the process has not handled yet.
    pub inbox: Vec<Input>,
    /// Its process is busy with the disk until this time, in milliseconds.
    pub busy_until_ms: u64,
    /// When its process runs next, in milliseconds.
    pub run_at_ms: u64,
    /// A start is on the agenda.
    pub is_starting: bool,
}

impl Host {
    /// A machine with an empty disk. If `lies`, the disk does not sync although it reports success.
    pub fn new(bootstrap: Bootstrap, lies: bool) -> Self {
        Self {
            disk: StormDisk::new(lies),
            bootstrap,
            levels: OLD_RELEASE,
            installed_ms: None,
            process: None,
            life: 0,
            skew_ms: 0,
            paused_until_ms: 0,
            slow_until_ms: 0,
            is_tearing: false,
            is_broken: false,
            is_gone: false,
            inbox: Vec::new(),
            busy_until_ms: 0,
            run_at_ms: u64::MAX,
            is_starting: false,
        }
    }

    /// The readings of its clocks.
    pub fn clocks(&self, now_ms: u64) -> Clocks {
        let Time(wall) = true_time(now_ms);
        Clocks { now_ms, wall: Time(wall.saturating_add_signed(self.skew_ms)) }
    }

    /// Is its process paused?
    pub fn is_paused(&self, now_ms: u64) -> bool {
        now_ms < self.paused_until_ms
    }

    /// When its process can handle an input that arrives now, in milliseconds.
    pub fn free_at_ms(&self, now_ms: u64) -> u64 {
        now_ms.max(self.busy_until_ms).max(self.paused_until_ms)
    }

    /// Does its process run, and is it not paused?
    pub fn is_up(&self, now_ms: u64) -> bool {
        self.process.is_some() && !self.is_paused(now_ms)
    }
}
