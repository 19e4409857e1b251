//! Requests to the controller to confirm that it leads, and what its answers mean: when such a
//! request was sent, no other leader had been elected. So the time of the request counts, and not
//! that of the answer, which may have been on its way for long.

use super::SessionError;
use crate::clock;
use crate::step::LeaderContact;
use common::sync::Mutex;
use common::time::Span;
use common::wire::node::{FenceTerms, FromNode};
use net::ChannelSender;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of open requests that are kept; the answer to an older one says too little.
const OPEN_MAX: usize = 16;

/// The requests of one session.
#[derive(Debug)]
pub(super) struct Confirmations {
    contact: Option<LeaderContact>,
    /// `None` if the controller answers no such requests.
    terms: Option<FenceTerms>,
    /// When the open requests were sent.
    open: Mutex<BTreeMap<u64, Span>>,
}

impl Confirmations {
    /// The requests of a session whose Welcome has these terms; its Hello was sent at this uptime.
    pub(super) fn new(
        contact: Option<LeaderContact>,
        terms: Option<FenceTerms>,
        hello_at: Span,
    ) -> Self {
        let all = Self { contact, terms, open: Mutex::default() };
        all.record(hello_at);
        all
    }

    /// Sends a request again and again, until the session ends.
    pub(super) async fn ask(&self, sender: ChannelSender<FromNode>) -> SessionError {
        let Some(terms) = self.terms else { return std::future::pending().await };
        let mut period = tokio::time::interval(Duration::from_millis(terms.ask_every.0.max(1)));
        period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        for number in 0.. {
            period.tick().await;
            self.note_sent(number);
            if sender.send(&FromNode::ConfirmLeader { number }).await.is_err() {
                break;
            }
        }
        // The receiving half returns the reason.
        std::future::pending().await
    }

    fn note_sent(&self, number: u64) {
        let mut open = self.open.lock();
        open.insert(number, clock::uptime());
        while open.len() > OPEN_MAX {
            open.pop_first();
        }
    }

    /// Has a request stayed unanswered for this long?
    pub(super) fn are_overdue(&self, limit: Duration) -> bool {
        let now = clock::uptime().0;
        let waits_ms = |sent_at: &Span| u128::from(now.saturating_sub(sent_at.0));
        self.open.lock().values().any(|sent_at| waits_ms(sent_at) > limit.as_millis())
    }

    /// Notes the answer to a request. It answers all earlier ones too.
    pub(super) fn note_answer(&self, number: u64) {
        let sent_at = {
            let mut open = self.open.lock();
            let sent_at = open.get(&number).copied();
            open.retain(|other, _| *other > number);
            sent_at
        };
        sent_at.into_iter().for_each(|at| self.record(at));
    }

    fn record(&self, at: Span) {
        if let (Some(contact), Some(terms)) = (&self.contact, &self.terms) {
            contact.record(at, terms);
        }
    }
}
