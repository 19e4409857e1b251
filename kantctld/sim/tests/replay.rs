//! Replays of small real traces. Every start is compared.
#![allow(clippy::unwrap_used)]

use sim::replay::{Named, Plan, Unwatched, replay};
use sim::report::{Outcome, Summary, jobs_csv};
use trace::{Estimates, Job, Node, read_jobs, read_nodes};

const BATSIM_JOBS: &[u8] = include_bytes!("../../../tests/traces/batsim-medium.jobs.csv.gz");
const BATSIM_NODES: &[u8] = include_bytes!("../../../tests/traces/batsim-medium.nodes.csv");
const ITP_JOBS: &[u8] = include_bytes!("../../../tests/traces/itp-04-window.jobs.csv");
const ITP_NODES: &[u8] = include_bytes!("../../../tests/traces/itp-04-window.nodes.csv");

fn played(named: Named, jobs: &[Job], nodes: &[Node], estimates: Estimates) -> Outcome {
    let (policy, name) = (named.policy(), named.name());
    let plan = Plan { trace: "test", jobs, nodes, name, policy: &policy, estimates, seed: 0 };
    replay(&plan, &mut Unwatched).unwrap()
}

/// Jobs whose starts, in milliseconds, differ from Batsim's.
fn different_from_batsim(named: Named, key: &str) -> Vec<u64> {
    let jobs = read_jobs("batsim-medium", BATSIM_JOBS).unwrap();
    let nodes = read_nodes("batsim-medium", BATSIM_NODES).unwrap();
    let outcome = played(named, &jobs, &nodes, Estimates::Request);
    assert_eq!(outcome.jobs.len(), 801);
    let differs = |(job, ran): &(&Job, &sim::report::JobOutcome)| {
        let start: f64 = job.constraint[key].parse().unwrap();
        ran.start.map(|start| start.0) != Some((start * 1000.0).round() as u64)
    };
    jobs.iter().zip(&outcome.jobs).filter(differs).map(|(job, _)| job.id).collect()
}

#[test]
fn the_example() {
    let head = "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_per_node";
    let rows = "1,0,100,100,1,1\n2,10,10,10,2,1\n3,20,50,50,1,1\n";
    let jobs = read_jobs("jobs", format!("{head}\n{rows}").as_bytes()).unwrap();
    let nodes = read_nodes("nodes", b"name,gpus\nb,1\na,1\n").unwrap();
    let outcome = played(Named::Easy, &jobs, &nodes, Estimates::Request);
    let lines = ["job_id,start_s,end_s,nodes", "1,0,100,b", "2,100,110,b|a", "3,20,70,a"];
    assert_eq!(jobs_csv(&outcome).lines().collect::<Vec<_>>(), lines);
}

#[test]
fn easy_backfill_with_a_pinned_reservation_starts_all_801_jobs_when_batsim_does() {
    assert_eq!(different_from_batsim(Named::EasyPinned, "ref_start_easy"), [0; 0]);
}

#[test]
fn conservative_backfill_starts_all_801_jobs_when_batsim_does() {
    assert_eq!(different_from_batsim(Named::Conservative, "ref_start_conservative"), [0; 0]);
}

/// The result of a run, without what depends on the machine's speed.
fn document(outcome: &Outcome) -> serde_json::Value {
    let mut json: serde_json::Value =
        serde_json::from_str(&Summary::of(outcome).to_json()).unwrap();
    json["starts_per_cpu_second"].take();
    json
}

#[test]
fn every_policy_comes_to_the_same_on_the_itp_window_as_it_did() {
    let jobs = read_jobs("itp", ITP_JOBS).unwrap();
    let nodes = read_nodes("itp", ITP_NODES).unwrap();
    let mut found = serde_json::Map::new();
    for named in Named::ALL {
        let outcome = played(named, &jobs, &nodes, Estimates::Request);
        assert_eq!(outcome.jobs.iter().filter(|job| job.end.is_none()).count(), 0);
        let again = played(named, &jobs, &nodes, Estimates::Request);
        assert_eq!(jobs_csv(&outcome), jobs_csv(&again), "{}", named.name());
        assert_eq!(document(&outcome), document(&again), "{}", named.name());
        found.insert(named.name().to_owned(), document(&outcome));
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/itp-04-window.json");
    let found = format!("{}\n", serde_json::to_string_pretty(&found).unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &found).unwrap();
    }
    assert!(
        std::fs::read_to_string(golden).unwrap() == found,
        "run it with UPDATE_GOLDEN=1 and \
        read the difference:\n{found}"
    );
}

#[test]
fn who_foresees_run_times_fills_a_gap_that_the_request_does_not_fit() {
    let head = "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_per_node";
    // Job 3 asks for longer than job 1 has left, and ends before that.
    let rows = "1,0,100,100,1,1\n2,10,10,10,2,1\n3,20,50,200,1,1\n";
    let jobs = read_jobs("jobs", format!("{head}\n{rows}").as_bytes()).unwrap();
    let nodes = read_nodes("nodes", b"name,gpus\nb,1\na,1\n").unwrap();
    let starts = |estimates| -> Vec<u64> {
        let outcome = played(Named::Easy, &jobs, &nodes, estimates);
        outcome.jobs.iter().map(|job| job.start.unwrap().0 / 1000).collect()
    };
    assert_eq!(starts(Estimates::Request), [0, 100, 110]);
    assert_eq!(starts(Estimates::Exact), [0, 100, 20]);
}

#[test]
fn a_job_too_large_for_the_cluster_is_named_and_the_others_run() {
    let jobs = read_jobs("itp", ITP_JOBS).unwrap();
    let nodes = read_nodes("itp", ITP_NODES).unwrap();
    let few = played(Named::Fifo, &jobs, &nodes[..2], Estimates::Exact);
    let too_large: Vec<u64> = jobs.iter().filter(|job| job.nodes.0 > 2).map(|job| job.id).collect();
    assert_eq!(few.never_fit, too_large);
    assert!(!too_large.is_empty() && few.jobs.len() + too_large.len() == jobs.len());
}

#[test]
fn jobs_without_length_memory_or_limit_follow_the_convention_of_the_traces() {
    let head = "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_per_node,cpus,mem_mib";
    // Job 1 takes all memory; 2 and 3 ask for none; 4 has no run time and waits for a CPU; 5 asks
    // for no time limit; 6 asks for more memory than there is.
    let rows = "1,0,100,100,1,0,1,1000\n2,0,50,50,1,0,1,\n3,0,60,60,1,0,1,0\n4,1,0,,1,0,1,0\n\
                5,51,20,0,1,0,1,\n6,60,20,,1,0,1,1001\n";
    let jobs = read_jobs("jobs", format!("{head}\n{rows}").as_bytes()).unwrap();
    let nodes = read_nodes("nodes", b"name,gpus,cpus,mem_mib\na,0,3,1000\n").unwrap();
    for named in Named::ALL {
        let outcome = played(named, &jobs, &nodes, Estimates::Request);
        let times: Vec<(u64, u64, u64)> = outcome
            .jobs
            .iter()
            .map(|job| (job.id, job.start.unwrap().0, job.end.unwrap().0))
            .collect();
        let expected = [(1, 0, 100_000), (2, 0, 50_000), (3, 0, 60_000), (4, 50_000, 50_001)];
        assert_eq!(times[..4], expected, "{}", named.name());
        assert_eq!(times[4].2 - times[4].1, 20_000, "{}", named.name());
        assert_eq!(outcome.never_fit, [6], "{}", named.name());
    }
    // Nodes without recorded memory have as much as jobs ask for.
    let nodes = read_nodes("nodes", b"name,gpus,cpus,mem_mib\na,0,3,0\n").unwrap();
    let outcome = played(Named::Fifo, &jobs, &nodes, Estimates::Exact);
    assert_eq!((outcome.jobs.len(), outcome.never_fit.len()), (6, 0));
}
