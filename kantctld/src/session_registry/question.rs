//! A question to a node, which its session passes on.

use common::wire::node::{
    AskSteps, FeedTask, OutputChunk, ReadOutput, SignalJob, SignalNews, SignalTask, StartTask,
    StepNews, TaskNews, WatchTask,
};
use tokio::sync::oneshot;

/// A question with the channel for its answer.
pub enum Question {
    Read(ReadOutput, oneshot::Sender<OutputChunk>),
    /// Starts a program in a job.
    Start(Box<StartTask>, oneshot::Sender<TaskNews>),
    /// Asks for the status of such a program.
    Watch(WatchTask, oneshot::Sender<TaskNews>),
    /// Sends such a program a signal.
    Signal(SignalTask, oneshot::Sender<TaskNews>),
    /// Signals a job's processes.
    Job(SignalJob, oneshot::Sender<SignalNews>),
    /// Appends to the standard input of such a program.
    Feed(FeedTask, oneshot::Sender<TaskNews>),
    Steps(AskSteps, oneshot::Sender<StepNews>),
}

impl Question {
    /// Whether the caller no longer waits for the answer.
    pub fn is_abandoned(&self) -> bool {
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
