//! Messages and wakeups of a session that do not concern its reports.

use super::{End, Session, services};
use crate::session_registry::Wakeup;
use common::wire::node::{FromNode, ToNode};
use net::ChannelError;

impl Session {
    /// Takes what the node answers to questions, and what it reports beside the log.
    pub(super) fn handle_message(&mut self, message: FromNode) {
        match message {
            FromNode::Output(chunk) => self.questions.on_output(chunk),
            FromNode::Task(news) => self.questions.on_task(news),
            FromNode::Steps(news) => self.questions.on_steps(*news),
            FromNode::Signalled(news) => self.questions.on_signalled(news),
            FromNode::CertificateRenewed { generation } => {
                let node = self.known.node();
                self.core.sessions.note_key_generation(node, self.id, generation);
                self.core.keys.news.notify_one();
            }
            FromNode::IdleGpus(report) => {
                let (node, now) = (self.known.node(), self.core.now());
                let state = self.core.state.read();
                self.core.idle_gpus.write().note_report(&state, node, report, now);
            }
            message => services::note_service_report(&self.core, self.known.node(), message),
        }
    }

    /// Does what it was woken for.
    ///
    /// # Errors
    /// The end of the session.
    pub(super) async fn handle_wakeup(&mut self, wakeup: Option<Wakeup>) -> Result<(), End> {
        match wakeup {
            Some(Wakeup::Desired) => Ok(self.send_desired(false).await?),
            Some(Wakeup::Key) => Ok(self.send_key_generation().await?),
            Some(Wakeup::Certificate) if self.has_valid_certificate() => Ok(()),
            Some(Wakeup::Certificate) => {
                Err(End::Because("its certificate is no longer valid".to_owned()))
            }
            Some(Wakeup::Replaced) | None => Err(End::Because("it connected again".to_owned())),
        }
    }

    /// Sends the step of the replacements of the cluster key. Nothing is sent before the first.
    pub(super) async fn send_key_generation(&self) -> Result<(), ChannelError> {
        let generation = self.core.state.read().key_status().generation;
        match generation {
            0 => Ok(()),
            generation => self.down.send(&ToNode::KeyGeneration { generation }).await,
        }
    }

    fn has_valid_certificate(&self) -> bool {
        self.core.state.read().check_certificate(self.known.node(), self.enrolment).is_ok()
    }
}
