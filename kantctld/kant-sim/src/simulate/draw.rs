//! The random draws of `--fill`: the order of arrivals, and the order of nodes. Determined by the
//! seed.

use fastrand::Rng;
use sim::fill::{asked_gpu_milli, capacity};
use trace::{Job, Node};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draw {
    /// Indexes of jobs, in order of arrival.
    pub arrivals: Vec<u32>,
    pub order: Vec<u32>,
}

impl Draw {
    /// All jobs in random order, then random jobs again, or fewer jobs, so that they ask for
    /// `times` the GPUs in total; the last job reaches that amount.
    pub fn new(jobs: &[Job], nodes: &[Node], times: f64, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut all: Vec<u32> = (0..).take(jobs.len()).collect();
        rng.shuffle(&mut all);
        let goal = capacity(nodes) as f64 * times;
        let mut arrivals = Vec::new();
        let mut sum = 0;
        let mut queue = all.into_iter();
        let can_grow = jobs.iter().any(|job| asked_gpu_milli(job) > 0);
        while (sum as f64) < goal {
            let next = match queue.next() {
                Some(next) => next,
                None if can_grow => rng.u32(0..u32::try_from(jobs.len()).unwrap_or(u32::MAX)),
                None => break,
            };
            sum += jobs.get(next as usize).map_or(0, asked_gpu_milli);
            arrivals.push(next);
        }
        let mut order: Vec<u32> = (0..).take(nodes.len()).collect();
        rng.shuffle(&mut order);
        Self { arrivals, order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{read_jobs, read_nodes};

    #[test]
    fn jobs_arrive_until_they_ask_for_enough_and_draws_depend_only_on_the_seed() {
        let head = "job_id,submit_s,runtime_s,nodes,gpus_per_node";
        let rows = "1,0,9,1,1\n2,0,9,1,2\n3,0,9,1,1\n";
        let jobs = read_jobs("j", format!("{head}\n{rows}").as_bytes()).unwrap();
        let nodes = read_nodes("n", b"name,gpus\na,4\nb,4\n").unwrap();
        let draw = Draw::new(&jobs, &nodes, 1.3, 7);
        let milli: u64 = draw.arrivals.iter().map(|at| asked_gpu_milli(&jobs[*at as usize])).sum();
        assert!((10_400..12_400).contains(&milli), "{milli}");
        let mut first: Vec<u32> = draw.arrivals[..3].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2], "every job arrives once before any arrives again");
        assert_eq!(draw, Draw::new(&jobs, &nodes, 1.3, 7));
        assert_ne!(draw.arrivals, Draw::new(&jobs, &nodes, 1.3, 8).arrivals);
    }
}
