//! The outage when the leader is killed, hands over, or is stopped: the longest time between two
//! acknowledged submissions of a client that submits without a pause.

use super::rates::SCRIPT;
use crate::figures::Figures;
use anyhow::Context as _;
use e2e::{Controllers, Probe};
use nix::sys::signal::Signal;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Number of answers awaited before and after.
const CALM: usize = 20;

/// Loses a leader `rounds` times in each way.
pub fn measure(
    controllers: &mut Controllers,
    with: &str,
    rounds: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    for round in 0..rounds {
        let killed = time_without_leader(
            controllers,
            &format!("kill{with}-{round}"),
            |controllers, leader| controllers.kill(leader),
        )?;
        figures.time(&format!("no service: kill -9 of the leader{with}"), killed);
        let handed = time_without_leader(
            controllers,
            &format!("transfer{with}-{round}"),
            |controllers, leader| {
                let to = if leader == "a" { "b" } else { "a" };
                let to = controllers.number(to, to)?.to_string();
                controllers.kantctl(leader)?.ok(&["admin", "controller", "transfer", &to]).map(drop)
            },
        )?;
        figures.time(&format!("no service: `kantctl admin controller transfer`{with}"), handed);
        let stopped = time_without_leader(
            controllers,
            &format!("stop{with}-{round}"),
            |controllers, leader| controllers.signal(leader, Signal::SIGTERM),
        )?;
        figures.time(&format!("no service: the leader is stopped{with}"), stopped);
    }
    Ok(())
}

/// Does something to the leader, then restores three voters under another leader. Returns the
/// outage.
fn time_without_leader(
    controllers: &mut Controllers,
    name: &str,
    act: impl FnOnce(&mut Controllers, &str) -> anyhow::Result<()>,
) -> anyhow::Result<Duration> {
    let (leader, _) = controllers.leader()?;
    let probe = Probe::new(name, &controllers.sockets(), controllers.dir(), SCRIPT)?;
    let mut probe = probe.asking(|ask| ask.hold = true);
    let (sender, answers) = channel();
    let gap = std::thread::scope(|scope| {
        scope.spawn(move || {
            // The receiver is gone once the outage is known.
            while sender.send(probe.submit().map(|_| Instant::now())).is_ok() {}
        });
        longest_gap(answers, || act(controllers, &leader))
    })?;
    // A leader that was stopped has ended by itself, or will.
    controllers.stop(&leader)?;
    controllers.start(&leader)?;
    controllers.wait_for_voters(&leader, 3)?;
    Ok(gap)
}

/// The longest time between two answers around an action.
fn longest_gap(
    answers: Receiver<anyhow::Result<Instant>>,
    act: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Duration> {
    let next = || answers.recv().context("the client ended")?;
    let mut last = next()?;
    for _ in 0..CALM {
        last = next()?;
    }
    let begin = Instant::now();
    act()?;
    let end = Instant::now();
    let mut gap = Duration::ZERO;
    let mut calm = 0;
    while calm < CALM {
        let at = next()?;
        // A gap before the action is not its effect.
        if at > begin {
            gap = gap.max(at - last);
        }
        if at > end {
            calm += 1;
        }
        last = at;
    }
    Ok(gap)
}
