//! The node's session with the controller: dials in turn, says everything it holds, then reports
//! what changes and passes on what it hears.
//!
//! Never decides anything: what to run is the runner's business, and a lost connection is no event
//! for any job.

use crate::logging::with_causes;
use crate::output::OutputReader;
use crate::runner::Word;
use common::id::NodeName;
use common::node::Inventory;
use common::wire::node::{FromNode, Hello, NODE_PATH, NODE_PROTOCOL, ToNode};
use net::{
    Backoff, Channel, ChannelError, ChannelReceiver, ChannelSender, ClientError, Endpoint,
    Keepalive, connect_channel,
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
    /// Its name.
    pub name: NodeName,
    /// How other nodes reach it.
    pub address: String,
    /// Of this installation.
    pub identity: String,
    /// What it has.
    pub inventory: Arc<Inventory>,
}

/// How patient a session is.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The longest first wait after all controllers failed.
    pub redial_first: Duration,
    /// The longest wait of all. A session that lasted longer counts as a success.
    pub redial_cap: Duration,
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
    /// Who we are.
    pub about: About,
    /// How patiently.
    pub pace: Pace,
    /// What the node holds.
    pub board: watch::Receiver<Observed>,
    /// To the runner.
    pub words: mpsc::Sender<Word>,
    /// Reads job output.
    pub output: OutputReader,
    /// Tells the local socket which controller answers.
    pub answering: watch::Sender<usize>,
}

/// Why a session ended or did not begin.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error("failed to reach the controller")]
    Unreached(#[source] ClientError),
    #[error("the controller refuses this node: {0}")]
    Refused(String),
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
        let mut backoff = Backoff::new(self.pace.redial_first, self.pace.redial_cap);
        let mut last_trouble = String::new();
        for turn in 0.. {
            let position = turn % self.controllers.len();
            let begun = Instant::now();
            let error = self.hold(position).await;
            if self.words.send(Word::Suspend).await.is_err() {
                return;
            }
            if begun.elapsed() > self.pace.redial_cap {
                backoff.reset();
            }
            let trouble = with_causes(&error);
            let controller = &self.controllers[position];
            match (&error, trouble == last_trouble) {
                (SessionError::Refused(_), _) => tracing::error!("{controller}: {trouble}"),
                (_, true) => tracing::debug!("{controller}: {trouble}"),
                (_, false) => tracing::warn!("{controller}: {trouble}; jobs here go on"),
            }
            last_trouble = trouble;
            let went_round = position + 1 == self.controllers.len();
            let wait = match error {
                // Spread out as well: a thousand nodes may be refused by one mistake.
                SessionError::Refused(_) => self.pace.refused_wait.mul_f64(0.5 + fastrand::f64()),
                SessionError::Unreached(_) if !went_round => Duration::ZERO,
                _ => backoff.next(),
            };
            sleep(wait).await;
        }
    }

    /// One session from dialling to its end.
    async fn hold(&mut self, position: usize) -> SessionError {
        match self.begin(position).await {
            Ok((channel, told)) => self.talk(channel, told).await,
            Err(error) => error,
        }
    }

    /// Dials, says hello, and waits to be welcomed. Also returns what the controller now knows.
    async fn begin(
        &mut self,
        position: usize,
    ) -> Result<(Channel<FromNode, ToNode>, Observed), SessionError> {
        let endpoint = &self.controllers[position];
        let mut channel = connect_channel(endpoint, NODE_PATH, self.pace.keepalive)
            .await
            .map_err(SessionError::Unreached)?;
        // It answers: users may ask it, even if it will not have this node.
        self.answering.send_replace(position);
        let told = self.board.borrow_and_update().clone();
        let hello = FromNode::Hello(Box::new(self.hello(&told)));
        channel.send(&hello).await.map_err(|error| SessionError::Over(Some(error)))?;
        let limit = self.pace.welcome_limit;
        match timeout(limit, channel.recv()).await {
            Err(_) => Err(SessionError::NoWelcome(limit)),
            Ok(None) => Err(SessionError::Over(None)),
            Ok(Some(Err(error))) => Err(SessionError::Over(Some(error))),
            Ok(Some(Ok(ToNode::Refused { reason }))) => Err(SessionError::Refused(reason)),
            Ok(Some(Ok(ToNode::Welcome { protocol, cluster }))) => {
                tracing::info!(cluster, protocol, "welcomed by {endpoint}");
                Ok((channel, told))
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
        }
    }

    /// Reports and listens at once, so that neither end ever waits for the other to read.
    async fn talk(&self, channel: Channel<FromNode, ToNode>, told: Observed) -> SessionError {
        let (sender, receiver) = channel.split();
        tokio::select! {
            error = report(self.board.clone(), told, sender.clone()) => error,
            error = self.listen(receiver, sender) => error,
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
                Ok(ToNode::Welcome { .. }) => {}
                Err(error @ ChannelError::Undecodable { .. }) => {
                    tracing::warn!("ignored a message: {}", with_causes(&error));
                }
                Err(error) => reason = Some(error),
            }
        }
        SessionError::Over(reason)
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
