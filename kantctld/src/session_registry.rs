//! The nodes that have a session, and the channels to their sessions. A session task does the
//! talking; this registry wakes it or passes it a question.

mod question;

pub use question::Question;

use common::id::NodeName;
use common::sync::Mutex;
use common::wire::node::{
    AskSteps, FeedTask, OutputChunk, ReadOutput, SignalJob, SignalNews, SignalTask, StartTask,
    StepNews, TaskNews, WatchTask,
};
use lead::{Presence, SessionId, SessionTable};
use tokio::sync::{mpsc, oneshot};

/// Why a session is woken.
pub enum Wakeup {
    /// The node's desired state may have changed: compare and send the difference.
    Desired,
    /// The node was enrolled again, or its certificates were revoked: check this one's.
    Certificate,
    /// A step of the replacement of the cluster key began.
    Key,
    /// A newer session of the same node replaced this one.
    Replaced,
}

/// The most questions queued for a slow node; further callers wait.
const QUESTIONS_MAX: usize = 64;

/// The channels to a session. Questions come from users and have their own channel, so that they do
/// not delay changes of desired state.
#[derive(Debug)]
struct SessionChannels {
    wakeups: mpsc::UnboundedSender<Wakeup>,
    questions: mpsc::Sender<Question>,
}

/// The receiving ends of a session's channels.
pub struct SessionInbox {
    pub wakeups: mpsc::UnboundedReceiver<Wakeup>,
    pub questions: mpsc::Receiver<Question>,
}

#[derive(Default)]
pub struct SessionRegistry(Mutex<SessionTable<SessionChannels>>);

impl SessionRegistry {
    /// Registers a node's new session; an older one is asked to end.
    pub fn join(&self, node: &NodeName) -> (SessionId, SessionInbox) {
        let (wakeups, wakeups_in) = mpsc::unbounded_channel();
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        let (id, replaced) = self.0.lock().join(node, SessionChannels { wakeups, questions });
        if let Some(old) = replaced {
            let _ = old.wakeups.send(Wakeup::Replaced);
        }
        (id, SessionInbox { wakeups: wakeups_in, questions: asked })
    }

    /// Removes a session. True if the node has no other session.
    pub fn leave(&self, node: &NodeName, id: SessionId) -> bool {
        self.0.lock().leave(node, id)
    }

    /// Whether this session is the node's current one.
    pub fn is_current(&self, node: &NodeName, id: SessionId) -> bool {
        self.0.lock().is_current(node, id)
    }

    /// Notes that the state has applied this session's Hello.
    pub fn note_registered(&self, node: &NodeName, id: SessionId) {
        self.0.lock().note_registered(node, id);
    }

    pub fn presence(&self, node: &NodeName) -> Presence {
        self.0.lock().presence(node)
    }

    /// Makes the sessions of these nodes compare desired state again.
    pub fn wake_nodes<'a>(&self, nodes: impl IntoIterator<Item = &'a NodeName>) {
        let table = self.0.lock();
        for channels in nodes.into_iter().filter_map(|node| table.channel(node)) {
            let _ = channels.wakeups.send(Wakeup::Desired);
        }
    }

    /// Makes all sessions send the step of the replacement of the cluster key.
    pub fn announce_key(&self) {
        for channels in self.0.lock().channels() {
            let _ = channels.wakeups.send(Wakeup::Key);
        }
    }

    /// Notes the step in which the certificate of a node was issued.
    pub fn note_key_generation(&self, node: &NodeName, id: SessionId, generation: u32) {
        self.0.lock().note_key_generation(node, id, generation);
    }

    /// Those of these nodes that have no certificate of this step yet, or no session.
    pub fn nodes_behind_key<'a>(
        &self,
        nodes: impl IntoIterator<Item = &'a NodeName>,
        generation: u32,
    ) -> Vec<NodeName> {
        let table = self.0.lock();
        let is_behind =
            |node: &&NodeName| table.key_generation(node).is_none_or(|held| held < generation);
        nodes.into_iter().filter(is_behind).cloned().collect()
    }

    /// Wakes one node's session.
    pub fn wake(&self, node: &NodeName, wakeup: Wakeup) {
        if let Some(channels) = self.0.lock().channel(node) {
            let _ = channels.wakeups.send(wakeup);
        }
    }

    /// Reads a part of an output file from a node; `None` if the node has no session or loses it.
    pub async fn read_output(&self, node: &NodeName, question: ReadOutput) -> Option<OutputChunk> {
        self.ask(node, |answer| Question::Read(question, answer)).await
    }

    /// Starts a program in a job. `None` as for [`Self::read_output`]; the program may have
    /// started.
    pub async fn start_task(&self, node: &NodeName, question: StartTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Start(Box::new(question), answer)).await
    }

    /// Asks for the status of such a program; `None` as for [`Self::read_output`].
    pub async fn watch_task(&self, node: &NodeName, question: WatchTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Watch(question, answer)).await
    }

    /// Sends a signal to such a program; `None` as for [`Self::read_output`].
    pub async fn signal_task(&self, node: &NodeName, question: SignalTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Signal(question, answer)).await
    }

    /// Signals a job's processes. `None` as for [`Self::read_output`]; the signal may have been
    /// sent.
    pub async fn signal_job(&self, node: &NodeName, question: SignalJob) -> Option<SignalNews> {
        self.ask(node, |answer| Question::Job(question, answer)).await
    }

    /// Appends to such a program's standard input. `None` as for [`Self::read_output`]; the input
    /// may have arrived.
    pub async fn feed_task(&self, node: &NodeName, question: FeedTask) -> Option<TaskNews> {
        self.ask(node, |answer| Question::Feed(question, answer)).await
    }

    /// Asks a node about a job's steps; `None` as for [`Self::read_output`].
    pub async fn ask_steps(&self, node: &NodeName, question: AskSteps) -> Option<StepNews> {
        self.ask(node, |answer| Question::Steps(question, answer)).await
    }

    async fn ask<A>(
        &self,
        node: &NodeName,
        question: impl FnOnce(oneshot::Sender<A>) -> Question,
    ) -> Option<A> {
        let (answer, answered) = oneshot::channel();
        let channels = self.0.lock().channel(node)?.questions.clone();
        channels.send(question(answer)).await.ok()?;
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
    fn a_session_is_notified_when_another_replaces_it() {
        let sessions = SessionRegistry::default();
        let (_, mut first) = sessions.join(&name("a"));
        let (_, mut second) = sessions.join(&name("a"));
        assert!(matches!(first.wakeups.try_recv(), Ok(Wakeup::Replaced)));
        assert!(second.wakeups.try_recv().is_err());
    }

    #[test]
    fn only_touched_nodes_are_woken() {
        let sessions = SessionRegistry::default();
        let (_, mut a) = sessions.join(&name("a"));
        let (_, mut b) = sessions.join(&name("b"));
        sessions.wake_nodes(&[name("b"), name("gone")]);
        assert!(a.wakeups.try_recv().is_err());
        assert!(matches!(b.wakeups.try_recv(), Ok(Wakeup::Desired)));
    }

    #[tokio::test]
    async fn callers_wait_for_a_slow_node_and_orders_do_not_wait_behind_questions() {
        use common::id::{Attempt, AttemptId, JobId, JobKey};
        use common::wire::node::StepWish;
        let sessions = std::sync::Arc::new(SessionRegistry::default());
        let (_, mut inbox) = sessions.join(&name("a"));
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..2 * QUESTIONS_MAX {
            let sessions = sessions.clone();
            let ask = AskSteps { question: 0, id, wish: StepWish::List };
            asking.spawn(async move { sessions.ask_steps(&name("a"), ask).await });
        }
        while inbox.questions.len() < QUESTIONS_MAX {
            tokio::task::yield_now().await;
        }
        sessions.wake_nodes(&[name("a")]);
        assert!(matches!(inbox.wakeups.try_recv(), Ok(Wakeup::Desired)));
        // Abandoned callers add no question; those already queued are marked abandoned.
        asking.shutdown().await;
        let mut left = 0;
        while let Ok(question) = inbox.questions.try_recv() {
            assert!(question.is_abandoned());
            left += 1;
        }
        assert_eq!(left, QUESTIONS_MAX);
    }
}
