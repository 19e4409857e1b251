//! Tests of the search on small clusters: what it finds, what it proves, and that it agrees with a
//! brute-force search.

use super::{
    Counted, Effort, GaveUp, Impossible, Move, Solution, Verdict, solve, without_move_limits,
};
use crate::model::job::WaitingJob;
use crate::model::snapshot::Snapshot;
use crate::round::preempt::tests::{of, on_nodes, queue};
use crate::testing::{change_policy, gpu_node, gpu_request, key, name, share, with_queues};
use common::id::{GpuIndex, JobKey};
use common::resource::{Allocation, GpuRequest, Request, Share};
use common::time::Time;
use common::unit::{GpuMilli, Gpus, Tasks};
use std::collections::BTreeMap;
use std::sync::Arc;

mod everything;

const NOW: Time = Time(36_000_000);

/// A cluster in which rounds move no jobs.
struct House {
    snapshot: Snapshot,
    again: BTreeMap<JobKey, WaitingJob>,
}

impl House {
    /// Nodes a, b, c ... with these numbers of GPUs.
    fn new(gpus: &[u16]) -> Self {
        let names = ["a", "b", "c", "d", "e", "f"];
        let nodes = names.iter().zip(gpus).map(|(name, gpus)| gpu_node(name, *gpus)).collect();
        let mut snapshot = with_queues(nodes, vec![queue("q")]);
        snapshot.prepare_for_round(NOW);
        Self { snapshot, again: BTreeMap::new() }
    }

    /// Runs a job on these nodes, with this number of GPUs on each.
    fn runs(&mut self, job: u32, on: &[&str], gpus: u32) -> &mut Self {
        let nodes = u32::try_from(on.len()).unwrap();
        self.runs_as(of(job, on_nodes(nodes, gpus), "q", "low"), on, gpus)
    }

    fn runs_as(&mut self, job: WaitingJob, on: &[&str], gpus: u32) -> &mut Self {
        let held = |node: &str| -> Vec<Share> {
            let running = self.snapshot.all_running();
            let shares = running.flat_map(|job| job.allocation.shares().to_vec());
            shares.filter(|share| share.node.as_str() == node).collect()
        };
        let shares = on.iter().map(|node| {
            let held = held(node);
            let is_free =
                |gpu: &u16| held.iter().all(|share| !share.gpus.contains(&GpuIndex(*gpu)));
            let free = (0..16_u16).filter(is_free).take(gpus as usize).map(GpuIndex);
            let cpu = (0..16).find(|cpu| held.iter().all(|share| !share.cpus.contains(*cpu)));
            Share { gpus: free.collect(), ..share(node, &cpu.unwrap().to_string()) }
        });
        let shares: Vec<Share> = shares.collect();
        let key = job.key;
        self.again.insert(key, job.clone());
        self.snapshot.set_waiting(job);
        self.snapshot.start(key, Allocation::new(shares).unwrap(), Time(0));
        self
    }

    /// The same, not preemptible.
    fn stays(&mut self, job: u32, on: &[&str], gpus: u32) -> &mut Self {
        let nodes = u32::try_from(on.len()).unwrap();
        let job = of(job, on_nodes(nodes, gpus), "q", "low");
        self.runs_as(WaitingJob { preemptible: Some(false), ..job }, on, gpus)
    }

    fn ask(&mut self, request: Request) -> Solution {
        self.ask_for(
            of(99, request, "q", "low"),
            &Effort { trials: 100_000, is_stopped: &|| false },
        )
    }

    fn ask_for(&mut self, job: WaitingJob, effort: &Effort<'_>) -> Solution {
        let asked = job.key;
        self.snapshot.set_waiting(job);
        let again = self.again.values().cloned().map(Arc::new);
        let opened = without_move_limits(&self.snapshot, NOW, again, asked);
        solve(&opened, NOW, asked, effort).unwrap()
    }
}

/// `1 a-b` for each move, and whether it is proved that fewer are not enough.
fn moves(solution: &Solution) -> (Vec<String>, bool) {
    let Verdict::Moves { moves, fewest, .. } = &solution.verdict else { panic!("{solution:?}") };
    let described = |one: &Move| {
        let names = |nodes: &[common::id::NodeName]| {
            nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        format!("{} {}-{}", one.key, names(&one.from), names(&one.to))
    };
    (moves.iter().map(described).collect(), *fewest)
}

#[test]
fn the_example() {
    let mut house = House::new(&[8, 8, 8]);
    house.runs(1, &["a"], 3).runs(2, &["b"], 5).runs(3, &["c"], 2).runs(4, &["c"], 6);
    let solution = house.ask(gpu_request(8));
    assert_eq!(moves(&solution), (vec!["1 a-b".to_owned()], true));
    assert_eq!(solution.movable, 4);
    let Verdict::Moves { room, moves, .. } = solution.verdict else { panic!() };
    assert_eq!((room, moves[0].lost_gpu_minutes), (vec![name("a")], 3 * 600));
}

#[test]
fn one_makes_way_for_another_that_makes_way() {
    // The job of 4 has room on b only once that of 2 went to c.
    let mut house = House::new(&[8, 8, 8]);
    house.runs(1, &["a"], 4).runs(2, &["b"], 2).stays(3, &["b"], 3).stays(4, &["c"], 6);
    house.stays(5, &["a"], 1);
    let solution = house.ask(gpu_request(7));
    assert_eq!(moves(&solution), (vec!["1 a-b".to_owned(), "2 b-c".to_owned()], true));
}

#[test]
fn what_fits_needs_no_move() {
    let mut house = House::new(&[8, 8]);
    house.runs(1, &["a"], 4);
    assert_eq!(moves(&house.ask(gpu_request(8))), (vec![], true));
}

#[test]
fn moves_free_no_gpus() {
    let mut house = House::new(&[8, 8]);
    house.runs(1, &["a"], 5).runs(2, &["b"], 4);
    let solution = house.ask(gpu_request(8));
    let Verdict::Impossible(Impossible::Counts(count)) = solution.verdict else {
        panic!("{solution:?}")
    };
    assert_eq!((count.of, count.size), (Counted::WholeGpus, 1000));
    assert_eq!((count.room, count.needed, solution.trials), (16, 17, 0));
}

#[test]
fn pieces_rule_out_what_sums_do_not() {
    // 7 GPUs are free, but of three jobs of 5 no two share a node.
    let mut house = House::new(&[8, 8, 8]);
    house.runs(1, &["a"], 5).runs(2, &["b"], 5).runs(3, &["c"], 5);
    let solution = house.ask(gpu_request(5));
    let Verdict::Impossible(Impossible::Counts(count)) = solution.verdict else {
        panic!("{solution:?}")
    };
    assert_eq!((count.size, count.room, count.needed), (5000, 3, 4));
}

#[test]
fn what_no_count_rules_out_is_gone_through_to_the_end() {
    // Two nodes of 7: next to 5 there is room for 2, and not for 3 + 3 + 3 on the other.
    let mut house = House::new(&[7, 7]);
    house.runs(1, &["a"], 3).runs(2, &["a"], 3).runs(3, &["b"], 3);
    let solution = house.ask(gpu_request(5));
    let expected = Verdict::Impossible(Impossible::Exhausted);
    assert_eq!((solution.verdict, solution.trials > 0), (expected, true));
}

#[test]
fn a_job_that_is_not_preemptible_does_not_move_but_others_move_for_it() {
    let mut house = House::new(&[8, 8]);
    house.stays(1, &["a"], 4).stays(2, &["b"], 4);
    assert!(matches!(house.ask(gpu_request(8)).verdict, Verdict::Impossible(_)));
    let mut house = House::new(&[8, 8]);
    house.runs(1, &["a"], 4).stays(2, &["b"], 4);
    let job = of(99, gpu_request(8), "q", "low");
    let firm = WaitingJob { preemptible: Some(false), ..job };
    let solution = house.ask_for(firm, &Effort { trials: 1000, is_stopped: &|| false });
    assert_eq!(moves(&solution).0, ["1 a-b"]);
}

#[test]
fn who_is_safe_for_a_while_stays() {
    let mut house = House::new(&[8, 8]);
    house.runs(1, &["a"], 4).runs(2, &["b"], 4);
    change_policy(&mut house.snapshot, |policy| {
        policy.queues[0].preemption.runtime_min = NOW.since(Time(0)) + common::time::Span(1);
    });
    assert!(matches!(house.ask(gpu_request(8)).verdict, Verdict::Impossible(_)));
}

#[test]
fn a_gang_has_its_nodes_emptied_by_the_fewest() {
    let mut house = House::new(&[8, 8, 8, 8]);
    house.runs(1, &["a"], 2).runs(2, &["b"], 2).runs(3, &["c", "d"], 2).stays(4, &["c"], 1);
    let solution = house.ask(on_nodes(2, 8));
    let (moves, fewest) = moves(&solution);
    assert_eq!((moves.len(), fewest), (2, true), "{moves:?}");
}

#[test]
fn a_job_that_runs_with_tasks_here_and_there_moves_as_a_whole() {
    let mut house = House::new(&[4, 4, 4]);
    let loose =
        Request { tasks: Tasks(3), gpus: Some(GpuRequest::PerTask(Gpus(1))), ..gpu_request(0) };
    house.stays(1, &["b"], 2).stays(2, &["c"], 3);
    let free = [GpuIndex(0), GpuIndex(1), GpuIndex(2)];
    let held = Share { gpus: free.to_vec().into(), tasks: Tasks(3), ..share("a", "0-2") };
    let job = of(3, loose, "q", "low");
    house.again.insert(key(3), job.clone());
    house.snapshot.set_waiting(job);
    house.snapshot.start(key(3), Allocation::new(vec![held]).unwrap(), Time(0));
    assert_eq!(moves(&house.ask(gpu_request(4))).0, ["3 a-b c"]);
}

#[test]
fn a_share_of_a_gpu_that_keeps_it_from_being_whole_moves_onto_another_shared_one() {
    let mut house = House::new(&[2, 2]);
    for (job, node) in [(1, "a"), (2, "b")] {
        let held = Share {
            gpus: [GpuIndex(0)].into(),
            gpu_milli: Some(GpuMilli(400)),
            ..share(node, "0")
        };
        let asked = of(job, crate::testing::share_request(400), "q", "low");
        house.again.insert(key(job), asked.clone());
        house.snapshot.set_waiting(asked);
        house.snapshot.start(key(job), Allocation::new(vec![held]).unwrap(), Time(0));
    }
    let solution = house.ask(gpu_request(2));
    assert_eq!(moves(&solution).0.len(), 1);
    assert!(moves(&solution).1);
}

#[test]
fn it_gives_up_on_request_and_when_its_effort_is_used_up() {
    let mut house = House::new(&[7, 7]);
    house.runs(1, &["a"], 3).runs(2, &["a"], 3).runs(3, &["b"], 3);
    let job = of(99, gpu_request(5), "q", "low");
    let little = Effort { trials: 2, is_stopped: &|| false };
    let solution = house.ask_for(job.clone(), &little);
    assert_eq!((solution.verdict, solution.trials), (Verdict::GaveUp(GaveUp::Effort), 2));
    let stopped = Effort { trials: u64::MAX, is_stopped: &|| true };
    let solution = house.ask_for(job, &stopped);
    assert_eq!(solution.verdict, Verdict::GaveUp(GaveUp::Stopped));
}

#[test]
fn with_however_little_effort_it_never_says_no_before_it_has_looked_everywhere() {
    for trials in 1..12 {
        let mut house = House::new(&[7, 7]);
        house.runs(1, &["a"], 3).runs(2, &["a"], 3).runs(3, &["b"], 3);
        let job = of(99, gpu_request(5), "q", "low");
        let solution = house.ask_for(job, &Effort { trials, is_stopped: &|| false });
        assert_eq!(solution.verdict, Verdict::GaveUp(GaveUp::Effort), "{trials}");
    }
}

#[test]
fn a_job_that_may_not_start_gets_its_reason() {
    let mut house = House::new(&[8]);
    let held = WaitingJob { held: true, ..of(99, gpu_request(1), "q", "low") };
    let effort = Effort { trials: 1000, is_stopped: &|| false };
    let solution = house.ask_for(held, &effort);
    assert_eq!(solution.verdict, Verdict::Impossible(Impossible::MayNotStart(None)));
    let never = house.ask(gpu_request(9));
    let Verdict::Impossible(Impossible::NeverFits(_)) = never.verdict else { panic!("{never:?}") };
}

#[test]
fn what_a_job_gives_up_is_free_soon_and_no_job_need_move_for_it() {
    let mut house = House::new(&[8, 8]);
    house.stays(1, &["a", "b"], 8);
    let mut running = crate::RunningJob::clone(house.snapshot.running_job(key(1)).unwrap());
    running.leaving = 1;
    house.snapshot.set_running(running);
    let solution = house.ask(gpu_request(8));
    assert_eq!(moves(&solution), (Vec::new(), true));
}

#[test]
fn the_caller_may_end_the_search_before_anything_is_tried_in_detail() {
    let mut house = House::new(&[8, 8]);
    house.runs(1, &["a"], 4).runs(2, &["b"], 4);
    let asked = std::cell::Cell::new(0);
    // Stops at the second call.
    let is_stopped = || {
        asked.set(asked.get() + 1);
        asked.get() > 1
    };
    let effort = Effort { trials: u64::MAX, is_stopped: &is_stopped };
    let solution = house.ask_for(of(99, gpu_request(8), "q", "low"), &effort);
    assert_eq!(solution.verdict, Verdict::GaveUp(GaveUp::Stopped));
}
