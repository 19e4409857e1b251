//! The node channel: typed messages both ways over one WebSocket that knows when it is dead.
//!
//! A message is one binary frame of MessagePack with field names, so that fields can be added
//! without a flag day. The channel never acknowledges, repeats or reorders: desired state is sent
//! again on the next connection, and whoever needs to know numbers its messages.

mod pump;

use std::marker::PhantomData;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::{client::generate_key, derive_accept_key};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::client::{Client, ClientError, Endpoint};
use pump::{Outgoing, Pings, pump};

/// How long a good-bye may take.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(2);
const UPGRADE_LIMIT: Duration = Duration::from_secs(10);
/// A node's full job list fits many times over.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// The library's default of 128 KiB each way would cost ten thousand nodes over a gigabyte.
const BUFFER_BYTES: usize = 4 << 10;
/// Messages waiting each way before the sender waits too.
const QUEUE_MESSAGES: usize = 32;

/// One end of a channel: sends `Out`, receives `In`.
#[derive(Debug)]
pub struct Channel<Out, In> {
    sender: ChannelSender<Out>,
    receiver: ChannelReceiver<In>,
}

/// The sending half. Clones send on the same channel; it closes when the last one is dropped.
#[derive(Debug)]
pub struct ChannelSender<Out> {
    queue: mpsc::Sender<Outgoing>,
    _message: PhantomData<fn(Out)>,
}

/// The receiving half. The channel closes when it is dropped.
#[derive(Debug)]
pub struct ChannelReceiver<In> {
    queue: mpsc::Receiver<Result<Bytes, ChannelError>>,
    _message: PhantomData<fn() -> In>,
}

/// When to ask whether the peer still lives, and when to believe that it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Who opened the channel sends a ping this often; who accepted it, where nothing came for half
    /// as long again.
    pub ping_interval: Duration,
    /// A peer from which nothing at all has come for this long is gone.
    pub silence_limit: Duration,
}

impl Default for Keepalive {
    fn default() -> Self {
        // Two pings fit into the silence that is borne; more of ten thousand peers are a load.
        Self { ping_interval: Duration::from_secs(8), silence_limit: Duration::from_secs(20) }
    }
}

/// What went wrong on a channel.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The message cannot be written as MessagePack.
    #[error("failed to encode a message")]
    Unencodable(#[source] rmp_serde::encode::Error),
    /// The message is larger than any peer accepts.
    #[error("failed to send a message of {bytes} bytes: {MESSAGE_BYTES_MAX} is the limit")]
    TooLarge { bytes: usize },
    /// The channel is over; the receiving half knows why.
    #[error("failed to send a message: the channel is over")]
    Over,
    /// A message of unknown form came, and was dropped. The channel goes on.
    #[error("failed to decode a message of {bytes} bytes: is the peer of another version?")]
    Undecodable {
        bytes: usize,
        /// What is wrong with it.
        #[source]
        source: rmp_serde::decode::Error,
    },
    /// The peer closed the channel and said why.
    #[error("the peer closed the channel: {reason}")]
    Closed { reason: String },
    /// Nothing came from the peer, not even an answer to a ping.
    #[error("nothing was heard from the peer for {limit_seconds} s")]
    Silent {
        /// The limit it broke.
        limit_seconds: f32,
    },
    #[error("lost the connection to the peer")]
    Lost {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl<Out: Serialize, In: DeserializeOwned> Channel<Out, In> {
    /// Sends a message: [`ChannelSender::send`].
    pub async fn send(&self, message: &Out) -> Result<(), ChannelError> {
        self.sender.send(message).await
    }

    /// Waits for a message: [`ChannelReceiver::recv`].
    pub async fn recv(&mut self) -> Option<Result<In, ChannelError>> {
        self.receiver.recv().await
    }

    /// Both halves, for two tasks. The channel closes when either is dropped.
    pub fn split(self) -> (ChannelSender<Out>, ChannelReceiver<In>) {
        (self.sender, self.receiver)
    }

    /// Says good-bye with a reason (at most 123 bytes of it arrive), and waits until it is said.
    pub async fn close(mut self, reason: &str) {
        self.sender.close(reason).await;
        while self.receiver.queue.recv().await.is_some() {}
    }
}

impl<Out: Serialize> ChannelSender<Out> {
    /// Queues a message; waits while the queue is full. Returning says that it was queued, not
    /// that it arrived.
    pub async fn send(&self, message: &Out) -> Result<(), ChannelError> {
        let data = rmp_serde::to_vec_named(message).map_err(ChannelError::Unencodable)?;
        if data.len() > MESSAGE_BYTES_MAX {
            return Err(ChannelError::TooLarge { bytes: data.len() });
        }
        let outgoing = Outgoing::Message(data.into());
        self.queue.send(outgoing).await.map_err(|_| ChannelError::Over)
    }

    /// Closes the channel after what is queued, telling the peer why.
    pub async fn close(&self, reason: &str) {
        // A channel that is over already needs no closing.
        let _ = self.queue.send(Outgoing::Close(reason.to_owned())).await;
    }
}

impl<Out> Clone for ChannelSender<Out> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), _message: PhantomData }
    }
}

impl<In: DeserializeOwned> ChannelReceiver<In> {
    /// The next message; `None` once the channel is over.
    ///
    /// After [`ChannelError::Undecodable`] the channel goes on; any other error is the last word.
    /// Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Option<Result<In, ChannelError>> {
        let data = match self.queue.recv().await? {
            Ok(data) => data,
            Err(error) => return Some(Err(error)),
        };
        Some(
            rmp_serde::from_slice(&data)
                .map_err(|source| ChannelError::Undecodable { bytes: data.len(), source }),
        )
    }
}

/// Accepts a channel in an axum handler; `serve` gets it once the response is out. What goes
/// through it is worked on by the threads of `on`.
pub fn accept_channel<Out, In, F, Fut>(
    upgrade: WebSocketUpgrade,
    keepalive: Keepalive,
    on: Handle,
    serve: F,
) -> Response
where
    Out: 'static,
    In: 'static,
    F: FnOnce(Channel<Out, In>) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    upgrade
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .on_upgrade(move |socket| {
            let (channel, ends) = pair();
            on.spawn(pump(socket, ends.outgoing, ends.incoming, (keepalive, Pings::InSilence)));
            on.spawn(serve(channel));
            std::future::ready(())
        })
}

/// Opens a channel to the handler at `path`.
///
/// A handler that refuses instead gives [`ClientError::Refused`] with its reason.
pub async fn connect_channel<Out, In>(
    endpoint: &Endpoint,
    path: &str,
    keepalive: Keepalive,
) -> Result<Channel<Out, In>, ClientError> {
    let client = Client::new(endpoint.clone()).with_answer_limit(Some(UPGRADE_LIMIT));
    let key = generate_key();
    let response = client.send(upgrade_request(path, &key)?).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(match response.status().is_success() {
            true => client.broken(format!("{path} is not a channel")),
            false => client.refusal_in(response).await,
        });
    }
    let expected = derive_accept_key(key.as_bytes());
    if response.headers().get(header::SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes)
        != Some(expected.as_bytes())
    {
        return Err(client.broken("the WebSocket handshake does not fit"));
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| client.interrupted(error))?;
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, Some(config)).await;
    let (channel, ends) = pair();
    tokio::spawn(pump(socket, ends.outgoing, ends.incoming, (keepalive, Pings::Always)));
    Ok(channel)
}

fn upgrade_request(path: &str, key: &str) -> Result<Request<Body>, ClientError> {
    Request::get(path)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, key)
        .body(Body::empty())
        .map_err(|source| ClientError::Unaskable { path: path.to_owned(), source: source.into() })
}

/// What the pump holds of a channel.
struct Ends {
    outgoing: mpsc::Receiver<Outgoing>,
    incoming: mpsc::Sender<Result<Bytes, ChannelError>>,
}

fn pair<Out, In>() -> (Channel<Out, In>, Ends) {
    let (out_queue, outgoing) = mpsc::channel(QUEUE_MESSAGES);
    let (incoming, in_queue) = mpsc::channel(QUEUE_MESSAGES);
    let channel = Channel {
        sender: ChannelSender { queue: out_queue, _message: PhantomData },
        receiver: ChannelReceiver { queue: in_queue, _message: PhantomData },
    };
    (channel, Ends { outgoing, incoming })
}
