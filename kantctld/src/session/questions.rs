//! The open questions to a node. The callers wait for the answers, not the session.

use crate::session_registry::Question;
use common::wire::node::{
    AskSteps, FeedTask, Hello, JobSignal, OutputChunk, ReadOutput, SignalJob, SignalNews,
    SignalTask, StepAnswer, StepNews, TaskNews, TaskState, ToNode, WatchTask,
};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

const EMULATED: &str = "the node is emulated and runs no programs: ask on a real node";

/// The open questions of one session.
#[derive(Default)]
pub struct Questions {
    last: u64,
    /// False for an emulated node.
    runs_programs: bool,
    reads: BTreeMap<u64, oneshot::Sender<OutputChunk>>,
    tasks: BTreeMap<u64, oneshot::Sender<TaskNews>>,
    steps: BTreeMap<u64, oneshot::Sender<StepNews>>,
    signals: BTreeMap<u64, oneshot::Sender<SignalNews>>,
}

impl Questions {
    /// No questions yet, to the node that sent this Hello.
    pub fn new(hello: &Hello) -> Self {
        Self { runs_programs: hello.starts_tasks, ..Self::default() }
    }

    /// The message to the node; `None` if the caller no longer waits, or if the answer is given
    /// here because the node runs no programs.
    pub fn ask(&mut self, question: Question) -> Option<ToNode> {
        if question.is_abandoned() {
            return None;
        }
        self.reads.retain(|_, reader| !reader.is_closed());
        self.tasks.retain(|_, asker| !asker.is_closed());
        self.steps.retain(|_, asker| !asker.is_closed());
        self.signals.retain(|_, asker| !asker.is_closed());
        self.last += 1;
        let number = self.last;
        if !self.runs_programs && !matches!(question, Question::Read(..)) {
            refuse(number, question);
            return None;
        }
        Some(match question {
            Question::Read(read, answer) => {
                self.reads.insert(number, answer);
                ToNode::ReadOutput(ReadOutput { question: number, ..read })
            }
            Question::Start(mut start, answer) => {
                start.question = number;
                self.tasks.insert(number, answer);
                ToNode::StartTask(start)
            }
            Question::Watch(watch, answer) => {
                self.tasks.insert(number, answer);
                ToNode::WatchTask(WatchTask { question: number, ..watch })
            }
            Question::Signal(signal, answer) => {
                self.tasks.insert(number, answer);
                ToNode::SignalTask(SignalTask { question: number, ..signal })
            }
            Question::Job(signal, answer) => {
                self.signals.insert(number, answer);
                ToNode::SignalJob(SignalJob { question: number, ..signal })
            }
            Question::Feed(feed, answer) => {
                self.tasks.insert(number, answer);
                ToNode::FeedTask(FeedTask { question: number, ..feed })
            }
            Question::Steps(ask, answer) => {
                self.steps.insert(number, answer);
                ToNode::AskSteps(Box::new(AskSteps { question: number, ..ask }))
            }
        })
    }

    /// Passes on a part of an output file.
    pub fn on_output(&mut self, chunk: OutputChunk) {
        if let Some(reader) = self.reads.remove(&chunk.question) {
            let _ = reader.send(chunk);
        }
    }

    /// Passes on an answer about steps.
    pub fn on_steps(&mut self, news: StepNews) {
        if let Some(asker) = self.steps.remove(&news.question) {
            let _ = asker.send(news);
        }
    }

    /// Passes on the outcome of a signal.
    pub fn on_signalled(&mut self, news: SignalNews) {
        if let Some(asker) = self.signals.remove(&news.question) {
            let _ = asker.send(news);
        }
    }

    /// Passes on the status of a program.
    pub fn on_task(&mut self, news: TaskNews) {
        if let Some(asker) = self.tasks.remove(&news.question) {
            let _ = asker.send(news);
        }
    }
}

/// Answers in place of a node that runs no programs. The caller may be gone.
fn refuse(number: u64, question: Question) {
    let why = EMULATED.to_owned();
    match question {
        Question::Read(..) => {}
        Question::Start(_, answer)
        | Question::Watch(_, answer)
        | Question::Signal(_, answer)
        | Question::Feed(_, answer) => {
            let _ = answer.send(TaskNews::from_state(number, TaskState::Failed(why)));
        }
        Question::Job(_, answer) => {
            let signal = JobSignal::Failed(why);
            let _ = answer.send(SignalNews { question: number, signal });
        }
        Question::Steps(_, answer) => {
            let answered = StepAnswer::Refused(why);
            let _ = answer.send(StepNews { question: number, answer: answered });
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
    fn each_answer_goes_to_its_caller() {
        let mut questions = Questions { runs_programs: true, ..Questions::default() };
        let ((first, mut first_answer), (second, mut second_answer)) = (watch(), watch());
        let numbers = [first, second].map(|question| match questions.ask(question) {
            Some(ToNode::WatchTask(watch)) => watch.question,
            other => panic!("{other:?}"),
        });
        questions.on_task(TaskNews::from_state(numbers[1], TaskState::Running));
        assert!(first_answer.try_recv().is_err());
        assert_eq!(second_answer.try_recv().unwrap().state, TaskState::Running);
        questions.on_task(TaskNews::from_state(99, TaskState::Running));
    }

    #[test]
    fn abandoned_questions_are_not_sent() {
        let mut questions = Questions { runs_programs: true, ..Questions::default() };
        let (question, answered) = watch();
        drop(answered);
        assert_eq!(questions.ask(question), None);
    }

    #[test]
    fn an_emulated_node_is_not_asked_to_run_programs() {
        let mut questions = Questions::default();
        let (question, mut answer) = watch();
        assert_eq!(questions.ask(question), None);
        let TaskState::Failed(why) = answer.try_recv().unwrap().state else { panic!("it ran") };
        assert_eq!(why, EMULATED);
    }
}
