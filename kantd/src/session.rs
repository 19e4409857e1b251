//! The node's session with the controller: connects to one controller after the other, reports all
//! steps, then every change, and passes messages on to the runner. A lost connection affects no
//! job.

mod confirmation;
mod error;
mod key_generation;
mod leader_search;
mod reports;
mod rotation;

use crate::clock;
use crate::data_dirs::DataNames;
use crate::health::Findings;
use crate::output::OutputReader;
use crate::runner::RunnerMessage;
use crate::step::{LeaderContact, Steps, expire_leases};
use common::causes::with_causes;
use common::id::NodeName;
use common::node::Inventory;
use common::wire::Protocols;
use common::wire::node::{FromNode, Hello, NODE_PATH, NODE_PROTOCOLS, RouteOrder, ToNode};
use confirmation::Confirmations;
use error::{SessionError, ending, not_connected};
pub use key_generation::KeyGenerations;
use net::{
    Channel, ChannelError, ChannelReceiver, ChannelSender, Endpoint, Keepalive, connect_channel,
};
use node::Observed;
pub use reports::Measurements;
use reports::{report_phases, report_when_known};
use rotation::ControllerRotation;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// The node's description in every Hello.
#[derive(Debug, Clone)]
pub struct NodeInfo {
    pub name: NodeName,
    /// The address by which other nodes reach it.
    pub address: String,
    pub identity: String,
    pub inventory: Arc<Inventory>,
}

/// Time limits of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionTiming {
    /// The longest first wait after all controllers failed.
    pub redial_first: Duration,
    /// The longest wait. A session that lasted longer counts as a success.
    pub redial_cap: Duration,
    /// The longest wait if controllers answer but none leads, because elections are short.
    pub leaderless_cap: Duration,
    /// The wait after a refusal, which only an operator can resolve.
    pub refused_wait: Duration,
    /// Time limit of the answer to a Hello.
    pub welcome_limit: Duration,
    /// How long a request to the controller to confirm that it leads may stay unanswered before
    /// the node asks the others.
    pub confirm_limit: Duration,
    /// When a silent connection is closed.
    pub keepalive: Keepalive,
}

impl Default for SessionTiming {
    fn default() -> Self {
        Self {
            redial_first: Duration::from_millis(500),
            redial_cap: Duration::from_secs(15),
            leaderless_cap: Duration::from_secs(2),
            refused_wait: Duration::from_secs(60),
            welcome_limit: Duration::from_secs(15),
            confirm_limit: Duration::from_secs(2),
            keepalive: Keepalive::default(),
        }
    }
}

/// The inputs of the session.
#[derive(Debug)]
pub struct Session {
    /// The controllers, in the order in which to connect.
    pub controllers: Vec<Endpoint>,
    pub info: NodeInfo,
    pub timing: SessionTiming,
    /// The phases of the node's steps.
    pub observed: watch::Receiver<Observed>,
    pub health: Findings,
    pub data: DataNames,
    pub messages: mpsc::Sender<RunnerMessage>,
    pub output: OutputReader,
    /// Steps in which programs can be started, if there are any.
    pub steps: Option<Steps>,
    /// Where supervisors read when a leader was last confirmed, if there are any.
    pub leader_contact: Option<LeaderContact>,
    pub measurements: Measurements,
    /// Takes the services for a router on this node, if there is one.
    pub routes: Option<watch::Sender<Vec<RouteOrder>>>,
    /// The steps of the replacements of the cluster key.
    pub key_generations: KeyGenerations,
    /// Informs the local socket which controller this node has a session with.
    pub session_controller: watch::Sender<Option<Endpoint>>,
}

/// A session that has begun.
struct Connected {
    controller: Endpoint,
    channel: Channel<FromNode, ToNode>,
    /// The phases that the controller knows.
    reported: Observed,
    confirmations: Confirmations,
}

/// What follows a session.
enum Outcome {
    Ended(SessionError),
    /// Another controller leads, and the session with it has begun.
    Moved(Connected),
}

impl Session {
    /// Holds one session after the other, until the runner is gone.
    pub async fn run(self) {
        let mut rotation = ControllerRotation::new(self.controllers.clone(), self.timing);
        let mut last_trouble = String::new();
        loop {
            let controller = rotation.next();
            let begun = Instant::now();
            let (controller, error) = self.run_session(controller).await;
            self.session_controller.send_replace(None);
            if self.messages.send(RunnerMessage::Suspend).await.is_err() {
                return;
            }
            let trouble = with_causes(&error);
            match (&error, trouble == last_trouble) {
                (SessionError::Refused(_), _) => tracing::error!("{controller}: {trouble}"),
                (_, true) => tracing::debug!("{controller}: {trouble}"),
                (_, false) => tracing::warn!("{controller}: {trouble}; jobs on this node run on"),
            }
            last_trouble = trouble;
            sleep(rotation.wait_after(ending(error), begun.elapsed())).await;
        }
    }

    /// One session from the connection to its end, and those that replace it without a gap.
    /// Returns the last controller.
    async fn run_session(&self, first: Endpoint) -> (Endpoint, SessionError) {
        let mut connected = match self.connect(&first).await {
            Ok(connected) => connected,
            Err(error) => return (first, error),
        };
        loop {
            let controller = connected.controller.clone();
            self.session_controller.send_replace(Some(controller.clone()));
            match self.exchange(connected).await {
                Outcome::Ended(error) => return (controller, error),
                Outcome::Moved(next) => {
                    tracing::warn!("{controller} is silent, and {} leads", next.controller);
                    if self.messages.send(RunnerMessage::Suspend).await.is_err() {
                        return (controller, SessionError::RunnerGone);
                    }
                    connected = next;
                }
            }
        }
    }

    /// Connects, sends a Hello, and waits for the Welcome. The controller has the node's
    /// registration on a majority of disks, so the Welcome confirms that it leads.
    async fn connect(&self, endpoint: &Endpoint) -> Result<Connected, SessionError> {
        let mut channel = connect_channel(endpoint, NODE_PATH, self.timing.keepalive)
            .await
            .map_err(not_connected)?;
        let reported = self.observed.borrow().clone();
        let asked_at = clock::uptime();
        let generation = *self.key_generations.held.borrow();
        let hello = FromNode::Hello(Box::new(self.hello(&reported, generation)));
        channel.send(&hello).await.map_err(|error| SessionError::Over(Some(error)))?;
        let limit = self.timing.welcome_limit;
        match timeout(limit, channel.recv()).await {
            Err(_) => Err(SessionError::NoWelcome(limit)),
            Ok(None) => Err(SessionError::Over(None)),
            Ok(Some(Err(error))) => Err(SessionError::Over(Some(error))),
            Ok(Some(Ok(ToNode::Refused { reason }))) => Err(SessionError::Refused(reason)),
            Ok(Some(Ok(ToNode::NotLeader { leader }))) => Err(SessionError::NotLeader(leader)),
            Ok(Some(Ok(ToNode::Welcome { protocol, cluster, fence }))) => {
                if NODE_PROTOCOLS.newest_common(Protocols::only(protocol)).is_none() {
                    return Err(SessionError::NotAWelcome);
                }
                tracing::info!(cluster, protocol, "welcomed by {endpoint}");
                let contact = self.leader_contact.clone();
                let confirmations = Confirmations::new(contact, fence, asked_at);
                let controller = endpoint.clone();
                Ok(Connected { controller, channel, reported, confirmations })
            }
            Ok(Some(Ok(_))) => Err(SessionError::NotAWelcome),
        }
    }

    fn hello(&self, holds: &Observed, key_generation: u32) -> Hello {
        Hello {
            protocol: NODE_PROTOCOLS.newest,
            oldest_protocol: NODE_PROTOCOLS.announced_oldest(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.info.name.clone(),
            address: self.info.address.clone(),
            identity: self.info.identity.clone(),
            inventory: Inventory::clone(&self.info.inventory),
            steps: holds.statuses(),
            starts_tasks: self.steps.is_some(),
            routes: self.routes.is_some(),
            key_generation,
        }
    }

    /// Sends and receives concurrently, so that neither end waits for the other to read.
    async fn exchange(&self, session: Connected) -> Outcome {
        let Connected { controller, channel, reported, confirmations } = session;
        let (sender, receiver) = channel.split();
        let error = tokio::select! {
            next = self.find_other_leader(&controller, &confirmations) => {
                return Outcome::Moved(next);
            }
            error = report_phases(self.observed.clone(), reported, sender.clone()) => error,
            error = report_when_known(self.health.clone(), FromNode::Health, &sender) => error,
            error = report_when_known(self.data.clone(), FromNode::Data, &sender) => error,
            error = self.measurements.clone().report(sender.clone()) => error,
            error = self.key_generations.clone().report(sender.clone()) => error,
            error = self.listen(receiver, sender.clone(), &confirmations) => error,
            error = confirmations.ask(sender.clone()) => error,
            never = expire_leases(self.steps.as_ref()) => match never {},
        };
        Outcome::Ended(error)
    }

    async fn listen(
        &self,
        mut receiver: ChannelReceiver<ToNode>,
        sender: ChannelSender<FromNode>,
        confirmations: &Confirmations,
    ) -> SessionError {
        // Dropped with the session, and all pending requests with it.
        let mut requests = JoinSet::new();
        let mut reason = None;
        while let Some(message) = receiver.recv().await {
            while requests.try_join_next().is_some() {}
            match message {
                Ok(ToNode::Desired(update)) => {
                    if self.messages.send(RunnerMessage::Desired(update)).await.is_err() {
                        return SessionError::RunnerGone;
                    }
                }
                Ok(ToNode::ReadOutput(request)) => {
                    let (output, sender) = (self.output.clone(), sender.clone());
                    requests.spawn(async move {
                        let chunk = output.answer(request).await;
                        // Without a session the answer is not needed.
                        let _ = sender.send(&FromNode::Output(chunk)).await;
                    });
                }
                Ok(ToNode::Refused { reason }) => return SessionError::Refused(reason),
                Ok(ToNode::NotLeader { leader }) => return SessionError::NotLeader(leader),
                Ok(ToNode::Welcome { .. }) => {}
                Ok(ToNode::KeyGeneration { generation }) => {
                    self.key_generations.raise_wanted(generation)
                }
                Ok(ToNode::LeaderConfirmed { number }) => confirmations.note_answer(number),
                Ok(ToNode::Routes(routes)) => {
                    self.routes.iter().for_each(|sender| drop(sender.send_replace(routes.clone())));
                }
                Ok(request) => {
                    let (steps, sender) = (self.steps.clone(), sender.clone());
                    requests.spawn(async move {
                        let Some(steps) = steps else { return };
                        if let Some(answer) = steps.answer(request).await {
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
