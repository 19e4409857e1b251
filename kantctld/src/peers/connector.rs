//! The outgoing connection to one other controller: connects, reconnects, and sends messages.
//! Snapshots use separate connections, so that they do not delay other messages.

use super::links::Link;
use super::{KEEPALIVE, Peers, chunked_transfer};
use crate::raft::{PeerMessage, ThreadMachine};
use crate::release::WITH_PEERS;
use common::causes::with_causes;
use common::id::ControllerId;
use common::wire::Protocols;
use common::wire::peer::{FromPeer, LetterHead, PEER_PATH, PeerReport, ToPeer};
use net::{Backoff, Channel, ChannelError, ClientError, Endpoint, connect_channel};
use serde_bytes::ByteBuf;
use state::LEVELS;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};

const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_CAP: Duration = Duration::from_secs(2);
/// A refusal lasts until an operator changes something.
const REFUSED_CAP: Duration = Duration::from_secs(10);
/// A connection that lasted this long resets the backoff.
const LASTED: Duration = Duration::from_secs(5);
/// The longest wait for the answer to a hello.
const WELCOME_LIMIT: Duration = Duration::from_secs(5);
/// The period of reports: a received one counts for a few times as long.
const REPORT_PERIOD: Duration = Duration::from_secs(1);
/// The most queued messages; more are dropped, and the log slows down.
const QUEUE_MAX: usize = 1024;
/// The approximate limit on messages sent together, in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// The channel of an outgoing connection.
pub(super) type Out = Channel<ToPeer, FromPeer>;

/// Why a connection ended or was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("failed to connect")]
    Unreachable(#[source] ClientError),
    #[error("{reason}")]
    Refused { code: String, reason: String },
    #[error("it did not answer within {} s", WELCOME_LIMIT.as_secs())]
    NoWelcome,
    #[error("it sent an unexpected answer: does it run another version?")]
    UnexpectedAnswer,
    #[error("the connection ended")]
    Ended(#[source] Option<ChannelError>),
}

impl ConnectionError {
    /// Errors of one kind are logged once.
    fn kind(&self) -> String {
        match self {
            Self::Refused { code, .. } => code.clone(),
            other => with_causes(other),
        }
    }
}

pub(super) struct Connector<M: ThreadMachine> {
    pub peers: Arc<Peers<M>>,
    pub to: ControllerId,
    pub address: String,
    pub wakeup: Arc<Notify>,
}

impl<M: ThreadMachine> Connector<M> {
    /// Runs until dropped.
    pub async fn run(self) {
        // A snapshot of an earlier connector was dropped with it.
        self.peers.log.note_snapshot_carried(self.to, false);
        let (snapshots, snapshots_due) = mpsc::channel(1);
        let snapshots_sent = self.send_snapshots(snapshots_due);
        let messages = self.send_messages(snapshots);
        tokio::join!(snapshots_sent, messages);
    }

    async fn send_messages(&self, snapshots: mpsc::Sender<PeerMessage>) {
        let mut backoff = Backoff::new(WAIT_FIRST, WAIT_CAP);
        let mut refused_backoff = Backoff::new(WAIT_CAP, REFUSED_CAP);
        let mut last_error = None;
        loop {
            let began = Instant::now();
            let mut welcome = false;
            let error = self.run_connection(&snapshots, &mut welcome).await;
            if welcome {
                self.peers.log.note_unreachable(self.to);
                last_error = None;
            }
            self.log_error(&error, &mut last_error);
            if began.elapsed() >= LASTED {
                backoff.reset();
                refused_backoff.reset();
            }
            let refused = matches!(error, ConnectionError::Refused { .. });
            let wait = if refused { refused_backoff.next() } else { backoff.next() };
            let woken = async {
                match refused {
                    true => std::future::pending().await,
                    false => self.wakeup.notified().await,
                }
            };
            let _ = timeout(wait, woken).await;
        }
    }

    fn log_error(&self, error: &ConnectionError, last: &mut Option<String>) {
        let (kind, to, address) = (error.kind(), self.to, &self.address);
        let text = with_causes(error);
        match (error, last.as_ref() == Some(&kind)) {
            (_, true) => tracing::debug!("controller {to} at {address}: {text}"),
            (ConnectionError::Refused { .. }, false) => {
                tracing::error!("controller {to} at {address} refuses messages: {text}");
            }
            (_, false) => tracing::warn!("controller {to} at {address}: {text}"),
        }
        *last = Some(kind);
    }

    /// Runs one connection to its end.
    async fn run_connection(
        &self,
        snapshots: &mpsc::Sender<PeerMessage>,
        welcome: &mut bool,
    ) -> ConnectionError {
        let (channel, protocol) = match self.connect(None).await {
            Ok(connected) => connected,
            Err(error) => return error,
        };
        *welcome = true;
        tracing::info!(
            "connected to controller {} at {}, protocol {protocol}",
            self.to,
            self.address
        );
        let (queue, mut messages) = mpsc::channel(QUEUE_MAX);
        let link = Link { messages: queue, snapshots: snapshots.clone() };
        let _open = self.peers.links.open(self.to, link);
        let (sender, mut receiver) = channel.split();
        let mut report_due = tokio::time::interval(REPORT_PERIOD);
        loop {
            tokio::select! {
                _ = report_due.tick() => {
                    if sender.send(&ToPeer::Report(self.report())).await.is_err() {
                        return end_reason(receiver.recv().await);
                    }
                }
                message = messages.recv() => {
                    let Some(message) = message else { return ConnectionError::Ended(None) };
                    let batch = pack_messages(message, &mut messages);
                    if sender.send(&ToPeer::Letters(batch)).await.is_err() {
                        // The receiving half has the reason.
                        return end_reason(receiver.recv().await);
                    }
                }
                message = receiver.recv() => return end_reason(message),
            }
        }
    }

    fn report(&self) -> PeerReport {
        let (leads, sum) = {
            let status = self.peers.log.status();
            let status = status.borrow();
            (status.leads, status.sum)
        };
        let clock = &self.peers.clock;
        let cluster = leads.then(|| clock.now());
        PeerReport { wall: clock.wall(), cluster, levels: LEVELS, sum }
    }

    /// Connects and sends a hello. Returns the channel and the version of the protocol.
    pub(super) async fn connect(
        &self,
        snapshot: Option<LetterHead>,
    ) -> Result<(Out, u32), ConnectionError> {
        let identity = self.peers.identity.clone();
        let endpoint = Endpoint::Tls { addr: self.address.clone(), identity };
        let mut channel: Out = connect_channel(&endpoint, PEER_PATH, KEEPALIVE)
            .await
            .map_err(ConnectionError::Unreachable)?;
        let hello = self.peers.local.hello(self.to, self.peers.clock.wall(), snapshot);
        let sent = channel.send(&ToPeer::Hello(Box::new(hello))).await;
        sent.map_err(|error| ConnectionError::Ended(Some(error)))?;
        match timeout(WELCOME_LIMIT, channel.recv()).await {
            Err(_) => Err(ConnectionError::NoWelcome),
            Ok(Some(Ok(FromPeer::Welcome { protocol, .. }))) => {
                let protocol = protocol.unwrap_or(WITH_PEERS.newest);
                match WITH_PEERS.newest_common(Protocols::only(protocol)) {
                    Some(protocol) => Ok((channel, protocol)),
                    None => Err(ConnectionError::UnexpectedAnswer),
                }
            }
            Ok(message) => Err(end_reason(message)),
        }
    }

    /// Sends snapshots one by one, each on its own connection.
    async fn send_snapshots(&self, mut due: mpsc::Receiver<PeerMessage>) {
        while let Some(message) = due.recv().await {
            let bytes = message.bytes.len();
            let carried = chunked_transfer::send_chunked(self, &message.bytes).await;
            match &carried {
                Ok(()) => {
                    tracing::info!("sent a snapshot of {bytes} bytes to controller {}", self.to);
                }
                Err(error) => tracing::warn!(
                    "failed to send a snapshot of {bytes} bytes to controller {}: {}",
                    self.to,
                    with_causes(error)
                ),
            }
            self.peers.log.note_snapshot_carried(self.to, carried.is_ok());
        }
    }
}

/// Why the connection ended, given an unexpected message or its end.
pub(super) fn end_reason(message: Option<Result<FromPeer, ChannelError>>) -> ConnectionError {
    match message {
        Some(Ok(FromPeer::Refused { code, reason })) => ConnectionError::Refused { code, reason },
        Some(Ok(_)) => ConnectionError::UnexpectedAnswer,
        Some(Err(error)) => ConnectionError::Ended(Some(error)),
        None => ConnectionError::Ended(None),
    }
}

/// Packs queued messages into one.
fn pack_messages(first: PeerMessage, queue: &mut mpsc::Receiver<PeerMessage>) -> Vec<ByteBuf> {
    let mut bytes = first.bytes.len();
    let mut batch = vec![ByteBuf::from(first.bytes)];
    while bytes < BATCH_BYTES
        && let Ok(message) = queue.try_recv()
    {
        bytes += message.bytes.len();
        batch.push(ByteBuf::from(message.bytes));
    }
    batch
}
