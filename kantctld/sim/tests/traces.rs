//! The small traces in tests/traces are as their README describes them.

use common::time::Time;
use common::unit::Gpus;
use std::collections::BTreeSet;
use trace::{read_jobs, read_nodes, write_jobs, write_nodes};

const BATSIM_JOBS: &[u8] = include_bytes!("../../../tests/traces/batsim-medium.jobs.csv.gz");
const BATSIM_NODES: &[u8] = include_bytes!("../../../tests/traces/batsim-medium.nodes.csv");
const ITP_JOBS: &[u8] = include_bytes!("../../../tests/traces/itp-04-window.jobs.csv");
const ITP_NODES: &[u8] = include_bytes!("../../../tests/traces/itp-04-window.nodes.csv");

#[test]
fn batsim_medium_has_801_jobs_and_the_starts_that_batsim_computed() {
    let jobs = read_jobs("batsim-medium", BATSIM_JOBS).unwrap();
    assert_eq!(jobs.len(), 801);
    for job in &jobs {
        for key in ["ref_start_easy", "ref_start_conservative"] {
            let start: f64 = job.constraint[key].parse().unwrap();
            assert!(start >= job.submit_seconds, "job {} {key}", job.id);
        }
    }
    assert_eq!((jobs[1].submit, jobs[1].submit_seconds), (Time(4709), 4.709164));
    assert_eq!(read_nodes("batsim-medium", BATSIM_NODES).unwrap().len(), 32);
}

#[test]
fn the_itp_window_has_500_jobs_that_fit_its_16_nodes_under_4_leaves() {
    let jobs = read_jobs("itp", ITP_JOBS).unwrap();
    let nodes = read_nodes("itp", ITP_NODES).unwrap();
    assert_eq!((jobs.len(), nodes.len(), jobs[0].submit), (500, 16, Time(0)));
    assert!(nodes.iter().all(|node| node.gpus == Gpus(8)));
    let leaves: BTreeSet<_> = nodes.iter().map(|node| node.leaf.clone()).collect();
    assert_eq!(leaves.len(), 4);
    assert!(jobs.iter().all(|job| job.nodes.0 <= 16 && job.gpus_per_node <= Gpus(8)));
    let largest = jobs.iter().map(|job| job.gpu_milli_total().0).max();
    assert_eq!(largest, Some(32_000));
}

#[test]
fn a_real_trace_is_written_as_it_was_read() {
    assert_eq!(write_jobs(&read_jobs("itp", ITP_JOBS).unwrap()).as_bytes(), ITP_JOBS);
    let jobs = read_jobs("batsim-medium", BATSIM_JOBS).unwrap();
    assert_eq!(read_jobs("again", write_jobs(&jobs).as_bytes()).unwrap(), jobs);
    let nodes = read_nodes("itp", ITP_NODES).unwrap();
    assert_eq!(read_nodes("again", write_nodes(&nodes).as_bytes()).unwrap(), nodes);
}
