//! The benchmark of kantctl: the time from the start of its process to its end, with a controller
//! on loopback that has many waiting jobs. Jobs are held, so that nothing else happens. It prints
//! samples and sets no limits.

use crate::figures::Figures;
use crate::raft::{SCRIPT, submit_all};
use e2e::{Controllers, Kantctl, Probe};
use std::path::PathBuf;
use std::time::Instant;

/// Number of submissions timed per round.
const SUBMITS: usize = 50;
/// The larger array has one task for each job that a user may have.
const ARRAYS: [&str; 2] = ["--array=1-1000", "--array=1-100000"];

/// Options of the benchmark of kantctl
#[derive(clap::Args)]
pub struct Args {
    /// Number of times that each command is measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Numbers of waiting jobs while lists are made, rising; one user may have 100,000
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 99_000])]
    jobs: Vec<usize>,
}

/// Measures everything. The daemons are built in the same way as this program.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    let controllers = Controllers::of(&["a"], |config| config.log = "info".to_owned())?;
    let kantctl = controllers.kantctl("a")?;
    figures.times("fdatasync of 512 B on this disk", &e2e::sync_times(controllers.dir())?);
    time_submits(&kantctl, args.rounds, &mut figures)?;
    let squeue = squeue_program(&controllers, &kantctl)?;
    let mut there = 0;
    for jobs in &args.jobs {
        submit_held_jobs(&controllers, there, *jobs)?;
        there = *jobs;
        time_lists(&kantctl, &squeue, (*jobs, args.rounds), &mut figures)?;
    }
    println!("{:#}", figures.to_json());
    Ok(())
}

fn time_command(
    figures: &mut Figures,
    what: &str,
    kantctl: &Kantctl,
    words: &[&str],
) -> anyhow::Result<String> {
    let begin = Instant::now();
    let said = kantctl.ok(words)?;
    figures.time(what, begin.elapsed());
    Ok(said)
}

fn time_submits(kantctl: &Kantctl, rounds: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let submit = ["submit", "--hold", "--parsable", "--wrap", "true"];
    for _ in 0..rounds {
        let mut jobs = vec!["cancel".to_owned()];
        for _ in 0..SUBMITS {
            time_command(figures, "kantctl --version", kantctl, &["--version"])?;
            let job = time_command(figures, "kantctl submit", kantctl, &submit)?;
            jobs.push(job.trim().to_owned());
        }
        let words: Vec<&str> = jobs.iter().map(String::as_str).collect();
        kantctl.ok(&words)?;
        for array in ARRAYS {
            let before = applied_index(kantctl)?;
            let what = format!("kantctl submit {array}");
            let words = [&submit[..], &[array]].concat();
            let job = time_command(figures, &what, kantctl, &words)?;
            figures.add(
                &format!("log entries of {array}"),
                "entries",
                applied_index(kantctl)? - before,
            );
            let what = format!("kantctl cancel of {array}");
            time_command(figures, &what, kantctl, &["cancel", job.trim()])?;
        }
    }
    Ok(())
}

/// The index of the last entry that the controller has applied.
fn applied_index(kantctl: &Kantctl) -> anyhow::Result<f64> {
    let status: serde_json::Value = kantctl.json(&["status"])?;
    Ok(status["applied"].as_f64().unwrap_or_default())
}

/// kantctl under Slurm's name.
fn squeue_program(controllers: &Controllers, kantctl: &Kantctl) -> anyhow::Result<Kantctl> {
    kantctl.ok(&["install-slurm-names", "names"])?;
    let socket = PathBuf::from(&controllers.config("a")?.socket);
    Ok(Kantctl::at(&kantctl.dir().join("names/squeue"), &socket, kantctl.dir()))
}

fn submit_held_jobs(controllers: &Controllers, from: usize, to: usize) -> anyhow::Result<()> {
    submit_all(to - from, |client| {
        let name = format!("fill-{to}-{client}");
        let probe = Probe::new(&name, &controllers.sockets(), controllers.dir(), SCRIPT)?;
        Ok(probe.asking(|ask| ask.hold = true))
    })
}

fn time_lists(
    kantctl: &Kantctl,
    squeue: &Kantctl,
    (jobs, rounds): (usize, usize),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for _ in 0..rounds {
        for (what, program, words) in [
            ("kantctl queue", kantctl, &["queue"][..]),
            ("kantctl queue --json", kantctl, &["queue", "--json"]),
            ("kantctl queue -o id,state,reason", kantctl, &["queue", "-o", "id,state,reason"]),
            ("squeue", squeue, &[]),
            ("kantctl submit", kantctl, &["submit", "--hold", "--wrap", "true"]),
        ] {
            time_command(figures, &format!("{what}, {jobs} jobs wait"), program, words)?;
        }
    }
    Ok(())
}
