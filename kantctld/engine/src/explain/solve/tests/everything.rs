//! A brute-force search: each movable job on each set of nodes. It shares no code with the real
//! search.

use super::{House, moves};
use crate::explain::solve::{Impossible, Verdict};
use crate::round::preempt::tests::on_nodes;
use proptest::prelude::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// A running job: its nodes, the GPUs on each, and whether it may move.
#[derive(Debug, Clone)]
struct Job {
    on: Vec<usize>,
    gpus: u32,
    moves: bool,
}

#[derive(Debug, Clone)]
struct Case {
    nodes: Vec<u16>,
    jobs: Vec<Job>,
    asks: (u32, u32),
}

prop_compose! {
    fn job(nodes: usize)(
        at in 0..nodes, more in 0..nodes, is_gang in prop::bool::weighted(0.2),
        gpus in 1_u32..4, moves in prop::bool::weighted(0.75),
    ) -> Job {
        let on = if is_gang && more != at { vec![at.min(more), at.max(more)] } else { vec![at] };
        Job { on, gpus, moves }
    }
}

fn cases() -> impl Strategy<Value = Case> {
    (2_usize..=4).prop_flat_map(|nodes| {
        let gpus = prop::collection::vec(2_u16..=4, nodes);
        let jobs = prop::collection::vec(job(nodes), 0..=6);
        (gpus, jobs, 1_u32..=2, 1_u32..=4).prop_map(|(nodes, jobs, many, each)| {
            // Those that fit, in this order.
            let mut free: Vec<u32> = nodes.iter().map(|gpus| u32::from(*gpus)).collect();
            let fits = |job: &Job| {
                let fits = job.on.iter().all(|at| free[*at] >= job.gpus);
                if fits {
                    job.on.iter().for_each(|at| free[*at] -= job.gpus);
                }
                fits
            };
            let jobs = jobs.into_iter().filter(fits).collect();
            Case { nodes, jobs, asks: (many, each) }
        })
    })
}

/// All sets of this many nodes.
fn sets(nodes: usize, many: usize) -> Vec<Vec<usize>> {
    match many {
        1 => (0..nodes).map(|at| vec![at]).collect(),
        _ => (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| vec![a, b])).collect(),
    }
}

/// The fewest jobs that have to move; `None`: no moves make room.
fn fewest(case: &Case, at: usize, free: &[i64], moved: usize, best: &mut Option<usize>) {
    if best.is_some_and(|best| moved >= best) {
        return;
    }
    let Some(job) = case.jobs.get(at) else {
        let (many, each) = case.asks;
        let hold = free.iter().filter(|free| **free >= i64::from(each)).count();
        if hold >= many as usize {
            *best = Some(moved);
        }
        return;
    };
    let places =
        if job.moves { sets(case.nodes.len(), job.on.len()) } else { vec![job.on.clone()] };
    for on in places {
        if on.iter().all(|at| free[*at] >= i64::from(job.gpus)) {
            let mut left = free.to_vec();
            on.iter().for_each(|at| left[*at] -= i64::from(job.gpus));
            fewest(case, at + 1, &left, moved + usize::from(on != job.on), best);
        }
    }
}

/// Checks that bound and search agree with it.
fn agrees(case: &Case) -> Result<(), TestCaseError> {
    let mut house = House::new(&case.nodes);
    for (number, job) in (1..).zip(&case.jobs) {
        let on: Vec<&str> = job.on.iter().map(|at| NAMES[*at]).collect();
        match job.moves {
            true => house.runs(number, &on, job.gpus),
            false => house.stays(number, &on, job.gpus),
        };
    }
    let solution = house.ask(on_nodes(case.asks.0, case.asks.1));
    let free: Vec<i64> = case.nodes.iter().map(|gpus| i64::from(*gpus)).collect();
    let mut best = None;
    fewest(case, 0, &free, 0, &mut best);
    match (&solution.verdict, best) {
        (Verdict::Moves { .. }, Some(best)) => {
            let (moves, is_fewest) = moves(&solution);
            prop_assert_eq!(moves.len(), best, "{:?}", moves);
            prop_assert!(is_fewest);
        }
        (Verdict::Impossible(Impossible::MayNotStart(_)), _) => prop_assert!(false, "it may start"),
        (Verdict::Impossible(_), None) => {}
        _ => prop_assert!(false, "{:?} where {best:?} have to move", solution.verdict),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn it_finds_the_fewest_moves_and_says_no_where_there_are_none(case in cases()) {
        agrees(&case)?;
    }
}
