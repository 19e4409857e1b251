//! Usage of a step's GPUs, summed up sample by sample. kantd adds samples and keeps the sum in the
//! step's directory, where it survives a restart of kantd; the supervisor reports it when the step
//! ends. Not synced: after a crash of the machine the last samples may be lost.

use super::dir::StepDir;
use crate::gpu::meter::GpuReading;
use common::job::GpuUsage;
use common::unit::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuTally {
    samples: u32,
    busy_percent_sum: u64,
    memory_peak: Bytes,
    energy_millijoules: u64,
    /// Each GPU's energy counter at the last sample.
    energy_seen_millijoules: BTreeMap<String, u64>,
}

impl GpuTally {
    /// Adds one sample of one GPU.
    pub fn add(&mut self, uuid: &str, reading: GpuReading) {
        if let Some(percent) = reading.busy_percent {
            self.samples = self.samples.saturating_add(1);
            self.busy_percent_sum =
                self.busy_percent_sum.saturating_add(u64::from(percent.min(100)));
        }
        self.memory_peak = self.memory_peak.max(reading.memory_used.unwrap_or_default());
        let Some(now) = reading.energy_millijoules else { return };
        let before = self.energy_seen_millijoules.insert(uuid.to_owned(), now);
        // A counter that went back was reset to zero with the driver.
        let since = before.map_or(0, |before| now.checked_sub(before).unwrap_or(now));
        self.energy_millijoules = self.energy_millijoules.saturating_add(since);
    }

    /// The reported usage; `None` without samples.
    #[must_use]
    pub fn usage(&self) -> Option<GpuUsage> {
        (*self != Self::default()).then_some(GpuUsage {
            samples: self.samples,
            busy_percent_sum: self.busy_percent_sum,
            memory_peak: self.memory_peak,
            energy_joules: self.energy_millijoules / 1000,
        })
    }

    /// Reads a step's tally; empty if there is none, or none that is readable.
    pub fn read(dir: &StepDir) -> Self {
        let text = fs::read(dir.gpu_tally_path()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes the tally atomically.
    ///
    /// # Errors
    /// When the step is gone, or the disk is full.
    pub fn write(&self, dir: &StepDir) -> io::Result<()> {
        let draft = dir.gpu_tally_path().with_extension("new");
        fs::write(&draft, serde_json::to_vec(self)?)?;
        fs::rename(&draft, dir.gpu_tally_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(percent: u32, mib: u64, energy_millijoules: u64) -> GpuReading {
        GpuReading {
            busy_percent: Some(percent),
            memory_used: Some(Bytes::from_mib(mib)),
            energy_millijoules: Some(energy_millijoules),
        }
    }

    #[test]
    fn busy_is_averaged_memory_is_the_peak_and_energy_counts_from_the_first_sample() {
        let mut tally = GpuTally::default();
        assert_eq!(tally.usage(), None);
        tally.add("a", reading(100, 10, 5_000_000));
        tally.add("b", reading(0, 30, 9_000_000));
        tally.add("a", reading(50, 20, 5_007_000));
        tally.add("b", reading(50, 20, 9_000_500));
        let usage = tally.usage().unwrap();
        assert_eq!((usage.samples, usage.busy_percent()), (4, Some(50)));
        assert_eq!((usage.memory_peak, usage.energy_joules), (Bytes::from_mib(30), 7));
    }

    #[test]
    fn a_reset_counter_subtracts_nothing_and_a_silent_driver_adds_nothing() {
        let mut tally = GpuTally::default();
        tally.add("a", reading(1, 1, 5_000_000));
        tally.add("a", reading(1, 1, 2_000));
        tally.add("a", GpuReading { busy_percent: Some(7), ..GpuReading::default() });
        let usage = tally.usage().unwrap();
        assert_eq!((usage.samples, usage.energy_joules), (3, 2));
    }

    #[test]
    fn a_written_tally_is_read_again_and_garbage_counts_as_empty() {
        let home = tempfile::tempdir().unwrap();
        let dir = StepDir::at(home.path().to_owned());
        let mut tally = GpuTally::read(&dir);
        assert_eq!(tally, GpuTally::default());
        tally.add("a", reading(80, 1, 1_000));
        tally.write(&dir).unwrap();
        assert_eq!(GpuTally::read(&dir), tally);
        fs::write(dir.gpu_tally_path(), "{").unwrap();
        assert_eq!(GpuTally::read(&dir), GpuTally::default());
    }
}
