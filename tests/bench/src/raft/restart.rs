//! The time from the restart of a controller with many waiting jobs until it answers. All jobs wait
//! for one node, which runs another job.

use super::rates::{SCRIPT, submit_all};
use crate::figures::Figures;
use common::id::JobId;
use common::job::Phase;
use e2e::{Controllers, Probe};
use std::time::Instant;

const NODE: &str = "n1";
/// Runs until it is cancelled.
const LONG: &str = "#!/bin/sh\nexec sleep 100000\n";

/// The job that keeps the others waiting.
pub struct Long(String);

/// Submits `jobs` jobs that wait.
pub fn fill(controllers: &mut Controllers, jobs: usize) -> anyhow::Result<Long> {
    controllers.start_node(NODE)?;
    let (leader, _) = controllers.leader()?;
    controllers.wait_for_nodes(&leader)?;
    let kantctl = controllers.kantctl(&leader)?;
    let long = kantctl.submit(&["--exclusive", "-o", "/dev/null"], LONG)?;
    e2e::wait_for("the long job to run", || {
        Ok((kantctl.job(&long)?.phase == Phase::Running).then_some(()))
    })?;
    submit_all(jobs, |client| client_of(controllers, &format!("fill-{client}")))?;
    Ok(Long(long))
}

/// Restarts the only controller `rounds` times after kill -9, and `rounds` times after a stop.
pub fn measure(
    controllers: &mut Controllers,
    jobs: usize,
    rounds: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for round in 0..rounds {
        let (name, _) = controllers.leader()?;
        for (way, is_killed) in [("kill -9", true), ("a stop", false)] {
            if is_killed {
                controllers.kill(&name)?
            } else {
                controllers.stop(&name)?
            };
            let mut probe = client_of(controllers, &format!("restart-{round}-{is_killed}"))?;
            let begin = Instant::now();
            controllers.launch(&name)?;
            probe.read(JobId(1))?;
            figures.time(&format!("{way} to first read, {jobs} jobs wait"), begin.elapsed());
            probe.submit()?;
            figures.time(&format!("{way} to first submit, {jobs} jobs wait"), begin.elapsed());
            controllers.wait_for_answer(&name)?;
        }
    }
    Ok(())
}

/// Ends the running job and the node. The others keep waiting.
pub fn empty(controllers: &mut Controllers, Long(long): &Long) -> anyhow::Result<()> {
    let (leader, _) = controllers.leader()?;
    let kantctl = controllers.kantctl(&leader)?;
    kantctl.ok(&["drain", NODE, "--reason", "all is measured"])?;
    kantctl.ok(&["cancel", long])?;
    kantctl.finished(long)?;
    controllers.stop_node(NODE)
}

fn client_of(controllers: &Controllers, name: &str) -> anyhow::Result<Probe> {
    let probe = Probe::new(name, &controllers.sockets(), controllers.dir(), SCRIPT)?;
    Ok(probe.asking(|ask| ask.request.exclusive = true))
}
