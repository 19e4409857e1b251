//! The session of one node: its Hello, then desired state down and reports up, until the connection
//! ends or this controller no longer leads. [`lead::NodeSession`] decides what is sent; this is its
//! loop. A reconnect restores everything that a session holds.

mod certified;
mod closing;
mod confirmations;
mod messages;
mod questions;
mod rules;
mod services;

use crate::core::{CommandError, Core};
use crate::raft::ProposeError;
use crate::release::WITH_NODES;
use crate::session_registry::SessionInbox;
use common::id::NodeName;
use common::time::Span;
use common::wire::node::{FromNode, Hello, ToNode};
use lead::{NodeSession, SessionId, session};
use net::{Channel, ChannelError, ChannelReceiver, ChannelSender};
use state::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

pub use certified::Certified;
use closing::{redirect, refuse};
use confirmations::Confirmations;
use questions::Questions;
pub use rules::{NodeKind, NodeRules};

/// The longest wait for a node's hello.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// The most reports of one node queued for the log.
const REPORTS_MAX: usize = 1024;

type Down = ChannelSender<ToNode>;
type Up = ChannelReceiver<FromNode>;

/// Why a session ended, or was not started.
enum End {
    NotLeader,
    Because(String),
    /// The log did not accept the registration, for example because the disk is full: the node is
    /// to try again soon.
    ForNow(String),
}

impl From<ChannelError> for End {
    fn from(error: ChannelError) -> Self {
        Self::Because(error.to_string())
    }
}

/// The threads for node sessions. They are separate, so that thousands of busy nodes do not delay
/// users' requests: the kernel shares the CPUs between both groups of threads.
#[derive(Debug, Clone)]
pub struct NodeThreads(pub Handle);

/// Serves one connection of the node named by its certificate.
pub async fn serve(
    core: Arc<Core>,
    certified: Certified,
    rules: NodeRules,
    channel: Channel<ToNode, FromNode>,
) {
    let (down, mut up) = channel.split();
    let hello = match tokio::time::timeout(HELLO_LIMIT, up.recv()).await {
        Ok(Some(Ok(FromNode::Hello(hello)))) => hello,
        _ => return down.close("the first message must be a hello").await,
    };
    // Subscribed before `serves` is checked: the end of the term ends the session from here on.
    let mut leading = core.leading.clone();
    leading.mark_unchanged();
    if !core.is_serving() {
        return redirect(&core, &down).await;
    }
    let name = hello.name.clone();
    let checked = session::check_hello(&core.state.read(), &certified.name, &hello, WITH_NODES);
    let protocol = match checked.and_then(|protocol| rules.kind.check(&hello).map(|()| protocol)) {
        Ok(protocol) => protocol,
        Err(reason) => return refuse(&name, &down, reason).await,
    };
    // Joined before it is registered: from here on an older session of this node sends nothing.
    let (id, inbox) = core.sessions.join(&name);
    // From here on a revocation ends the session; it may have come before.
    let valid = core.state.read().check_certificate(&certified.name, certified.enrolment).is_ok();
    if !valid {
        core.sessions.leave(&name, id);
        return refuse(&name, &down, "its certificate is no longer valid".to_owned()).await;
    }
    if let Err(end) = register(&core, &hello).await {
        core.sessions.leave(&name, id);
        return match end {
            End::NotLeader => redirect(&core, &down).await,
            End::Because(reason) => refuse(&name, &down, reason).await,
            // Not a refusal, after which a node would wait a minute or longer.
            End::ForNow(reason) => down.close(&reason).await,
        };
    }
    core.sessions.note_registered(&name, id);
    core.idle_gpus.write().forget_node(&name);
    core.sessions.note_key_generation(&name, id, hello.key_generation);
    tracing::info!("node {name} connected (kantd {}, protocol {protocol})", hello.version);
    let known = NodeSession::new(&hello, session::ORDERS_BYTES);
    let questions = Questions::new(&hello);
    let mut routes = hello.routes.then(|| core.routes.subscribe());
    routes.iter_mut().for_each(watch::Receiver::mark_changed);
    let mut session = Session {
        core: core.clone(),
        id,
        enrolment: certified.enrolment,
        protocol,
        known,
        down,
        questions,
        routes,
        fence_after: rules.fence_after,
    };
    let end = tokio::select! {
        end = session.run(&mut up, inbox) => end,
        end = leadership_lost(&mut leading) => end,
    };
    session.end(end).await;
}

/// Returns when the current term ends, even if another has begun since.
async fn leadership_lost(leading: &mut watch::Receiver<bool>) -> End {
    // An error means that the log ended.
    let _ = leading.changed().await;
    End::NotLeader
}

async fn register(core: &Core, hello: &Hello) -> Result<(), End> {
    match core.propose_command(session::register_command(hello)).await {
        Ok(_) => Ok(()),
        Err(CommandError::NotTaken(ProposeError::NotLeader | ProposeError::Unknown)) => {
            Err(End::NotLeader)
        }
        Err(CommandError::Refused(refusal)) => Err(End::Because(refusal.text_with_hint())),
        Err(CommandError::NotTaken(error)) => Err(End::ForNow(error.to_string())),
    }
}

struct Session {
    core: Arc<Core>,
    id: SessionId,
    /// Of the certificate with which the node connected.
    enrolment: u32,
    /// The version of the protocol.
    protocol: u32,
    known: NodeSession,
    down: Down,
    questions: Questions,
    /// The services for a router on the node, if it has one.
    routes: Option<services::Routes>,
    fence_after: Span,
}

impl Session {
    /// Runs until the connection ends or is replaced; returns why.
    async fn run(&mut self, up: &mut Up, inbox: SessionInbox) -> End {
        match self.begin().await {
            Ok(()) => self.exchange_messages(up, inbox).await,
            Err(error) => error.into(),
        }
    }

    async fn begin(&mut self) -> Result<(), ChannelError> {
        let welcome =
            NodeSession::welcome(&self.core.state.read(), self.protocol, self.fence_after);
        self.down.send(&welcome).await?;
        self.send_key_generation().await?;
        self.send_desired(true).await
    }

    async fn exchange_messages(&mut self, up: &mut Up, inbox: SessionInbox) -> End {
        let SessionInbox { mut wakeups, questions: mut asked } = inbox;
        // Reports have their own queue: a full disk must stop reports, but not reads of output.
        // Boxed, because a channel allocates space for 32 of its items.
        let (reports, reports_in) = mpsc::channel(REPORTS_MAX);
        let node = self.known.node().clone();
        let reporter = propose_reports(self.core.clone(), node, self.id, reports_in);
        let mut reporter = std::pin::pin!(reporter);
        let because = |reason: &str| End::Because(reason.to_owned());
        let mut confirmations = Confirmations::default();
        loop {
            tokio::select! {
                end = &mut reporter => return end,
                message = up.recv() => match message {
                    Some(Ok(FromNode::Report(steps))) => {
                        if reports.try_send(Box::new(self.known.report_command(steps))).is_err() {
                            return because("too many reports wait for the log");
                        }
                    }
                    Some(Ok(message @ (FromNode::Health(_) | FromNode::Data(_)))) => {
                        let command = self.command_for(message);
                        if command.is_some_and(|one| reports.try_send(Box::new(one)).is_err()) {
                            return because("too many reports wait for the log");
                        }
                    }
                    Some(Ok(FromNode::ConfirmLeader { number })) => {
                        confirmations.answer(&self.core, &self.down, number);
                    }
                    Some(Ok(FromNode::Hello(_))) => return because("it sent a second hello"),
                    Some(Ok(message)) => self.handle_message(message),
                    Some(Err(error)) => return error.into(),
                    None => return because("the connection ended"),
                },
                wakeup = wakeups.recv() => {
                    if let Err(end) = self.handle_wakeup(wakeup).await {
                        return end;
                    }
                }
                routes = services::next_routes(&mut self.routes) => {
                    if let Err(error) = self.down.send(&ToNode::Routes(routes)).await {
                        return error.into();
                    }
                }
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

    /// The command for what a node says about itself; `None` if the state has it already.
    fn command_for(&self, message: FromNode) -> Option<Command> {
        let state = self.core.state.read();
        match message {
            FromNode::Health(findings) => self.known.health_command(&state, findings),
            FromNode::Data(data) => self.known.data_command(&state, data),
            _ => None,
        }
    }

    /// Sends the whole desired state, or the difference to what was last sent, in several messages
    /// because all orders together may be large.
    async fn send_desired(&mut self, full: bool) -> Result<(), ChannelError> {
        self.known.request_comparison(full);
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
        let was_last = self.core.sessions.leave(node, self.id);
        let reason = match end {
            End::NotLeader => return redirect(&self.core, &self.down).await,
            End::Because(reason) | End::ForNow(reason) => reason,
        };
        if was_last {
            tracing::info!("node {node} disconnected: {reason}");
            // On shutdown the next start notes it.
            let _ = self.core.propose_command(self.known.silence_command()).await;
        }
        self.down.close(&reason).await;
    }
}

/// Proposes a node's reports in order; returns why it stopped.
async fn propose_reports(
    core: Arc<Core>,
    node: NodeName,
    id: SessionId,
    mut inbox: mpsc::Receiver<Box<Command>>,
) -> End {
    while let Some(reported) = inbox.recv().await {
        if !core.sessions.is_current(&node, id) {
            return End::Because("it connected again".to_owned());
        }
        match core.propose_command(*reported).await {
            Ok(_) => {}
            Err(CommandError::NotTaken(ProposeError::NotLeader | ProposeError::Unknown)) => {
                return End::NotLeader;
            }
            // The node repeats the report when it reconnects.
            Err(error) => return End::Because(format!("failed to record its report: {error}")),
        }
    }
    End::Because("the session ended".to_owned())
}
