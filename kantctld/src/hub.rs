//! Which nodes are in session, and how to reach them. Never talks to a node itself; the session
//! does, when it is nudged or asked.

use crate::session::Question;
use common::id::NodeName;
use common::wire::node::{
    AskSteps, FeedTask, OutputChunk, ReadOutput, SignalJob, SignalNews, SignalTask, StartTask,
    StepNews, TaskNews, WatchTask,
};
use lead::{Seats, SessionId, Standing};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// What others want of a session.
pub enum Nudge {
    /// What the node should run may have changed: look and send the difference.
    Desired,
    /// Ask the node something.
    Ask(Question),
    /// Another session of this node took over.
    Replaced,
}

/// All sessions.
#[derive(Default)]
pub struct Hub(Mutex<Seats<mpsc::UnboundedSender<Nudge>>>);

impl Hub {
    fn seats(&self) -> MutexGuard<'_, Seats<mpsc::UnboundedSender<Nudge>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node's session begins; the one before it, if any, is told to end.
    pub fn join(&self, node: &NodeName) -> (SessionId, mpsc::UnboundedReceiver<Nudge>) {
        let (nudges, inbox) = mpsc::unbounded_channel();
        let (id, replaced) = self.seats().join(node, nudges);
        if let Some(old) = replaced {
            let _ = old.send(Nudge::Replaced);
        }
        (id, inbox)
    }

    /// A session ended. True if the node has no other: it is silent now.
    pub fn leave(&self, node: &NodeName, id: SessionId) -> bool {
        self.seats().leave(node, id)
    }

    /// Is this session still the node's?
    pub fn is_seated(&self, node: &NodeName, id: SessionId) -> bool {
        self.seats().is_seated(node, id)
    }

    /// The state has taken this session's Hello.
    pub fn note_registered(&self, node: &NodeName, id: SessionId) {
        self.seats().note_registered(node, id);
    }

    /// How a node stands.
    pub fn standing(&self, node: &NodeName) -> Standing {
        self.seats().standing(node)
    }

    /// Makes the sessions of these nodes look again at what they should run.
    pub fn touch<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeName>) {
        let seats = self.seats();
        for nudges in nodes.into_iter().filter_map(|node| seats.line(node)) {
            let _ = nudges.send(Nudge::Desired);
        }
    }

    /// Tells one node's session something.
    pub fn nudge(&self, node: &NodeName, nudge: Nudge) {
        if let Some(nudges) = self.seats().line(node) {
            let _ = nudges.send(nudge);
        }
    }

    /// Asks a node for a piece of output; `None` if it is not in session or went away.
    pub async fn read(&self, node: &NodeName, question: ReadOutput) -> Option<OutputChunk> {
        self.ask(node, |answer| Question::Read(question, answer)).await
    }

    /// Asks a node to start a program in a job; `None` as for [`Self::read`], and then it may have.
    pub async fn start_task(&self, node: &NodeName, question: StartTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Start(Box::new(question), answer)).await
    }

    /// Asks a node how such a program is doing; `None` as for [`Self::read`].
    pub async fn watch_task(&self, node: &NodeName, question: WatchTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Watch(question, answer)).await
    }

    /// Asks a node to send such a program a signal; `None` as for [`Self::read`].
    pub async fn signal_task(&self, node: &NodeName, question: SignalTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Signal(question, answer)).await
    }

    /// Asks a node to signal a job's processes; `None` as for [`Self::read`], and then it may have.
    pub async fn signal_job(&self, node: &NodeName, question: SignalJob) -> Option<SignalNews> {
        self.ask(node, |answer| Question::Job(question, answer)).await
    }

    /// Adds to what such a program reads; `None` as for [`Self::read`], and then it may have got
    /// it.
    pub async fn feed_task(&self, node: &NodeName, question: FeedTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Feed(question, answer)).await
    }

    /// Asks a node about a job's steps; `None` as for [`Self::read`].
    pub async fn ask_steps(&self, node: &NodeName, question: AskSteps) -> Option<StepNews> {
        self.ask(node, |answer| Question::Steps(question, answer)).await
    }

    async fn ask<A>(
        &self,
        node: &NodeName,
        question: impl FnOnce(oneshot::Sender<A>) -> Question,
    ) -> Option<A> {
        let (answer, answered) = oneshot::channel();
        {
            let seats = self.seats();
            seats.line(node)?.send(Nudge::Ask(question(answer))).ok()?;
        }
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NodeName {
        NodeName::new(text).unwrap()
    }

    #[test]
    fn a_session_is_told_that_another_took_over() {
        let hub = Hub::default();
        let (_, mut first) = hub.join(&name("a"));
        let (_, mut second) = hub.join(&name("a"));
        assert!(matches!(first.try_recv(), Ok(Nudge::Replaced)));
        assert!(second.try_recv().is_err());
    }

    #[test]
    fn only_touched_nodes_are_nudged() {
        let hub = Hub::default();
        let (_, mut a) = hub.join(&name("a"));
        let (_, mut b) = hub.join(&name("b"));
        hub.touch(&[name("b"), name("gone")]);
        assert!(a.try_recv().is_err());
        assert!(matches!(b.try_recv(), Ok(Nudge::Desired)));
    }
}
