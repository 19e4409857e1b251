//! `cargo xtask bench NAME`: benchmarks, printed with the machine they ran on.

mod e2e_bench;
mod figures;
mod growth;
mod optimised;
mod targets;

use anyhow::Context as _;
use clap::ValueEnum as _;
use figures::Figures;
use std::path::PathBuf;

/// Measure kant on this machine
#[derive(Clone, clap::Args)]
pub struct Args {
    /// Benchmark to run
    #[arg(value_enum)]
    name: Name,
    /// Repetitions of each measurement; the median is shown with minimum and maximum
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// For quality: folder with the traces
    #[arg(long, value_name = "DIR", default_value = "traces")]
    traces: PathBuf,
    /// For all but e2e: write the tables into docs/
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// For e2e: run the same benchmark on this system, alternately, and print ratios (as root)
    #[arg(long, value_enum, conflicts_with = "json")]
    compare: Option<Baseline>,
    /// For engine: only these rows (plain, 1000x1000, teams:10000x100000)
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    only: Vec<String>,
    /// For all: continue at this benchmark, as after an interrupted run
    #[arg(long, value_enum, value_name = "NAME")]
    from: Option<Name>,
}

/// A system that kant is compared with.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Baseline {
    /// Debian's packages: installed ones, or fetched with apt-get and unpacked in the target folder
    Slurm,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// All of docs/performance.md, with the comparison with Slurm (as root; about an hour)
    All,
    /// One controller and one node on loopback: submit, start, complete, memory
    E2e,
    /// Rounds of the engine on made-up clusters: time, growth, memory
    Engine,
    /// Policies on replayed traces: the tables of docs/quality.md
    Quality,
    /// One and three controllers on loopback: submits, failovers, restarts, snapshots
    Raft,
    /// A controller with 100 and 1,000 emulated nodes: filling, throughput, memory
    Scale,
    /// The cost of a controller by load: the curves and plots of docs/performance.md
    Growth,
    /// Fair-share rounds on the workloads that KAI Scheduler publishes: the table of
    /// docs/performance.md
    Share,
    /// kantd with 8 GPUs: memory and CPU idle, launches, latency, accounting
    Node,
    /// kantctl commands: lists of 10,000 and 99,000 jobs, submissions, an array of 100,000
    Cli,
    /// The router of services, beside nginx and haproxy where they are installed
    Services,
    /// Many services: what they cost a controller, and how soon replicas are there
    Fleet,
    /// An array of 99,990 tasks: what each action on all of it takes, and how long others wait
    Arrays,
}

/// Runs a benchmark.
///
/// # Errors
/// When a daemon cannot be built or does not answer.
pub fn run(args: Args) -> anyhow::Result<()> {
    let alone = args.from.is_none() || args.name == Name::All;
    anyhow::ensure!(alone, "--from is only for `cargo xtask bench all`");
    match args.name {
        Name::All => run_all(&args),
        Name::E2e if matches!(args.compare, Some(Baseline::Slurm)) => {
            let mut figures = Figures::default();
            optimised::sampled("compare", args.rounds, &mut figures)?;
            let table = format!(
                "{}\n{}",
                figures.to_ratios("kant: ", "Slurm: "),
                figures.to_ratios("kant: ", "tuned Slurm: ")
            );
            print!("{table}");
            write_if(args.write, "docs/performance.md", "compare", &table)
        }
        Name::E2e => {
            let figures = e2e_bench::measure(args.rounds)?;
            match args.json {
                true => println!("{:#}", figures.to_json()),
                false => print!("{}", figures.to_table()),
            }
            Ok(())
        }
        Name::Engine => {
            let rows = optimised::engine(&args.only)?;
            let table = optimised::engine_table(&rows);
            match args.json {
                true => println!("{:#}", serde_json::Value::Array(rows)),
                false => print!("{table}"),
            }
            write_if(args.write, "docs/performance.md", "engine", &table)
        }
        Name::Quality => {
            let tables = optimised::quality(&args.traces)?;
            print!("{tables}");
            write_if(args.write, "docs/quality.md", "quality", &tables)
        }
        Name::Share => {
            let table = optimised::share()?;
            print!("{table}");
            write_if(args.write, "docs/performance.md", "share", &table)
        }
        Name::Growth => growth::run(args.write, args.json),
        Name::Raft => print_sampled("raft", &args),
        Name::Scale => print_sampled("scale", &args),
        Name::Node => print_sampled("node", &args),
        Name::Cli => print_sampled("cli", &args),
        Name::Services => print_sampled("services", &args),
        Name::Fleet => print_sampled("fleet", &args),
        Name::Arrays => print_sampled("arrays", &args),
    }
}

/// The benchmarks of `all`, fast ones first.
const ALL: [Name; 10] = {
    use Name::{Arrays, Cli, E2e, Engine, Fleet, Growth, Node, Raft, Scale, Services};
    [Node, Cli, Services, Fleet, Arrays, Scale, Raft, Growth, E2e, Engine]
};

/// Runs all benchmarks, also after one has failed.
fn run_all(args: &Args) -> anyhow::Result<()> {
    let mut failed = Vec::new();
    for name in benchmarks_from(args.from)? {
        let compare = matches!(name, Name::E2e).then_some(Baseline::Slurm);
        let label = name_of(*name);
        eprintln!("bench: {label} (to continue here: `cargo xtask bench all --from {label}`)");
        if let Err(error) = run(Args { name: *name, compare, from: None, ..args.clone() }) {
            eprintln!("bench: {label} failed: {error:#}");
            failed.push(label);
        }
    }
    anyhow::ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

/// The benchmarks of `all` from one on.
fn benchmarks_from(from: Option<Name>) -> anyhow::Result<&'static [Name]> {
    let Some(from) = from else { return Ok(&ALL) };
    let names = || ALL.map(name_of).join(", ");
    let at = ALL.iter().position(|name| *name == from);
    let at =
        at.with_context(|| format!("`{}` is not part of `all`: {}", name_of(from), names()))?;
    Ok(&ALL[at..])
}

fn name_of(name: Name) -> String {
    name.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// A benchmark that prints samples, shown as a table.
fn print_sampled(name: &str, args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    optimised::sampled(name, args.rounds, &mut figures)?;
    match args.json {
        true => println!("{:#}", figures.to_json()),
        false => print!("{}", figures.to_table()),
    }
    write_if(args.write, "docs/performance.md", name, &figures.to_table())
}

fn write_if(asked: bool, page: &str, name: &str, text: &str) -> anyhow::Result<()> {
    if asked { optimised::write_into(page, name, text) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_continues_at_a_benchmark() {
        assert_eq!(benchmarks_from(None).unwrap().len(), ALL.len());
        let left = benchmarks_from(Some(Name::Growth)).unwrap();
        assert_eq!(
            left.iter().map(|name| name_of(*name)).collect::<Vec<_>>(),
            ["growth", "e2e", "engine"]
        );
    }

    #[test]
    fn a_benchmark_that_is_not_part_of_all_is_refused() {
        let error = benchmarks_from(Some(Name::Share)).err().unwrap().to_string();
        assert!(error.contains("`share`") && error.contains("node, cli"), "{error}");
    }
}
