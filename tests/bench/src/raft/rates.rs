//! Durable submissions per second by clients that each wait for the answer to their last one. Their
//! jobs are held, so that only the submission is measured. Only acknowledged submissions count.

use crate::figures::Figures;
use anyhow::Context as _;
use e2e::{Controllers, Probe};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const CLIENTS: [usize; 3] = [1, 8, 64];
/// Number of clients that submit many jobs at once.
const FILLERS: usize = 64;
/// A typical job script.
pub const SCRIPT: &str = "#!/bin/sh\n#SBATCH --time=1:00:00\nsrun python train.py \"$@\"\n";

/// Measures each number of clients once per round.
pub fn measure(
    controllers: &Controllers,
    of: &str,
    span: Duration,
    rounds: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for round in 0..rounds {
        let (leader, _) = controllers.leader()?;
        let leads = PathBuf::from(&controllers.config(&leader)?.socket);
        for clients in CLIENTS {
            let name = format!("rate-{round}-{clients}");
            let plural = if clients == 1 { "" } else { "s" };
            let what = format!("submits/s, {of}, {clients} client{plural}");
            figures.add(&what, "1/s", measure_rate(controllers, &leads, &name, clients, span)?);
        }
        if let Some(follows) = controllers.sockets().into_iter().find(|socket| *socket != leads) {
            let what = format!("submits/s, {of}, 64 clients of one that does not lead");
            let name = format!("rate-{round}-passed-on");
            figures.add(&what, "1/s", measure_rate(controllers, &follows, &name, 64, span)?);
        }
    }
    Ok(())
}

fn measure_rate(
    controllers: &Controllers,
    socket: &PathBuf,
    name: &str,
    clients: usize,
    span: Duration,
) -> anyhow::Result<f64> {
    let probe = |client: usize| {
        let sockets = std::slice::from_ref(socket);
        let probe = Probe::new(&format!("{name}-{client}"), sockets, controllers.dir(), SCRIPT)?;
        anyhow::Ok(probe.asking(|ask| ask.hold = true))
    };
    let probes: Vec<Probe> = (0..clients).map(probe).collect::<anyhow::Result<_>>()?;
    let begin = Instant::now();
    let counts = by_each(probes, |mut probe| {
        let mut count = 0_u32;
        while begin.elapsed() < span {
            probe.submit()?;
            count += 1;
        }
        Ok(count)
    })?;
    let rate = f64::from(counts.iter().sum::<u32>()) / begin.elapsed().as_secs_f64();
    // One user may have 100,000 jobs, and a fast machine would exceed that over all rates.
    let (leader, _) = controllers.leader()?;
    controllers.kantctl(&leader)?.ok(&["cancel", "--me"])?;
    Ok(rate)
}

/// Submits `count` jobs by many clients at once.
pub fn submit_all(
    count: usize,
    client: impl Fn(usize) -> anyhow::Result<Probe>,
) -> anyhow::Result<()> {
    let share = |number: usize| {
        let share = count / FILLERS + usize::from(number < count % FILLERS);
        anyhow::Ok((client(number)?, share))
    };
    let shares = (0..FILLERS).map(share).collect::<anyhow::Result<_>>()?;
    by_each(shares, |(mut probe, share): (Probe, usize)| {
        (0..share).try_for_each(|_| probe.submit().map(drop))
    })
    .map(drop)
}

/// Does something with each client, in parallel.
pub fn by_each<C: Send, T: Send>(
    clients: Vec<C>,
    what: impl Fn(C) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    std::thread::scope(|scope| {
        let what = &what;
        let threads: Vec<_> =
            clients.into_iter().map(|client| scope.spawn(move || what(client))).collect();
        threads.into_iter().map(|one| one.join().ok().context("a client panicked")?).collect()
    })
}
