//! The node's session with the controller: dials in turn, says everything it holds, then reports
//! what changes and passes on what it hears. Never decides anything: what to run is the runner's
//! business, and a lost connection is no event for any job.

mod course;

use crate::health::Findings;
use crate::logging::with_causes;
use crate::output::OutputReader;
use crate::runner::Word;
use crate::step::{Steps, tend_leases};
use common::id::NodeName;
use common::node::Inventory;
use common::wire::node::{FromNode, Hello, NODE_PATH, NODE_PROTOCOL, ToNode};
use course::{Course, Ending};
use net::{
    Channel, ChannelError, ChannelReceiver, ChannelSender, ClientError, Endpoint, Keepalive,
    connect_channel,
};
use node::Observed;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Who this node is, as every Hello says it.
#[derive(Debug, Clone)]
pub struct About {
    pub name: NodeName,
    /// How other nodes reach it.
    pub address: String,
    pub identity: String,
    pub inventory: Arc<Inventory>,
}

/// How patient a session is.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The longest first wait after all controllers failed.
    pub redial_first: Duration,
    /// The longest wait of all. A session that lasted longer counts as a success.
    pub redial_cap: Duration,
    /// The longest wait while controllers answer and none of them leads: elections are short.
    pub leaderless_cap: Duration,
    /// After the controller refused this node: only an operator can change that.
    pub refused_wait: Duration,
    /// For the answer to a Hello.
    pub welcome_limit: Duration,
    /// When a silent connection is given up.
    pub keepalive: Keepalive,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            redial_first: Duration::from_millis(500),
            redial_cap: Duration::from_secs(15),
            leaderless_cap: Duration::from_secs(2),
            refused_wait: Duration::from_secs(60),
            welcome_limit: Duration::from_secs(15),
            keepalive: Keepalive::default(),
        }
    }
}

/// Everything a session needs.
#[derive(Debug)]
pub struct Session {
    /// Whom to dial, in order.
    pub controllers: Vec<Endpoint>,
    pub about: About,
    pub pace: Pace,
    /// What the node holds.
    pub board: watch::Receiver<Observed>,
    /// What is wrong with the node.
    pub health: Findings,
    pub words: mpsc::Sender<Word>,
    pub output: OutputReader,
    /// Starts programs in steps, if anybody does.
    pub steps: Option<Steps>,
    /// Tells the local socket which controller this node is in session with.
    pub answering: watch::Sender<Option<Endpoint>>,
}

/// Why a session ended or did not begin.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error("failed to reach the controller")]
    Unreached(#[source] ClientError),
    #[error("the controller refuses this node: {0}")]
    Refused(String),
    #[error("the controller does not lead{}", told(.0))]
    NotLeader(Option<String>),
    #[error("the controller did not answer within {0:?}")]
    NoWelcome(Duration),
    #[error("the controller answered a hello with something else: is it of another version?")]
    NotAWelcome,
    #[error("the session ended")]
    Over(#[source] Option<ChannelError>),
    #[error("the runner is gone")]
    RunnerGone,
}

impl Session {
    /// Holds sessions, one after the other, until the runner is gone.
    pub async fn run(mut self) {
        let mut course = Course::new(self.controllers.clone(), self.pace);
        let mut last_trouble = String::new();
        loop {
            let controller = course.next();
            let begun = Instant::now();
            let error = self.hold(&controller).await;
            self.answering.send_replace(None);
            if self.words.send(Word::Suspend).await.is_err() {
                return;
            }
            let trouble = with_causes(&error);
            match (&error, trouble == last_trouble) {
                (SessionError::Refused(_), _) => tracing::error!("{controller}: {trouble}"),
                (_, true) => tracing::debug!("{controller}: {trouble}"),
                (_, false) => tracing::warn!("{controller}: {trouble}; jobs here go on"),
            }
            last_trouble = trouble;
            sleep(course.wait_after(ending(error), begun.elapsed())).await;
        }
    }

    /// One session from dialling to its end.
    async fn hold(&mut self, controller: &Endpoint) -> SessionError {
        match self.begin(controller).await {
            Ok((channel, told, hears)) => self.talk(channel, told, hears).await,
            Err(error) => error,
        }
    }

    /// Dials, says hello, and waits to be welcomed. Also returns what the controller now knows, and
    /// whether it hears of health.
    async fn begin(
        &mut self,
        endpoint: &Endpoint,
    ) -> Result<(Channel<FromNode, ToNode>, Observed, bool), SessionError> {
        let mut channel = connect_channel(endpoint, NODE_PATH, self.pace.keepalive)
            .await
            .map_err(SessionError::Unreached)?;
        let told = self.board.borrow_and_update().clone();
        let hello = FromNode::Hello(Box::new(self.hello(&told)));
        channel.send(&hello).await.map_err(|error| SessionError::Over(Some(error)))?;
        let limit = self.pace.welcome_limit;
        match timeout(limit, channel.recv()).await {
            Err(_) => Err(SessionError::NoWelcome(limit)),
            Ok(None) => Err(SessionError::Over(None)),
            Ok(Some(Err(error))) => Err(SessionError::Over(Some(error))),
            Ok(Some(Ok(ToNode::Refused { reason }))) => Err(SessionError::Refused(reason)),
            Ok(Some(Ok(ToNode::NotLeader { leader }))) => Err(SessionError::NotLeader(leader)),
            Ok(Some(Ok(ToNode::Welcome { protocol, cluster, hears_health }))) => {
                self.answering.send_replace(Some(endpoint.clone()));
                tracing::info!(cluster, protocol, "welcomed by {endpoint}");
                Ok((channel, told, hears_health))
            }
            Ok(Some(Ok(_))) => Err(SessionError::NotAWelcome),
        }
    }

    fn hello(&self, holds: &Observed) -> Hello {
        Hello {
            protocol: NODE_PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.about.name.clone(),
            address: self.about.address.clone(),
            identity: self.about.identity.clone(),
            inventory: Inventory::clone(&self.about.inventory),
            steps: holds.statuses(),
            starts_tasks: self.steps.is_some(),
            feeds_tasks: self.steps.is_some(),
            signals_jobs: self.steps.is_some(),
            passes_streams: self.steps.is_some(),
        }
    }

    /// Reports and listens at once, so that neither end ever waits for the other to read.
    async fn talk(
        &self,
        channel: Channel<FromNode, ToNode>,
        told: Observed,
        hears_health: bool,
    ) -> SessionError {
        let (sender, receiver) = channel.split();
        tokio::select! {
            error = report(self.board.clone(), told, sender.clone()) => error,
            error = report_health(self.health.clone(), sender.clone()), if hears_health => error,
            error = self.listen(receiver, sender) => error,
            never = tend_leases(self.steps.as_ref()) => match never {},
        }
    }

    async fn listen(
        &self,
        mut receiver: ChannelReceiver<ToNode>,
        sender: ChannelSender<FromNode>,
    ) -> SessionError {
        // Dropped with the session, and all questions with it.
        let mut questions = JoinSet::new();
        let mut reason = None;
        while let Some(message) = receiver.recv().await {
            while questions.try_join_next().is_some() {}
            match message {
                Ok(ToNode::Desired(update)) => {
                    if self.words.send(Word::Desired(update)).await.is_err() {
                        return SessionError::RunnerGone;
                    }
                }
                Ok(ToNode::ReadOutput(question)) => {
                    let (output, sender) = (self.output.clone(), sender.clone());
                    questions.spawn(async move {
                        let chunk = output.answer(question).await;
                        // If the session is over, nobody waits for the answer.
                        let _ = sender.send(&FromNode::Output(chunk)).await;
                    });
                }
                Ok(ToNode::Refused { reason }) => return SessionError::Refused(reason),
                Ok(ToNode::NotLeader { leader }) => return SessionError::NotLeader(leader),
                Ok(ToNode::Welcome { .. }) => {}
                Ok(question) => {
                    let (steps, sender) = (self.steps.clone(), sender.clone());
                    questions.spawn(async move {
                        let Some(steps) = steps else { return };
                        if let Some(answer) = steps.answer(question).await {
                            let _ = sender.send(&answer).await;
                        }
                    });
                }
                Err(error @ ChannelError::Undecodable { .. }) => {
                    tracing::warn!("ignored a message: {}", with_causes(&error));
                }
                Err(error) => reason = Some(error),
            }
        }
        SessionError::Over(reason)
    }
}

/// The rest of a sentence.
fn told(leader: &Option<String>) -> String {
    leader.as_ref().map(|leader| format!(": {leader} does")).unwrap_or_default()
}

/// What matters of an error for what is dialled next.
fn ending(error: SessionError) -> Ending {
    match error {
        SessionError::Unreached(_) => Ending::Unreached,
        SessionError::Refused(_) => Ending::Refused,
        SessionError::NotLeader(leader) => Ending::NotLeader(leader),
        _ => Ending::Broken,
    }
}

/// Sends all that is wrong with the node, once it is known and whenever that changed.
async fn report_health(mut health: Findings, sender: ChannelSender<FromNode>) -> SessionError {
    health.mark_changed();
    loop {
        if health.changed().await.is_err() {
            // Nobody looks at the node any more, and that is no reason to end a session.
            return std::future::pending().await;
        }
        let now = health.borrow_and_update().clone();
        let Some(findings) = now else { continue };
        if sender.send(&FromNode::Health(findings)).await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Sends what changed since `told`, whenever something did.
async fn report(
    mut board: watch::Receiver<Observed>,
    mut told: Observed,
    sender: ChannelSender<FromNode>,
) -> SessionError {
    loop {
        let now = board.borrow_and_update().clone();
        let news = now.changes_since(&told);
        if !news.is_empty() && sender.send(&FromNode::Report(news)).await.is_err() {
            // Why it is over, the listening half knows.
            return std::future::pending().await;
        }
        told = now;
        if board.changed().await.is_err() {
            return SessionError::RunnerGone;
        }
    }
}
