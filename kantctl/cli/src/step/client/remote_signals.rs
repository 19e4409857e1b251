//! Signals that others send to a step by its number, such as `scancel 42.0`, and its time limit.

use super::Step;
use super::attached::AttachedClients;
use crate::output::screen::note;
use crate::step::ledger_client;
use crate::step::placement::StepPlacement;
use common::job::SignalNumber;
use nix::sys::signal::Signal;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Signals sent to the step by its number, and SIGTERM at its time limit.
pub fn remote_signals(
    step: &Step<'_>,
    attached: &Rc<AttachedClients>,
) -> UnboundedReceiver<Signal> {
    let (sender, signals) = unbounded_channel();
    if let Some(limit) = step.options.time {
        let (message, sender) = (time_limit_message(step.placement), sender.clone());
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(limit.0)).await;
            // It may have ended.
            let _ = sender.send(Signal::SIGTERM);
            note(&message());
        });
    }
    if let Some(view) = &step.view {
        let (server, key, step_number) =
            (step.server.reconnected(), step.placement.key, view.number);
        let attached = Rc::clone(attached);
        tokio::task::spawn_local(async move {
            loop {
                let requests =
                    ledger_client::next_requests(&server, key, step_number, attached.streams())
                        .await;
                attached.on_ledger_answer(requests.listened, requests.speech);
                for SignalNumber(number) in requests.signals {
                    let Ok(signal) = Signal::try_from(i32::from(number)) else { continue };
                    if sender.send(signal).is_err() {
                        return;
                    }
                }
            }
        });
    }
    signals
}

/// The message at the time limit, as Slurm prints it.
fn time_limit_message(placement: &StepPlacement) -> impl Fn() -> String + use<> {
    let nodes = common::hostlist::compress(placement.nodes.iter().map(|(name, _)| name));
    let step = format!("{}.{}", placement.key, placement.step);
    move || {
        let now = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S");
        format!("error: *** STEP {step} ON {nodes} CANCELLED AT {now} DUE TO TIME LIMIT ***")
    }
}
