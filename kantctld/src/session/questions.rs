//! What a node was asked and has not answered. Never waits for an answer; whoever asked does.

use common::wire::node::{
    AskSteps, FeedTask, Hello, JobSignal, OutputChunk, ReadOutput, SignalJob, SignalNews,
    SignalTask, StartTask, StepAnswer, StepNews, StepWish, TaskNews, TaskState, ToNode, WatchTask,
};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// Said for a node that could not read the question.
const OLD_FOR_SIGNALS: &str = "the kantd there is of an earlier release, which does not signal \
                               jobs: upgrade it";
/// The same of programs.
const OLD: &str = "the kantd there is of an earlier release, which does not start that in a job \
                   that runs: upgrade it";

/// The same of steps that others attach to.
const OLD_FOR_STREAMS: &str = "the kantd there is of an earlier release, which lets nobody attach \
                               to a step: upgrade it";

/// A question, and where its answer goes.
pub enum Question {
    /// Read a piece of output.
    Read(ReadOutput, oneshot::Sender<OutputChunk>),
    /// Start a program in a job.
    Start(Box<StartTask>, oneshot::Sender<TaskNews>),
    /// Look how such a program is doing.
    Watch(WatchTask, oneshot::Sender<TaskNews>),
    /// Send such a program a signal.
    Signal(SignalTask, oneshot::Sender<TaskNews>),
    /// Signal a job's processes.
    Job(SignalJob, oneshot::Sender<SignalNews>),
    /// Add to what such a program reads.
    Feed(FeedTask, oneshot::Sender<TaskNews>),
    /// Ask about a job's steps.
    Steps(AskSteps, oneshot::Sender<StepNews>),
}

impl Question {
    /// Nobody waits for the answer any more.
    pub fn is_in_vain(&self) -> bool {
        match self {
            Self::Read(_, answer) => answer.is_closed(),
            Self::Start(_, answer)
            | Self::Watch(_, answer)
            | Self::Signal(_, answer)
            | Self::Feed(_, answer) => answer.is_closed(),
            Self::Steps(_, answer) => answer.is_closed(),
            Self::Job(_, answer) => answer.is_closed(),
        }
    }
}

/// The open questions of one session.
#[derive(Default)]
pub struct Questions {
    last: u64,
    /// The node reads questions about programs.
    knows_tasks: bool,
    /// It reads how a program is held, and feeds it.
    knows_feeding: bool,
    knows_signals: bool,
    /// It passes streams of steps on.
    knows_streams: bool,
    reads: BTreeMap<u64, oneshot::Sender<OutputChunk>>,
    tasks: BTreeMap<u64, oneshot::Sender<TaskNews>>,
    steps: BTreeMap<u64, oneshot::Sender<StepNews>>,
    signals: BTreeMap<u64, oneshot::Sender<SignalNews>>,
}

impl Questions {
    /// None yet, to a node that said this.
    pub fn of(hello: &Hello) -> Self {
        let (knows_tasks, knows_feeding) = (hello.starts_tasks, hello.feeds_tasks);
        let knows_signals = hello.signals_jobs;
        let knows_streams = hello.passes_streams;
        Self { knows_tasks, knows_feeding, knows_signals, knows_streams, ..Self::default() }
    }

    /// What to send the node; `None` if it could not read it, and its answer is given here, or if
    /// nobody waits for it any more.
    pub fn ask(&mut self, question: Question) -> Option<ToNode> {
        if question.is_in_vain() {
            return None;
        }
        self.reads.retain(|_, reader| !reader.is_closed());
        self.tasks.retain(|_, asker| !asker.is_closed());
        self.steps.retain(|_, asker| !asker.is_closed());
        self.signals.retain(|_, asker| !asker.is_closed());
        self.last += 1;
        let number = self.last;
        match question {
            Question::Read(read, answer) => {
                self.reads.insert(number, answer);
                Some(ToNode::ReadOutput(ReadOutput { question: number, ..read }))
            }
            Question::Start(mut start, answer) => {
                start.question = number;
                self.expect(self.knows_tasks && self.can_hold(&start), answer)?;
                Some(ToNode::StartTask(start))
            }
            Question::Watch(watch, answer) => {
                self.expect(self.knows_tasks, answer)?;
                Some(ToNode::WatchTask(WatchTask { question: number, ..watch }))
            }
            Question::Signal(signal, answer) => {
                self.expect(self.knows_tasks, answer)?;
                Some(ToNode::SignalTask(SignalTask { question: number, ..signal }))
            }
            Question::Job(_, answer) if !self.knows_signals => {
                let signal = JobSignal::Failed(OLD_FOR_SIGNALS.to_owned());
                // Whoever asked may have gone.
                let _ = answer.send(SignalNews { question: number, signal });
                None
            }
            Question::Job(signal, answer) => {
                self.signals.insert(number, answer);
                Some(ToNode::SignalJob(SignalJob { question: number, ..signal }))
            }
            Question::Feed(feed, answer) => {
                self.expect(self.knows_feeding, answer)?;
                Some(ToNode::FeedTask(FeedTask { question: number, ..feed }))
            }
            Question::Steps(ask, answer) => {
                let old = match &ask.wish {
                    _ if !self.knows_feeding => Some(OLD),
                    StepWish::Say { .. } | StepWish::Listen { .. } | StepWish::Speak { .. }
                        if !self.knows_streams =>
                    {
                        Some(OLD_FOR_STREAMS)
                    }
                    _ => None,
                };
                if let Some(old) = old {
                    let answered = StepAnswer::Refused(old.to_owned());
                    // Whoever asked may have gone.
                    let _ = answer.send(StepNews { question: number, answer: answered });
                    return None;
                }
                self.steps.insert(number, answer);
                Some(ToNode::AskSteps(Box::new(AskSteps { question: number, ..ask })))
            }
        }
    }

    fn can_hold(&self, start: &StartTask) -> bool {
        self.knows_feeding || start.manner.is_plain()
    }

    fn expect(&mut self, reads: bool, answer: oneshot::Sender<TaskNews>) -> Option<()> {
        if reads {
            self.tasks.insert(self.last, answer);
            return Some(());
        }
        // Whoever asked may have gone.
        let _ = answer.send(TaskNews::of(self.last, TaskState::Failed(OLD.to_owned())));
        None
    }

    /// The node answered a question for output.
    pub fn output(&mut self, chunk: OutputChunk) {
        if let Some(reader) = self.reads.remove(&chunk.question) {
            let _ = reader.send(chunk);
        }
    }

    /// The node answered a question about steps.
    pub fn steps(&mut self, news: StepNews) {
        if let Some(asker) = self.steps.remove(&news.question) {
            let _ = asker.send(news);
        }
    }

    /// The node answered what became of a signal.
    pub fn signalled(&mut self, news: SignalNews) {
        if let Some(asker) = self.signals.remove(&news.question) {
            let _ = asker.send(news);
        }
    }

    /// The node answered a question about a program.
    pub fn task(&mut self, news: TaskNews) {
        if let Some(asker) = self.tasks.remove(&news.question) {
            let _ = asker.send(news);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::{Attempt, AttemptId, JobId, JobKey, TaskNumber};
    use common::time::Span;

    fn watch() -> (Question, oneshot::Receiver<TaskNews>) {
        let (answer, answered) = oneshot::channel();
        let id = AttemptId { key: JobKey::single(JobId(7)), attempt: Attempt(1) };
        let (task, wait) = (TaskNumber(1), Span::default());
        let (stdout_from, stderr_from, lease) = (0, 0, None);
        let watch = WatchTask { question: 0, id, task, stdout_from, stderr_from, wait, lease };
        (Question::Watch(watch, answer), answered)
    }

    #[test]
    fn each_answer_goes_to_who_asked_for_it() {
        let mut questions = Questions { knows_tasks: true, ..Questions::default() };
        let ((first, mut heard_first), (second, mut heard_second)) = (watch(), watch());
        let numbers = [first, second].map(|question| match questions.ask(question) {
            Some(ToNode::WatchTask(watch)) => watch.question,
            other => panic!("{other:?}"),
        });
        questions.task(TaskNews::of(numbers[1], TaskState::Running));
        assert!(heard_first.try_recv().is_err());
        assert_eq!(heard_second.try_recv().unwrap().state, TaskState::Running);
        questions.task(TaskNews::of(99, TaskState::Running));
    }

    #[test]
    fn what_nobody_waits_for_any_more_is_not_asked() {
        let mut questions = Questions { knows_tasks: true, ..Questions::default() };
        let (question, answered) = watch();
        drop(answered);
        assert_eq!(questions.ask(question), None);
    }

    #[test]
    fn a_node_of_an_earlier_release_is_not_asked_what_it_cannot_read() {
        let mut questions = Questions::default();
        let (question, mut heard) = watch();
        assert_eq!(questions.ask(question), None);
        let TaskState::Failed(why) = heard.try_recv().unwrap().state else { panic!("it ran") };
        assert!(why.contains("earlier release"), "{why}");
    }
}
