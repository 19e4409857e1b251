//! Dials one other controller, again and again, and sends it letters. Never says the same trouble
//! twice in a row, and never lets a snapshot hold up other letters.

use super::lines::Line;
use super::{KEEPALIVE, Peers, parcel};
use crate::raft::{Driven, Letter};
use crate::settings::with_causes;
use common::id::ControllerId;
use common::wire::peer::{FromPeer, LetterHead, PEER_PATH, PeerClock, ToPeer};
use net::{Backoff, Channel, ChannelError, ClientError, Endpoint, connect_channel};
use serde_bytes::ByteBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};

const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_CAP: Duration = Duration::from_secs(2);
/// Only an operator can change what a controller is refused for.
const REFUSED_CAP: Duration = Duration::from_secs(10);
/// A connection that lasted so long was a success.
const LASTED: Duration = Duration::from_secs(5);
/// For the answer to a hello.
const WELCOME_LIMIT: Duration = Duration::from_secs(5);
/// Between two tellings of the time: what was heard counts for ten times as long.
const CLOCK_PERIOD: Duration = Duration::from_secs(1);
/// Letters that wait to be sent; more are dropped, and the log slows down.
const LETTERS_MAX: usize = 1024;
/// Letters sent together weigh about so much at most, in bytes.
const PACK_BYTES: usize = 4 << 20;

/// The channel of one who dials.
pub(super) type Out = Channel<ToPeer, FromPeer>;

/// Why a connection ended or did not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("failed to reach it")]
    Unreached(#[source] ClientError),
    #[error("{reason}")]
    Refused { code: String, reason: String },
    #[error("it did not answer within {} s", WELCOME_LIMIT.as_secs())]
    NoWelcome,
    #[error("it answered with something else than was asked: is it of another version?")]
    NotAnAnswer,
    #[error("the connection ended")]
    Over(#[source] Option<ChannelError>),
}

impl Trouble {
    /// Two of one kind are the same to a reader of the log.
    fn kind(&self) -> String {
        match self {
            Self::Refused { code, .. } => code.clone(),
            other => with_causes(other),
        }
    }
}

pub(super) struct Dialler<M: Driven> {
    pub peers: Arc<Peers<M>>,
    pub to: ControllerId,
    pub address: String,
    pub poke: Arc<Notify>,
}

impl<M: Driven> Dialler<M> {
    /// Runs until it is dropped.
    pub async fn run(self) {
        // One that an earlier dialler was carrying went with it.
        self.peers.log.note_snapshot_carried(self.to, false);
        let (snapshots, snapshots_due) = mpsc::channel(1);
        let parcels = self.carry_snapshots(snapshots_due);
        let letters = self.carry_letters(snapshots);
        tokio::join!(parcels, letters);
    }

    async fn carry_letters(&self, snapshots: mpsc::Sender<Letter>) {
        let mut backoff = Backoff::new(WAIT_FIRST, WAIT_CAP);
        let mut refused_backoff = Backoff::new(WAIT_CAP, REFUSED_CAP);
        let mut last_trouble = None;
        loop {
            let began = Instant::now();
            let mut welcome = false;
            let trouble = self.hold(&snapshots, &mut welcome).await;
            if welcome {
                self.peers.log.note_unreachable(self.to);
                last_trouble = None;
            }
            self.say(&trouble, &mut last_trouble);
            if began.elapsed() >= LASTED {
                backoff.reset();
                refused_backoff.reset();
            }
            let refused = matches!(trouble, Trouble::Refused { .. });
            let wait = if refused { refused_backoff.next() } else { backoff.next() };
            let poked = async {
                match refused {
                    true => std::future::pending().await,
                    false => self.poke.notified().await,
                }
            };
            let _ = timeout(wait, poked).await;
        }
    }

    fn say(&self, trouble: &Trouble, last: &mut Option<String>) {
        let (kind, to, address) = (trouble.kind(), self.to, &self.address);
        let text = with_causes(trouble);
        match (trouble, last.as_ref() == Some(&kind)) {
            (_, true) => tracing::debug!("controller {to} at {address}: {text}"),
            (Trouble::Refused { .. }, false) => {
                tracing::error!("controller {to} at {address} takes no letters: {text}");
            }
            (_, false) => tracing::warn!("controller {to} at {address}: {text}"),
        }
        *last = Some(kind);
    }

    /// One connection from dialling to its end.
    async fn hold(&self, snapshots: &mpsc::Sender<Letter>, welcome: &mut bool) -> Trouble {
        let channel = match self.dial(None).await {
            Ok(channel) => channel,
            Err(trouble) => return trouble,
        };
        *welcome = true;
        tracing::info!("connected to controller {} at {}", self.to, self.address);
        let (queue, mut letters) = mpsc::channel(LETTERS_MAX);
        let line = Line { letters: queue, snapshots: snapshots.clone() };
        let _open = self.peers.lines.open(self.to, line);
        let (sender, mut receiver) = channel.split();
        let mut clock_due = tokio::time::interval(CLOCK_PERIOD);
        loop {
            tokio::select! {
                _ = clock_due.tick() => {
                    if sender.send(&ToPeer::Clock(self.clock())).await.is_err() {
                        return ending(receiver.recv().await);
                    }
                }
                letter = letters.recv() => {
                    let Some(letter) = letter else { return Trouble::Over(None) };
                    let pack = gather(letter, &mut letters);
                    if sender.send(&ToPeer::Letters(pack)).await.is_err() {
                        // The receiving half knows why.
                        return ending(receiver.recv().await);
                    }
                }
                message = receiver.recv() => return ending(message),
            }
        }
    }

    fn clock(&self) -> PeerClock {
        let leads = self.peers.log.status().borrow().leads;
        let clock = &self.peers.clock;
        PeerClock { wall: clock.wall(), cluster: leads.then(|| clock.now()) }
    }

    /// Dials and says hello.
    pub(super) async fn dial(&self, snapshot: Option<LetterHead>) -> Result<Out, Trouble> {
        let identity = self.peers.identity.clone();
        let endpoint = Endpoint::Tls { addr: self.address.clone(), identity };
        let mut channel: Out =
            connect_channel(&endpoint, PEER_PATH, KEEPALIVE).await.map_err(Trouble::Unreached)?;
        let hello = self.peers.me.hello(self.to, self.peers.clock.wall(), snapshot);
        let sent = channel.send(&ToPeer::Hello(Box::new(hello))).await;
        sent.map_err(|error| Trouble::Over(Some(error)))?;
        match timeout(WELCOME_LIMIT, channel.recv()).await {
            Err(_) => Err(Trouble::NoWelcome),
            Ok(Some(Ok(FromPeer::Welcome { .. }))) => Ok(channel),
            Ok(message) => Err(ending(message)),
        }
    }

    /// One after the other, each on a connection of its own.
    async fn carry_snapshots(&self, mut due: mpsc::Receiver<Letter>) {
        while let Some(letter) = due.recv().await {
            let bytes = letter.bytes.len();
            let carried = parcel::carry(self, &letter.bytes).await;
            match &carried {
                Ok(()) => {
                    tracing::info!("controller {} has a snapshot of {bytes} bytes", self.to);
                }
                Err(trouble) => tracing::warn!(
                    "failed to carry a snapshot of {bytes} bytes to controller {}: {}",
                    self.to,
                    with_causes(trouble)
                ),
            }
            self.peers.log.note_snapshot_carried(self.to, carried.is_ok());
        }
    }
}

/// What an unexpected message, or none, means.
pub(super) fn ending(message: Option<Result<FromPeer, ChannelError>>) -> Trouble {
    match message {
        Some(Ok(FromPeer::Refused { code, reason })) => Trouble::Refused { code, reason },
        Some(Ok(_)) => Trouble::NotAnAnswer,
        Some(Err(error)) => Trouble::Over(Some(error)),
        None => Trouble::Over(None),
    }
}

/// What else waits goes out in the same message.
fn gather(first: Letter, queue: &mut mpsc::Receiver<Letter>) -> Vec<ByteBuf> {
    let mut bytes = first.bytes.len();
    let mut pack = vec![ByteBuf::from(first.bytes)];
    while bytes < PACK_BYTES
        && let Ok(letter) = queue.try_recv()
    {
        bytes += letter.bytes.len();
        pack.push(ByteBuf::from(letter.bytes));
    }
    pack
}
