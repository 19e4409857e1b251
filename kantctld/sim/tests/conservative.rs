//! Conservative backfill, compared with a second program that was written from its rules alone. It
//! shares no code with the engine: a profile of free nodes over time, as bits, and one pass over
//! the waiting jobs at each event.
//!
//! Source: A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, with promises on certain nodes that
//! only ever move to an earlier time, or to earlier nodes at the same time, in the queue's order.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use sim::replay::{Named, Plan, Unwatched, replay};
use std::collections::BTreeSet;
use trace::{Estimates, Job, Node, read_jobs, read_nodes};

/// Nodes, each of one slot.
const NODES: u32 = 12;

/// A job as this file sees it; times in seconds.
#[derive(Debug, Clone, Copy)]
struct Asked {
    submit: u64,
    run: u64,
    limit: u64,
    nodes: u32,
}

/// The nodes that are free from each time on; the last entry holds for ever.
struct Profile(Vec<(u64, u32)>);

impl Profile {
    fn edge(&mut self, time: u64) -> usize {
        match self.0.binary_search_by_key(&time, |step| step.0) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (time, self.0[at - 1].1));
                at
            }
        }
    }

    fn change(&mut self, (from, to): (u64, u64), change: impl Fn(u32) -> u32) {
        let (first, end) = (self.edge(from), self.edge(to.max(from)));
        self.0[first..end].iter_mut().for_each(|step| step.1 = change(step.1));
    }

    fn forget_before(&mut self, now: u64) {
        let first = self.edge(now);
        self.0.drain(..first);
    }

    /// The first time with enough nodes for `limit`, and the first of those nodes.
    fn earliest(&self, nodes: u32, limit: u64) -> (u64, u32) {
        let found = (0..self.0.len()).find_map(|first| {
            let from = self.0[first].0;
            let during = self.0[first..].iter().take_while(|step| step.0 < from + limit);
            let free = during.fold(u32::MAX, |free, step| free & step.1);
            (free.count_ones() >= nodes).then_some((from, free))
        });
        let (at, free) = found.unwrap();
        let bits = (0..NODES).filter(|bit| free >> bit & 1 == 1).take(nodes as usize);
        (at, bits.fold(0, |mask, bit| mask | 1 << bit))
    }
}

/// When each job starts.
fn starts(jobs: &[Asked]) -> Vec<u64> {
    let mut profile = Profile(vec![(0, (1 << NODES) - 1)]);
    let mut promised: Vec<Option<(u64, u32)>> = vec![None; jobs.len()];
    let mut started: Vec<Option<u64>> = vec![None; jobs.len()];
    let mut ends: BTreeSet<(u64, usize)> = BTreeSet::new();
    let (mut waiting, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    loop {
        let arrival = jobs.get(next).map(|job| job.submit);
        let Some(now) = ends.first().map(|end| end.0).into_iter().chain(arrival).min() else {
            return started.into_iter().map(Option::unwrap).collect();
        };
        profile.forget_before(now);
        while let Some((_, over)) = ends.first().copied().filter(|end| end.0 <= now) {
            ends.pop_first();
            let by = started[over].unwrap() + jobs[over].limit;
            let nodes = promised[over].unwrap().1;
            profile.change((now, by), |free| free | nodes);
        }
        while jobs.get(next).is_some_and(|job| job.submit <= now) {
            waiting.push(next);
            next += 1;
        }
        for which in waiting.iter().copied() {
            let Asked { limit, run, nodes, .. } = jobs[which];
            if let Some((at, own)) = promised[which] {
                profile.change((at, at + limit), |free| free | own);
            }
            let found = profile.earliest(nodes, limit);
            let (at, own) = promised[which].filter(|kept| kept.0 < found.0).unwrap_or(found);
            profile.change((at, at + limit), |free| free & !own);
            promised[which] = Some((at, own));
            if at == now {
                started[which] = Some(now);
                ends.insert((now + run, which));
            }
        }
        waiting.retain(|which| started[*which].is_none());
    }
}

fn traced(jobs: &[Asked]) -> (Vec<Job>, Vec<Node>) {
    let mut text = "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_per_node\n".to_owned();
    for (number, job) in jobs.iter().enumerate() {
        let Asked { submit, run, limit, nodes } = job;
        text += &format!("{},{submit},{run},{limit},{nodes},1\n", number + 1);
    }
    let nodes: String = (10..10 + NODES).map(|node| format!("n{node},1\n")).collect();
    let nodes = read_nodes("nodes", format!("name,gpus\n{nodes}").as_bytes()).unwrap();
    (read_jobs("jobs", text.as_bytes()).unwrap(), nodes)
}

fn job() -> impl Strategy<Value = Asked> {
    let size = prop_oneof![3 => 1..4_u32, 1 => 4..NODES + 1];
    (0..40_u64, 1..200_u64, 0..3_u64, size).prop_map(|(submit, run, slack, nodes)| {
        // Some end at their limits, most before.
        Asked { submit, run, limit: run + run * slack, nodes }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_start_is_that_of_the_second_program(
        mut jobs in prop::collection::vec(job(), 1..120)
    ) {
        let mut clock = 0;
        for job in &mut jobs {
            clock += job.submit;
            job.submit = clock;
        }
        let (trace, nodes) = traced(&jobs);
        let policy = Named::Conservative.policy();
        let (name, estimates) = (Named::Conservative.name(), Estimates::Request);
        let (jobs_of, nodes, policy) = (&trace[..], &nodes[..], &policy);
        let plan =
            Plan { trace: "random", jobs: jobs_of, nodes, name, policy, estimates, seed: 0 };
        let outcome = replay(&plan, &mut Unwatched).unwrap();
        let found: Vec<u64> =
            outcome.jobs.iter().map(|job| job.start.unwrap().0 / 1000).collect();
        prop_assert_eq!(found, starts(&jobs));
    }
}
