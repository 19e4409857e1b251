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
    /// Another session of this node took over.
    Replaced,
}

/// So many questions wait for a node that is slow to take them; who asks one more waits itself.
const QUESTIONS_MAX: usize = 64;

/// Where a session is reached. Questions come from users, and are in nobody's way: what a node
/// should run does not stand behind them.
#[derive(Debug)]
struct Line {
    nudges: mpsc::UnboundedSender<Nudge>,
    questions: mpsc::Sender<Question>,
}

/// What comes to a session.
pub struct Inbox {
    /// From the controller itself.
    pub nudges: mpsc::UnboundedReceiver<Nudge>,
    pub questions: mpsc::Receiver<Question>,
}

#[derive(Default)]
pub struct Hub(Mutex<Seats<Line>>);

impl Hub {
    fn seats(&self) -> MutexGuard<'_, Seats<Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A node's session begins; the one before it, if any, is told to end.
    pub fn join(&self, node: &NodeName) -> (SessionId, Inbox) {
        let (nudges, nudged) = mpsc::unbounded_channel();
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        let (id, replaced) = self.seats().join(node, Line { nudges, questions });
        if let Some(old) = replaced {
            let _ = old.nudges.send(Nudge::Replaced);
        }
        (id, Inbox { nudges: nudged, questions: asked })
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
        for line in nodes.into_iter().filter_map(|node| seats.line(node)) {
            let _ = line.nudges.send(Nudge::Desired);
        }
    }

    /// Tells one node's session something.
    pub fn nudge(&self, node: &NodeName, nudge: Nudge) {
        if let Some(line) = self.seats().line(node) {
            let _ = line.nudges.send(nudge);
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
        let line = self.seats().line(node)?.questions.clone();
        line.send(question(answer)).await.ok()?;
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
        assert!(matches!(first.nudges.try_recv(), Ok(Nudge::Replaced)));
        assert!(second.nudges.try_recv().is_err());
    }

    #[test]
    fn only_touched_nodes_are_nudged() {
        let hub = Hub::default();
        let (_, mut a) = hub.join(&name("a"));
        let (_, mut b) = hub.join(&name("b"));
        hub.touch(&[name("b"), name("gone")]);
        assert!(a.nudges.try_recv().is_err());
        assert!(matches!(b.nudges.try_recv(), Ok(Nudge::Desired)));
    }

    #[tokio::test]
    async fn who_asks_a_slow_node_waits_itself_and_its_orders_do_not_wait_behind_questions() {
        use common::id::{Attempt, AttemptId, JobId, JobKey};
        use common::wire::node::StepWish;
        let hub = std::sync::Arc::new(Hub::default());
        let (_, mut inbox) = hub.join(&name("a"));
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..2 * QUESTIONS_MAX {
            let hub = hub.clone();
            let ask = AskSteps { question: 0, id, wish: StepWish::List };
            asking.spawn(async move { hub.ask_steps(&name("a"), ask).await });
        }
        while inbox.questions.len() < QUESTIONS_MAX {
            tokio::task::yield_now().await;
        }
        hub.touch(&[name("a")]);
        assert!(matches!(inbox.nudges.try_recv(), Ok(Nudge::Desired)));
        // Those who went away are not sent for; none of their questions is left behind.
        asking.shutdown().await;
        let mut left = 0;
        while let Ok(question) = inbox.questions.try_recv() {
            assert!(question.is_in_vain());
            left += 1;
        }
        assert_eq!(left, QUESTIONS_MAX);
    }
}
