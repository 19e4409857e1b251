//! One node's connection: its Hello, then desired state down and reports up, until it ends or this
//! controller leads no more. What is said is [`lead::NodeSession`]'s to know; this is its loop.
//! Never remembers anything that a reconnect would not bring back.

mod questions;

use crate::core::{CommandError, Core};
use crate::hub::{Inbox, Nudge};
use crate::raft::ProposeError;
use common::id::NodeName;
use common::wire::node::{FromNode, Hello, ToNode};
use lead::{NodeSession, SessionId, session};
use net::{Channel, ChannelError, ChannelReceiver, ChannelSender};
use state::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

pub use questions::Question;
use questions::Questions;

/// A node that connects must say who it is within this time.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// The most reports of one node that wait for the log.
const REPORTS_MAX: usize = 1024;

type Down = ChannelSender<ToNode>;
type Up = ChannelReceiver<FromNode>;

/// Why a session ended, or did not begin.
enum End {
    /// This controller does not lead.
    NotLeader,
    Because(String),
    /// The log did not take it this time, for example because the disk is full: the node is to
    /// try again soon. In words.
    ForNow(String),
}

impl From<ChannelError> for End {
    fn from(error: ChannelError) -> Self {
        Self::Because(error.to_string())
    }
}

/// Threads for sessions with nodes alone: what thousands of nodes have to say at once keeps nobody
/// waiting who asks something, since the kernel gives each of both sorts of threads its turn.
#[derive(Debug, Clone)]
pub struct NodeThreads(pub Handle);

/// Which nodes this controller takes: all of a cluster are real, or none is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// Machines that run what they are told.
    Real,
    /// Those of `kantd emulate`.
    Emulated,
}

impl Make {
    /// As the configuration says.
    #[must_use]
    pub const fn wanted(emulated: bool) -> Self {
        if emulated { Self::Emulated } else { Self::Real }
    }

    /// May a node of this make join?
    fn check(self, hello: &Hello) -> Result<(), String> {
        match (self, hello.inventory.is_emulated()) {
            (Self::Real, true) => {
                Err("it is emulated, and this cluster is real: a controller for \
                emulated nodes has `emulated = true` in kantctld.toml"
                    .to_owned())
            }
            (Self::Emulated, false) => Err("it is real, and all nodes of this cluster are \
                emulated: take `emulated = true` out of kantctld.toml to run jobs"
                .to_owned()),
            _ => Ok(()),
        }
    }
}

/// Serves one connection of the node that its certificate names.
pub async fn serve(
    core: Arc<Core>,
    certified: NodeName,
    make: Make,
    channel: Channel<ToNode, FromNode>,
) {
    let (down, mut up) = channel.split();
    let hello = match tokio::time::timeout(HELLO_LIMIT, up.recv()).await {
        Ok(Some(Ok(FromNode::Hello(hello)))) => hello,
        _ => return down.close("the first message must be a hello").await,
    };
    // Seen before it is looked at: a term that ends at any moment from here on ends the session.
    let mut leading = core.leading.clone();
    leading.mark_unchanged();
    if !core.serves() {
        return go_elsewhere(&core, &down).await;
    }
    let name = hello.name.clone();
    let checked = session::check_hello(&core.state.read(), &certified, &hello);
    if let Err(reason) = checked.and_then(|()| make.check(&hello)) {
        return refuse(&name, &down, reason).await;
    }
    // Seated before it is registered: from here on an older session of this node says nothing more.
    let (id, inbox) = core.hub.join(&name);
    if let Err(end) = register(&core, &hello).await {
        core.hub.leave(&name, id);
        return match end {
            End::NotLeader => go_elsewhere(&core, &down).await,
            End::Because(reason) => refuse(&name, &down, reason).await,
            // Not a refusal: a node that is refused stays away for a minute or more.
            End::ForNow(reason) => down.close(&reason).await,
        };
    }
    core.hub.note_registered(&name, id);
    tracing::info!("node {name} is in session (kantd {})", hello.version);
    let known = NodeSession::new(&hello, session::ORDERS_BYTES);
    let questions = Questions::of(&hello);
    let mut session = Session { core: core.clone(), id, known, down, questions };
    let end = tokio::select! {
        end = session.run(&mut up, inbox) => end,
        end = led_no_more(&mut leading) => end,
    };
    session.end(end).await;
}

/// Returns when the term ends in which this was last looked at, even if another began since.
async fn led_no_more(leading: &mut watch::Receiver<bool>) -> End {
    // An error means that the log ended.
    let _ = leading.changed().await;
    End::NotLeader
}

async fn refuse(name: &NodeName, down: &Down, reason: String) {
    tracing::warn!("node {name} refused: {reason}");
    let _ = down.send(&ToNode::Refused { reason: reason.clone() }).await;
    down.close(&reason).await;
}

/// Sends a node to the leader, or on its way around.
async fn go_elsewhere(core: &Core, down: &Down) {
    let leader = core.leader().map(|leader| leader.address);
    let _ = down.send(&ToNode::NotLeader { leader }).await;
    down.close("this controller does not lead").await;
}

async fn register(core: &Core, hello: &Hello) -> Result<(), End> {
    match core.command(session::register(hello)).await {
        Ok(_) => Ok(()),
        Err(CommandError::NotTaken(ProposeError::NotLeader | ProposeError::Unknown)) => {
            Err(End::NotLeader)
        }
        Err(CommandError::Refused(refusal)) => Err(End::Because(refusal.to_string())),
        Err(CommandError::NotTaken(error)) => Err(End::ForNow(error.to_string())),
    }
}

struct Session {
    core: Arc<Core>,
    id: SessionId,
    known: NodeSession,
    down: Down,
    questions: Questions,
}

impl Session {
    /// Runs until the connection ends or is taken over; says why.
    async fn run(&mut self, up: &mut Up, inbox: Inbox) -> End {
        match self.begin().await {
            Ok(()) => self.talk(up, inbox).await,
            Err(error) => error.into(),
        }
    }

    async fn begin(&mut self) -> Result<(), ChannelError> {
        let welcome = NodeSession::welcome(&self.core.state.read());
        self.down.send(&welcome).await?;
        self.send_desired(true).await
    }

    async fn talk(&mut self, up: &mut Up, inbox: Inbox) -> End {
        let Inbox { mut nudges, questions: mut asked } = inbox;
        // Apart from the rest: a full disk must stop reports, not the reading of output. In boxes:
        // a channel keeps room for 32 of what it carries.
        let (reports, told) = mpsc::channel(REPORTS_MAX);
        let node = self.known.node().clone();
        let reporter = report(self.core.clone(), node, self.id, told);
        let mut reporter = std::pin::pin!(reporter);
        let because = |reason: &str| End::Because(reason.to_owned());
        loop {
            tokio::select! {
                end = &mut reporter => return end,
                message = up.recv() => match message {
                    Some(Ok(FromNode::Report(steps))) => {
                        if reports.try_send(Box::new(self.known.report(steps))).is_err() {
                            return because("more reports wait than the log takes in");
                        }
                    }
                    Some(Ok(FromNode::Health(findings))) => {
                        let command = self.known.health(&self.core.state.read(), findings);
                        if command.is_some_and(|told| reports.try_send(Box::new(told)).is_err()) {
                            return because("more reports wait than the log takes in");
                        }
                    }
                    Some(Ok(FromNode::Output(chunk))) => self.questions.output(chunk),
                    Some(Ok(FromNode::Task(news))) => self.questions.task(news),
                    Some(Ok(FromNode::Steps(news))) => self.questions.steps(*news),
                    Some(Ok(FromNode::Signalled(news))) => self.questions.signalled(news),
                    Some(Ok(FromNode::Hello(_))) => return because("it said hello twice"),
                    Some(Err(error)) => return error.into(),
                    None => return because("the connection ended"),
                },
                nudge = nudges.recv() => match nudge {
                    Some(Nudge::Desired) => {
                        if let Err(error) = self.send_desired(false).await {
                            return error.into();
                        }
                    }
                    Some(Nudge::Replaced) | None => return because("it connected anew"),
                },
                Some(question) = asked.recv() => {
                    if let Some(message) = self.questions.ask(question)
                        && let Err(error) = self.down.send(&message).await
                    {
                        return error.into();
                    }
                }
            }
        }
    }

    /// Sends everything, or the difference to what was last sent: one message at a time, for all
    /// orders together may be large.
    async fn send_desired(&mut self, full: bool) -> Result<(), ChannelError> {
        self.known.look(full);
        loop {
            let message = self.known.next_message(&self.core.state.read());
            match message {
                Some(message) => self.down.send(&message).await?,
                None => return Ok(()),
            }
        }
    }

    async fn end(self, end: End) {
        let node = self.known.node();
        let was_last = self.core.hub.leave(node, self.id);
        let reason = match end {
            End::NotLeader => return go_elsewhere(&self.core, &self.down).await,
            End::Because(reason) | End::ForNow(reason) => reason,
        };
        if was_last {
            tracing::info!("node {node} is silent: {reason}");
            // A controller that stops leaves this to the next start.
            let _ = self.core.command(self.known.silent()).await;
        }
        self.down.close(&reason).await;
    }
}

/// Puts a node's reports into the log, in their order; ends with the reason it cannot.
async fn report(
    core: Arc<Core>,
    node: NodeName,
    id: SessionId,
    mut inbox: mpsc::Receiver<Box<Command>>,
) -> End {
    while let Some(reported) = inbox.recv().await {
        if !core.hub.is_seated(&node, id) {
            return End::Because("it connected anew".to_owned());
        }
        match core.command(*reported).await {
            Ok(_) => {}
            Err(CommandError::NotTaken(ProposeError::NotLeader | ProposeError::Unknown)) => {
                return End::NotLeader;
            }
            // The node says it again on its next connect.
            Err(error) => return End::Because(format!("its report was not taken: {error}")),
        }
    }
    End::Because("the session ended".to_owned())
}
