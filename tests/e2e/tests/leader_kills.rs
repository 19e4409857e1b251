//! Thirty leaders are killed at random moments under a steady load: no acknowledged job is lost,
//! and no job runs twice. The durations of the outages are printed and not checked.

use common::id::JobId;
use e2e::{Controllers, probe, under_load};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

const KILLS: usize = 30;
const STEP: Duration = Duration::from_millis(250);

/// A job that runs during the whole test; the check would find a second start.
const LONG: &str = "#!/bin/sh\necho begin $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n\
    for i in $(seq 3000); do\n[ -e stop ] && break\nsleep 0.1\ndone\n\
    echo end $KANT_JOB_ATTEMPT >> ran/$KANT_JOB_ID\n";

#[test]
fn thirty_killed_leaders_lose_and_duplicate_no_acknowledged_job() -> anyhow::Result<()> {
    // Frequent snapshots and log truncations, so that kills hit them too.
    let mut controllers = Controllers::three_with(|config| config.snapshot_every_entries = 200)?;
    let nodes = ["n1", "n2"];
    nodes.iter().try_for_each(|node| controllers.start_node(node))?;
    controllers.wait_for_nodes("a")?;

    let seed = fastrand::u64(..);
    eprintln!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (spans, record) = under_load(&mut controllers, &nodes, |controllers, load| {
        let long = controllers.kantctl("a")?.submit(&["-o", "/dev/null"], LONG)?;
        load.note(JobId(long.parse()?));
        let mut client = probe(controllers, "kills")?;
        let mut spans = Vec::new();
        for _ in 0..KILLS {
            let (leader, _) = controllers.leader()?;
            load.wait_for_more(random.usize(1..6))?;
            let blow = Instant::now();
            controllers.kill(&leader)?;
            load.note(client.submit()?);
            spans.push(blow.elapsed());
            controllers.start(&leader)?;
        }
        Ok(spans)
    })?;
    std::fs::write(controllers.dir().join("stop"), "")?;
    // Written past the test harness's capture, since operators want to see it.
    std::io::stderr().write_all(histogram(&spans).as_bytes())?;

    let (leader, _) = controllers.leader()?;
    let jobs = record.judge(&controllers, &leader)?;
    let actions = record.actions.len();
    writeln!(std::io::stderr(), "{jobs} jobs, {actions} cancelled or requeued: 0 lost, 0 doubled")?;
    Ok(())
}

/// The times from a leader's death to the next acknowledged submission.
fn histogram(spans: &[Duration]) -> String {
    let mut sorted = spans.to_vec();
    sorted.sort();
    let mut text = format!("without service after kill -9 of the leader, {} times:\n", spans.len());
    let slots = sorted.last().map_or(0, |most| most.as_millis() / STEP.as_millis() + 1);
    for slot in 0..slots {
        let count = sorted.iter().filter(|one| one.as_millis() / STEP.as_millis() == slot).count();
        let from = slot * STEP.as_millis();
        let to = from + STEP.as_millis();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{from:>6} - {to:>5} ms {count:>3} {}", "#".repeat(count));
    }
    let at = |percent: usize| sorted.get((sorted.len() * percent / 100).min(sorted.len() - 1));
    let shown = |span: Option<&Duration>| span.map_or(0, Duration::as_millis);
    let (half, tenth, most) = (shown(at(50)), shown(at(90)), shown(sorted.last()));
    let _ = writeln!(text, "median {half} ms, nine in ten under {tenth} ms, longest {most} ms");
    text
}
