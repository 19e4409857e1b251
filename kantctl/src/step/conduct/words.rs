//! Signals that others send to a step by its number, such as `scancel 42.0`, and its time limit.

use super::Step;
use super::attached::Attached;
use crate::output::screen::note;
use crate::step::booking;
use crate::step::place::Place;
use common::job::SignalNumber;
use nix::sys::signal::Signal;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Signals sent to the step by its number, and SIGTERM at its time limit.
pub fn words(step: &Step<'_>, attached: &Rc<Attached>) -> UnboundedReceiver<Signal> {
    let (tell, told) = unbounded_channel();
    if let Some(limit) = step.wish.time {
        let (last_words, tell) = (out_of_time(step.place), tell.clone());
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_millis(limit.0)).await;
            // It may have ended.
            let _ = tell.send(Signal::SIGTERM);
            note(&last_words());
        });
    }
    if let Some(view) = &step.view {
        let (server, key, number) = (step.server.fresh(), step.place.key, view.number);
        let attached = Rc::clone(attached);
        tokio::task::spawn_local(async move {
            loop {
                let heard = booking::words(&server, key, number, attached.streams()).await;
                attached.hear(heard.listened, heard.speech);
                for SignalNumber(word) in heard.signals {
                    let Ok(signal) = Signal::try_from(i32::from(word)) else { continue };
                    if tell.send(signal).is_err() {
                        return;
                    }
                }
            }
        });
    }
    told
}

/// The message at the time limit, as Slurm prints it.
fn out_of_time(place: &Place) -> impl Fn() -> String + use<> {
    let nodes = common::hostlist::fold(place.nodes.iter().map(|(name, _)| name));
    let step = format!("{}.{}", place.key, place.step);
    move || {
        let now = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S");
        format!("error: *** STEP {step} ON {nodes} CANCELLED AT {now} DUE TO TIME LIMIT ***")
    }
}
