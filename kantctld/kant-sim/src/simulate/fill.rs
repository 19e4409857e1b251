//! `simulate --fill`: one filled cluster for each seed, as many at once as there are CPUs.

use super::choice::Choice;
use super::draw::Draw;
use super::input::Input;
use super::{Arguments, SimulateError, write};
use serde::Serialize;
use sim::fill::{Filled, Filling, capacity, fill};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The JSON output for one policy.
#[derive(Debug, Serialize)]
struct Document<'a> {
    trace: &'a str,
    policy: &'a str,
    placement: String,
    arrivals: f64,
    seeds: Vec<u64>,
    allocated_ratio: Vec<f64>,
    allocated_ratio_mean: f64,
    runs: Vec<Filled>,
}

pub(super) fn run(
    arguments: &Arguments,
    input: &Input,
    choices: &[Choice],
) -> Result<(), SimulateError> {
    if capacity(&input.nodes) == 0 {
        return Err(SimulateError::NothingToFill { what: "the nodes have no GPUs" });
    }
    if input.jobs.iter().all(|job| sim::fill::asked_gpu_milli(job) == 0) || arguments.seeds == 0 {
        return Err(SimulateError::NothingToFill {
            what: "no job asks for a GPU, or --seeds is 0",
        });
    }
    let mut documents = Vec::new();
    for choice in choices {
        let seeds: Vec<u64> = (arguments.seed..).take(arguments.seeds as usize).collect();
        let runs = fill_for_seeds(arguments, input, choice, &seeds)?;
        let document = document(arguments, input, choice, seeds, runs);
        print_document(&document);
        documents.push(document);
    }
    if let Some(file) = &arguments.json {
        let text = match documents.as_slice() {
            [one] => serde_json::to_string_pretty(one),
            several => serde_json::to_string_pretty(several),
        };
        let text = text.map_err(|error| SimulateError::Write {
            file: file.display().to_string(),
            source: error.into(),
        })?;
        write(file, &format!("{text}\n"))?;
    }
    Ok(())
}

/// Runs all seeds, spread over the CPUs.
fn fill_for_seeds(
    arguments: &Arguments,
    input: &Input,
    choice: &Choice,
    seeds: &[u64],
) -> Result<Vec<Filled>, SimulateError> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(seeds.len());
    let work = || {
        let mut done = Vec::new();
        while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*seed, fill_for_seed(arguments, input, choice, *seed)));
        }
        done
    };
    let mut runs: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    runs.sort_by_key(|(seed, _)| *seed);
    runs.into_iter().map(|(_, run)| run).collect()
}

fn fill_for_seed(
    arguments: &Arguments,
    input: &Input,
    choice: &Choice,
    seed: u64,
) -> Result<Filled, SimulateError> {
    let draw = Draw::new(&input.jobs, &input.nodes, arguments.arrivals, seed);
    Ok(fill(&Filling {
        jobs: &input.jobs,
        nodes: &input.nodes,
        policy: &choice.policy,
        arrivals: &draw.arrivals,
        order: &draw.order,
    })?)
}

fn document<'a>(
    arguments: &Arguments,
    input: &'a Input,
    choice: &'a Choice,
    seeds: Vec<u64>,
    runs: Vec<Filled>,
) -> Document<'a> {
    let allocated_ratio: Vec<f64> = runs.iter().map(|run| run.allocated_ratio).collect();
    let mean = allocated_ratio.iter().sum::<f64>() / allocated_ratio.len().max(1) as f64;
    Document {
        trace: &input.name,
        policy: &choice.name,
        placement: sim::replay::placements_of(&choice.policy),
        arrivals: arguments.arrivals,
        seeds,
        allocated_ratio,
        allocated_ratio_mean: mean,
        runs,
    }
}

fn print_document(document: &Document<'_>) {
    println!("{}, {}: GPUs allocated", document.policy, document.placement);
    for (seed, ratio) in document.seeds.iter().zip(&document.allocated_ratio) {
        println!("  seed {seed:<4} {:6.2} %", ratio * 100.0);
    }
    println!("  mean      {:6.2} %", document.allocated_ratio_mean * 100.0);
}
