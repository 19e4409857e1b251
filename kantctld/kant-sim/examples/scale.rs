//! The time that replays of large generated inputs take. Usage: `cargo run --release -p kant-sim
//! --example scale -- mixed 20000 10000 | queues 4 6 | easy 30000 5832`. It prints times.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)] // it measures

#[path = "../../sim/tests/scale/inputs.rs"]
mod inputs;

use inputs::{Input, easy, mixed, queues};
use sim::replay::{Plan, Progress, Watcher, replay};
use std::time::Instant;
use trace::Estimates;

/// As in `kant-sim`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Clock(Instant);

impl Watcher for Clock {
    fn cpu_seconds(&mut self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    fn progress(&mut self, _: Progress) {}
}

fn input(arguments: &[String]) -> Option<Input> {
    let [name, first, second] = arguments else { return None };
    let (first, second): (usize, usize) = (first.parse().ok()?, second.parse().ok()?);
    match name.as_str() {
        "mixed" => Some(mixed(first, second)),
        "queues" => Some(queues(first, u32::try_from(second).ok()?)),
        "easy" => Some(easy(first, second)),
        _ => None,
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let input = input(&arguments).ok_or("name an input and two sizes: mixed 20000 10000")?;
    let Input { name, jobs, nodes, policy } = &input;
    let estimates = Estimates::Request;
    let plan = Plan { trace: name, jobs, nodes, name, policy, estimates, seed: 0 };
    let mut clock = Clock(Instant::now());
    let outcome = replay(&plan, &mut clock).map_err(|error| error.to_string())?;
    let ended = outcome.jobs.iter().filter(|job| job.end.is_some()).count();
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in sim::report::jobs_csv(&outcome).bytes() {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    println!(
        "{name}: {} jobs of {} ended, {} never fit, {} refused; {:.1} s, of these {:.1} s of the \
         scheduler, {} searches; schedule {sum:016x}",
        ended,
        jobs.len(),
        outcome.never_fit.len(),
        outcome.refused.len(),
        clock.0.elapsed().as_secs_f64(),
        outcome.scheduler_cpu_seconds,
        outcome.searches,
    );
    Ok(())
}
