//! A controller's machine in the simulated world: its disk, its clock, and how it fares. Never
//! steps the process on it.

use crate::controller::{Clocks, Process};
use crate::disk::StormDisk;
use crate::message::Input;
use crate::steady::true_time;
use common::time::Time;
use replica::Bootstrap;

/// A machine for a controller.
pub struct Host {
    pub disk: StormDisk,
    /// What an empty disk becomes.
    pub bootstrap: Bootstrap,
    /// The process, while it runs.
    pub process: Option<Process>,
    /// How often the process was started.
    pub life: u64,
    /// How far its wall clock is off, in milliseconds.
    pub skew_ms: i64,
    /// It stands still until then, in milliseconds.
    pub paused_until_ms: u64,
    /// Its disk is slow until then, in milliseconds.
    pub slow_until_ms: u64,
    /// The next failure of its disk is the power's.
    pub is_tearing: bool,
    /// Its log cannot be read any more.
    pub is_broken: bool,
    /// It has no part in the cluster any more.
    pub is_gone: bool,
    /// What came in and was not looked at yet.
    pub inbox: Vec<Input>,
    /// It writes until then, in milliseconds.
    pub busy_until_ms: u64,
    /// It runs next then, in milliseconds.
    pub run_at_ms: u64,
    /// A start is on the agenda.
    pub is_starting: bool,
}

impl Host {
    /// A machine with an empty disk.
    pub fn new(bootstrap: Bootstrap, lies: bool) -> Self {
        Self {
            disk: StormDisk::new(lies),
            bootstrap,
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

    /// What its clocks show.
    pub fn clocks(&self, now_ms: u64) -> Clocks {
        let Time(wall) = true_time(now_ms);
        Clocks { now_ms, wall: Time(wall.saturating_add_signed(self.skew_ms)) }
    }

    /// Does its process stand still?
    pub fn is_paused(&self, now_ms: u64) -> bool {
        now_ms < self.paused_until_ms
    }

    /// When its process can look at something that comes now, in milliseconds.
    pub fn free_at_ms(&self, now_ms: u64) -> u64 {
        now_ms.max(self.busy_until_ms).max(self.paused_until_ms)
    }

    /// Does its process run, and is not standing still?
    pub fn is_up(&self, now_ms: u64) -> bool {
        self.process.is_some() && !self.is_paused(now_ms)
    }
}
