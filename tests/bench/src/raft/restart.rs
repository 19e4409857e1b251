//! The time from the restart of a controller with many waiting jobs until it answers. All jobs wait
//! for one node, which runs another job.

use super::rates::{SCRIPT, by_each};
use crate::figures::Figures;
use common::id::JobId;
use common::job::Phase;
use e2e::{Controllers, Probe};
use std::time::Instant;

const NODE: &str = "n1";
const CLIENTS: usize = 64;
/// Runs until it is cancelled.
const LONG: &str = "#!/bin/sh\nexec sleep 100000\n";

/// The job that keeps the others waiting.
pub struct Long(String);

/// Submits `jobs` jobs that wait.
pub fn fill(house: &mut Controllers, jobs: usize) -> anyhow::Result<Long> {
    house.start_node(NODE)?;
    let (leader, _) = house.leader()?;
    house.wait_for_nodes(&leader)?;
    let kantctl = house.kantctl(&leader)?;
    let long = kantctl.submit(&["--exclusive", "-o", "/dev/null"], LONG)?;
    e2e::wait_for("the long job to run", || {
        Ok((kantctl.job(&long)?.phase == Phase::Running).then_some(()))
    })?;
    let share = |client: usize| {
        let probe = client_of(house, &format!("fill-{client}"))?;
        anyhow::Ok((probe, jobs / CLIENTS + usize::from(client < jobs % CLIENTS)))
    };
    let shares = (0..CLIENTS).map(share).collect::<anyhow::Result<_>>()?;
    by_each(shares, |(mut probe, count): (Probe, usize)| {
        (0..count).try_for_each(|_| probe.submit().map(drop))
    })?;
    Ok(Long(long))
}

/// Restarts the only controller `rounds` times after kill -9, and `rounds` times after a stop.
pub fn measure(
    house: &mut Controllers,
    jobs: usize,
    rounds: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for round in 0..rounds {
        let (name, _) = house.leader()?;
        for (way, is_killed) in [("kill -9", true), ("a stop", false)] {
            if is_killed {
                house.kill(&name)?
            } else {
                house.stop(&name)?
            };
            let mut probe = client_of(house, &format!("restart-{round}-{is_killed}"))?;
            let begin = Instant::now();
            house.launch(&name)?;
            probe.read(JobId(1))?;
            figures.time(&format!("{way} to first read, {jobs} jobs wait"), begin.elapsed());
            probe.submit()?;
            figures.time(&format!("{way} to first submit, {jobs} jobs wait"), begin.elapsed());
            house.wait_for_answer(&name)?;
        }
    }
    Ok(())
}

/// Ends the running job and the node. The others keep waiting.
pub fn empty(house: &mut Controllers, Long(long): &Long) -> anyhow::Result<()> {
    let (leader, _) = house.leader()?;
    let kantctl = house.kantctl(&leader)?;
    kantctl.ok(&["drain", NODE, "--reason", "all is measured"])?;
    kantctl.ok(&["cancel", long])?;
    kantctl.finished(long)?;
    house.stop_node(NODE)
}

fn client_of(house: &Controllers, name: &str) -> anyhow::Result<Probe> {
    let probe = Probe::new(name, &house.sockets(), house.dir(), SCRIPT)?;
    Ok(probe.asking(|ask| ask.request.exclusive = true))
}
