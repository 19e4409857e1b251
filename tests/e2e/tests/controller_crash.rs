//! SIGKILL of the controller at random moments: no acknowledged job is lost, each runs exactly
//! once, and running jobs are not disturbed.

use anyhow::Context as _;
use common::config::ControllerConfig;
use common::job::{Outcome, Phase};
use common::sync::Mutex;
use common::wire::api::JobList;
use e2e::{Cluster, ClusterOptions, Kantctl, Machine, Person};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const ROUNDS: usize = 20;
const JOBS: usize = 500;
const CLIENTS: usize = 2;

/// A script that appends a line to a file of the job; a job that ran twice would have two lines.
const SCRIPT: &str = "#!/bin/sh\necho ran >> ran/$SLURM_JOB_ID\n";

#[test]
fn sigkill_loses_no_acknowledged_job_and_runs_none_twice() -> anyhow::Result<()> {
    let nodes = vec![("n1", Machine::cpu()), ("n2", Machine::cpu())];
    // Frequent snapshots and log truncations, so that kills hit them too.
    let often = |config: &mut ControllerConfig| config.snapshot_every_entries = 50;
    let options = ClusterOptions { nodes, controller: Some(often), ..ClusterOptions::default() };
    let mut cluster = Cluster::start(options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let ran = kantctl.dir().join("ran");
    std::fs::create_dir(&ran)?;
    Person::plain().own(&ran)?;

    let long = kantctl.submit(&["-o", "long.out"], &long_script())?;
    kantctl.until(&long, Phase::Running)?;

    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let acknowledged = Mutex::new(Vec::new());
    let failed = Mutex::new(Vec::new());
    // Each round allows a share of the submissions, so that every kill falls among them.
    let allowed = AtomicUsize::new(0);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for _ in 0..CLIENTS {
            scope.spawn(|| submit_many(&kantctl, &allowed, &acknowledged, &failed));
        }
        let rounds = (0..ROUNDS).try_for_each(|_| {
            let before = answered(&acknowledged, &failed);
            allowed.fetch_add(JOBS / ROUNDS, Ordering::SeqCst);
            let blow = before + random.usize(1..JOBS / ROUNDS);
            e2e::wait_for("submissions to be in progress", || {
                Ok((answered(&acknowledged, &failed) >= blow).then_some(()))
            })?;
            cluster.kill_controller()?;
            cluster.start_controller()
        });
        // The clients must end in any case.
        allowed.store(JOBS, Ordering::SeqCst);
        rounds
    })?;

    let acknowledged = acknowledged.into_inner();
    let failed = failed.into_inner();
    assert!(failed.is_empty(), "abandoned submissions: {failed:?}");
    assert_eq!(acknowledged.len(), JOBS);
    check_all_ran_once(&kantctl, &acknowledged)?;
    kantctl.touch("stop")?;
    let job = kantctl.completed(&long)?;
    assert_eq!(job.attempt, 1);
    assert_eq!(kantctl.read("long.out")?, "begin\nend\n");
    Ok(())
}

/// A script that runs until a file exists; a second start would write a second `begin`.
fn long_script() -> String {
    "#!/bin/sh\necho begin\nwhile [ ! -e stop ]; do sleep 0.1; done\necho end\n".to_owned()
}

fn answered(acknowledged: &Mutex<Vec<String>>, failed: &Mutex<Vec<String>>) -> usize {
    let count = |list: &Mutex<Vec<String>>| list.lock().len();
    count(acknowledged) + count(failed)
}

/// Submits jobs as they are allowed, until all are submitted.
fn submit_many(
    kantctl: &Kantctl,
    allowed: &AtomicUsize,
    acknowledged: &Mutex<Vec<String>>,
    failed: &Mutex<Vec<String>>,
) {
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    while TAKEN.load(Ordering::SeqCst) < JOBS {
        let turn = TAKEN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |taken| {
            (taken < allowed.load(Ordering::SeqCst)).then_some(taken + 1)
        });
        if turn.is_err() {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let mut command = kantctl.command();
        command.args(["submit", "--parsable", "-o", "/dev/null", "--mem=16M", "-"]);
        let (into, text) = match run_with_input(command, SCRIPT) {
            Ok(id) => (acknowledged, id),
            Err(error) => (failed, format!("{error:#}")),
        };
        into.lock().push(text);
    }
}

fn run_with_input(mut command: std::process::Command, input: &str) -> anyhow::Result<String> {
    use std::io::Write as _;
    use std::process::Stdio;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().context("no stdin")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn check_all_ran_once(kantctl: &Kantctl, acknowledged: &[String]) -> anyhow::Result<()> {
    let mut seen: BTreeMap<&String, u32> = BTreeMap::new();
    for id in acknowledged {
        *seen.entry(id).or_default() += 1;
    }
    assert!(seen.values().all(|n| *n == 1), "an id was given twice: {seen:?}");
    // A submission that was repeated after a kill must not have made a second job.
    let list: JobList = kantctl.json(&["queue", "--all"])?;
    assert_eq!(list.jobs.len(), JOBS + 1, "all submitted jobs and the long one");
    for id in acknowledged {
        let job = kantctl.finished(id)?;
        assert_eq!(job.outcome, Some(Outcome::Completed), "job {id}: {:?}", job.timeline);
        let text = std::fs::read_to_string(kantctl.dir().join("ran").join(id))?;
        assert_eq!(text, "ran\n", "job {id} ran exactly once");
    }
    assert_eq!(std::fs::read_dir(kantctl.dir().join("ran"))?.count(), JOBS, "nothing else ran");
    Ok(())
}
