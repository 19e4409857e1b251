//! A request about a very large array while another client submits: the client waits for part of
//! that time and not for all of it.

use common::config::ControllerConfig;
use common::job::{Outcome, Phase};
use common::wire::api::JobList;
use e2e::{Cluster, ClusterOptions, Person, Probe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TASKS: usize = 99_990;

/// The duration of an action, and the waiting times of another client meanwhile.
struct Measured {
    took: Duration,
    waits: Vec<Duration>,
}

/// Runs an action while another client submits one job after the other.
fn beside(
    probe: &mut Probe,
    act: impl FnOnce() -> anyhow::Result<()> + Send,
) -> anyhow::Result<Measured> {
    let is_over = AtomicBool::new(false);
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            let began = Instant::now();
            let done = act();
            is_over.store(true, Ordering::SeqCst);
            done.map(|()| began.elapsed())
        });
        while !is_over.load(Ordering::SeqCst) {
            let began = Instant::now();
            probe.submit()?;
            waits.push(began.elapsed());
        }
        let took = acting.join().expect("the action does not panic")?;
        Ok(Measured { took, waits })
    })
}

#[test]
fn other_clients_are_served_during_a_request_about_a_very_large_array() -> anyhow::Result<()> {
    // The other client is this process, which may run as any user.
    let controller: Option<fn(&mut ControllerConfig)> =
        Some(|config| config.allow_root_jobs = true);
    let options = ClusterOptions { nodes: Vec::new(), controller, ..ClusterOptions::default() };
    let cluster = Cluster::start(options)?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let sockets = [cluster.dir().join("kantctld.sock")];
    let mut probe =
        Probe::new("beside", &sockets, kantctl.dir(), "#!/bin/sh\n")?.asking(|ask| ask.hold = true);
    let last = TASKS - 1;
    let array = format!("--array=0-{last}");
    let id = kantctl.submit(&["--hold", "--mem=16M", &array], "#!/bin/sh\n")?;
    let verbs: [&[&str]; 6] =
        [&["release"], &["hold"], &["update", "--time=5"], &["cancel"], &["requeue"], &["cancel"]];
    for verb in verbs {
        let words: Vec<&str> = [&verb[..1], &[id.as_str()], &verb[1..]].concat();
        let measured = beside(&mut probe, || kantctl.ok(&words).map(drop))?;
        let longest = measured.waits.iter().max().copied().unwrap_or_default();
        let (count, took) = (measured.waits.len(), measured.took);
        println!("{words:?}: {took:?}, {count} submits meanwhile, the longest {longest:?}");
        if verb == ["cancel"] {
            assert!(longest * 3 < took, "{words:?} takes {took:?}, and another waits {longest:?}");
        }
        let job = kantctl.job(&format!("{id}_{last}"))?;
        match verb[0] {
            "hold" => assert!(job.held, "{job:?}"),
            "release" => assert!(!job.held, "{job:?}"),
            "cancel" => assert_eq!(job.outcome, Some(Outcome::Cancelled), "{job:?}"),
            _ => assert_eq!(job.phase, Phase::Pending, "{job:?}"),
        }
    }
    let left: JobList = kantctl.json(&["queue", "--json"])?;
    let is_of_array = |job: &&common::wire::api::JobView| job.key.job.0.to_string() == id;
    assert_eq!(left.jobs.iter().filter(is_of_array).count(), 0, "each of its tasks was cancelled");
    Ok(())
}
