//! What others say to a step by its number, as `scancel 42.0` does. Never obeys it; the step does.

use super::Step;
use crate::step::booking;
use common::job::SignalNumber;
use nix::sys::signal::Signal;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Signals that others send to the step, by its number.
pub fn words(step: &Step<'_>) -> UnboundedReceiver<Signal> {
    let (tell, told) = unbounded_channel();
    if let Some(view) = &step.view {
        let (server, key, number) = (Arc::clone(&step.server), step.place.key, view.number);
        tokio::task::spawn_local(async move {
            loop {
                for SignalNumber(word) in booking::words(&server, key, number).await {
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
