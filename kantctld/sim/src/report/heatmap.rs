//! How busy each node was over time, in at most 240 buckets for any length of time: when buckets
//! run out, neighbours are joined. No GPU time is lost by that.

use super::NodeIndex;
use common::time::{Span, Time};
use common::unit::GpuMilli;

/// The most buckets; even, so that pairs can be joined.
const BUCKETS_MAX: usize = 240;

/// GPU time per node and bucket, in thousandths of a GPU times milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heatmap {
    bucket: Span,
    rows: Vec<Vec<u64>>,
}

impl Default for Heatmap {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Heatmap {
    /// An empty heatmap for this many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { bucket: Span::from_seconds(1), rows: vec![Vec::new(); nodes] }
    }

    /// Records that each of these nodes had this much of its GPUs allocated from `from` to `to`. A
    /// replay calls this when a job leaves its nodes. Unknown nodes are ignored.
    pub fn add(
        &mut self,
        nodes: impl IntoIterator<Item = (NodeIndex, GpuMilli)>,
        from: Time,
        to: Time,
    ) {
        while to.0.div_ceil(self.bucket.0) > BUCKETS_MAX as u64 {
            self.join_pairs();
        }
        let width = self.bucket.0;
        // At most BUCKETS_MAX by the loop above, so both fit.
        let first = usize::try_from(from.0 / width).unwrap_or(BUCKETS_MAX);
        let end = usize::try_from(to.0.div_ceil(width)).unwrap_or(BUCKETS_MAX);
        for (node, gpus) in nodes {
            let Some(row) = self.rows.get_mut(node.0 as usize).filter(|_| from < to) else {
                continue;
            };
            if row.len() < end {
                row.resize(end, 0);
            }
            let mut at = from.0;
            for (bucket, sum) in (first as u64..).zip(&mut row[first..end]) {
                let until = to.0.min((bucket + 1) * width);
                *sum += (until - at) * u64::from(gpus.0);
                at = until;
            }
        }
    }

    fn join_pairs(&mut self) {
        self.bucket = Span(self.bucket.0.saturating_mul(2));
        for row in &mut self.rows {
            *row = row.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// The length of a bucket. The first begins at the start of the trace.
    #[must_use]
    pub const fn bucket_length(&self) -> Span {
        self.bucket
    }

    /// The number of buckets in use.
    #[must_use]
    pub fn bucket_count(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// One row per node. Missing last buckets are empty.
    #[must_use]
    pub fn rows(&self) -> &[Vec<u64>] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gpu_time_falls_into_the_buckets_it_was_used_in() {
        let mut heatmap = Heatmap::new(2);
        heatmap.add([(NodeIndex(1), GpuMilli(500))], Time(500), Time(2250));
        assert_eq!(heatmap.rows()[0], [0; 0]);
        assert_eq!(heatmap.rows()[1], [250_000, 500_000, 125_000]);
    }

    #[test]
    fn a_node_that_is_not_there_changes_nothing() {
        let mut heatmap = Heatmap::new(1);
        heatmap.add([(NodeIndex(1), GpuMilli(500))], Time(0), Time(1000));
        assert_eq!(heatmap, Heatmap::new(1));
    }

    proptest! {
        #[test]
        fn no_gpu_time_is_lost_however_long_the_trace(
            parts in proptest::collection::vec((0u32..3, 0u64..1 << 40, 0u64..1 << 32), 1..30),
        ) {
            let mut heatmap = Heatmap::new(3);
            for (node, from, length) in &parts {
                heatmap.add([(NodeIndex(*node), GpuMilli(8))], Time(*from), Time(from + length));
            }
            prop_assert!(heatmap.bucket_count() <= BUCKETS_MAX);
            let noted: u64 = heatmap.rows().iter().flatten().sum();
            prop_assert_eq!(noted, parts.iter().map(|(_, _, length)| length * 8).sum::<u64>());
        }
    }
}
