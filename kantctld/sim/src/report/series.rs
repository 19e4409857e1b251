//! The cluster over time: a step function with one sample after every pass. A sample holds until
//! the next one.

use common::time::Time;
use common::unit::{GpuMilli, Nodes};
use engine::measure;

/// The cluster after one pass of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    pub at: Time,
    /// Allocated GPUs, in thousandths.
    pub allocated: GpuMilli,
    /// All GPUs in service.
    pub total: GpuMilli,
    /// Free GPUs, in thousandths.
    pub free: GpuMilli,
    /// Free GPUs that a job which needs 8 whole GPUs of one node could not use.
    pub free_unusable_by_8: GpuMilli,
    /// Jobs that wait after the pass.
    pub queue_length: u32,
    /// Nodes that have GPUs.
    pub nodes_with_gpus: Nodes,
    /// Nodes with some GPU capacity used and some free.
    pub nodes_broken: Nodes,
    /// Nodes with GPUs of which nothing is used.
    pub nodes_whole_free: Nodes,
    /// Leaf groups of which nothing is used.
    pub leaf_groups_whole_free: u32,
    /// Jain's index of the fractions of their fair shares that queues hold, in millionths. `None`:
    /// fewer than two queues ask for anything.
    pub jain_ppm: Option<u32>,
    /// GPUs that queues hold above or below their fair shares, of all GPUs, in millionths.
    pub share_error_ppm: Option<u32>,
}

/// An invalid record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// A sample is older than the one before it.
    #[error(
        "failed to record a sample: {at} ms is before {last} ms; a replay must report its passes \
         in the order of time",
        at = at.0, last = last.0
    )]
    OutOfOrder {
        at: Time,
        /// The time of the last sample.
        last: Time,
    },
}

/// The samples of a replay, in order of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Series {
    samples: Vec<Sample>,
}

impl Series {
    /// Adds the sample of a pass. A second pass at the same time replaces the first one's sample; a
    /// sample without changes is not kept.
    ///
    /// # Errors
    /// [`ReportError::OutOfOrder`] for a sample older than the last.
    pub fn push(&mut self, sample: Sample) -> Result<(), ReportError> {
        match self.samples.last_mut() {
            Some(last) if sample.at < last.at => {
                return Err(ReportError::OutOfOrder { at: sample.at, last: last.at });
            }
            Some(last) if sample.at == last.at => *last = sample,
            Some(last) if (Sample { at: last.at, ..sample }) == *last => {}
            _ => self.samples.push(sample),
        }
        Ok(())
    }

    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Each sample with the part of its time that lies in `from..to`, in milliseconds. Samples
    /// outside are skipped. Before the first sample there is nothing.
    pub fn weighted_samples(&self, from: Time, to: Time) -> impl Iterator<Item = (&Sample, u64)> {
        let ends = self.samples.iter().skip(1).map(|next| next.at).chain([Time(u64::MAX)]);
        self.samples.iter().zip(ends).filter_map(move |(sample, end)| {
            let length = end.min(to).since(sample.at.max(from)).0;
            (length > 0).then_some((sample, length))
        })
    }

    /// The mean over `from..to`, weighted by time, of what `read` returns for each sample, without
    /// the samples for which it returns `None`.
    pub fn mean(&self, from: Time, to: Time, read: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let mut sum = 0.0;
        let mut weight = 0.0;
        for (sample, length) in self.weighted_samples(from, to) {
            if let Some(value) = read(sample) {
                #[allow(clippy::cast_precision_loss)]
                let length = length as f64;
                sum += value * length;
                weight += length;
            }
        }
        (weight > 0.0).then(|| sum / weight)
    }
}

impl Sample {
    /// GPU allocation rate of this sample.
    #[must_use]
    pub fn gpu_allocation_rate(&self) -> Option<f64> {
        measure::gpu_allocation_rate(self.allocated, self.total)
    }

    #[must_use]
    pub fn jain(&self) -> Option<f64> {
        self.jain_ppm.map(|ppm| f64::from(ppm) / 1e6)
    }

    /// The share error of this sample.
    #[must_use]
    pub fn share_error(&self) -> Option<f64> {
        self.share_error_ppm.map(|ppm| f64::from(ppm) / 1e6)
    }

    /// GPU fragmentation rate of this sample: broken nodes of the nodes with GPUs.
    #[must_use]
    pub fn gpu_fragmentation_rate(&self) -> Option<f64> {
        measure::gpu_fragmentation_rate(self.nodes_broken, self.nodes_with_gpus)
    }

    /// The fraction of free GPUs that 8-GPU jobs cannot use; 0 if no GPU is free.
    #[must_use]
    pub fn fraction_unusable_by_8(&self) -> Option<f64> {
        (self.total.0 > 0).then(|| measure::fragmentation_ratio(self.free_unusable_by_8, self.free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, allocated: u32) -> Sample {
        let (allocated, total) = (GpuMilli(allocated), GpuMilli(1000));
        Sample { at: Time(at), allocated, total, ..Sample::default() }
    }

    fn series(points: &[(u64, u32)]) -> Series {
        let mut series = Series::default();
        for (at, allocated) in points {
            series.push(sample(*at, *allocated)).unwrap();
        }
        series
    }

    #[test]
    fn the_last_pass_of_an_instant_counts_and_a_repetition_is_not_kept() {
        let series = series(&[(0, 0), (5, 100), (5, 300), (7, 300), (9, 0)]);
        let kept: Vec<_> = series.samples().iter().map(|s| (s.at.0, s.allocated.0)).collect();
        assert_eq!(kept, [(0, 0), (5, 300), (9, 0)]);
    }

    #[test]
    fn a_mean_weighs_by_time_within_its_window() {
        let series = series(&[(0, 1000), (10, 500), (30, 0)]);
        let mean = |from, to| series.mean(Time(from), Time(to), Sample::gpu_allocation_rate);
        assert_eq!(mean(0, 30), Some((10.0 + 0.5 * 20.0) / 30.0));
        assert_eq!(mean(5, 15), Some(0.75));
        assert_eq!(mean(30, 90), Some(0.0), "the last sample holds on");
        assert_eq!(mean(4, 4), None);
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut series = series(&[(8, 0)]);
        let error = series.push(sample(7, 0)).unwrap_err().to_string();
        assert!(error.contains("7 ms is before 8 ms"), "{error}");
    }

    #[test]
    fn where_nothing_is_free_nothing_is_unusable() {
        let full = Sample { total: GpuMilli(8000), ..Sample::default() };
        let half = Sample { free: GpuMilli(4000), free_unusable_by_8: GpuMilli(1000), ..full };
        assert_eq!(
            (full.fraction_unusable_by_8(), half.fraction_unusable_by_8()),
            (Some(0.0), Some(0.25))
        );
        assert_eq!(Sample::default().fraction_unusable_by_8(), None);
    }
}
