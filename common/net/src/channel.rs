//! The node channel: typed messages in both directions over one WebSocket, with detection of a dead
//! peer.
//!
//! A message is one binary frame of MessagePack with field names, so that fields can be added
//! compatibly. The channel has no acknowledgements and no retries: state is sent again on the next
//! connection, and protocols that need more number their messages.

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

/// The time limit of a close handshake.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(2);
const UPGRADE_LIMIT: Duration = Duration::from_secs(10);
/// Many times the size of a node's full job list.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// The library's default of 128 KiB per direction would take over a gigabyte for ten thousand
/// nodes.
const BUFFER_BYTES: usize = 4 << 10;
/// The number of queued messages per direction before the sender waits.
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

/// The intervals for detecting a dead peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// The interval of pings from the side that opened the channel. The other side pings only after
    /// one and a half intervals without a message.
    pub ping_interval: Duration,
    /// A peer is considered dead after this time without any message.
    pub silence_limit: Duration,
}

impl Default for Keepalive {
    fn default() -> Self {
        // The limit leaves time for two pings; more pings of ten thousand peers are a load.
        Self { ping_interval: Duration::from_secs(8), silence_limit: Duration::from_secs(20) }
    }
}

#[derive(Debug, Error)]
pub enum ChannelError {
    #[error("failed to encode a message")]
    Unencodable(#[source] rmp_serde::encode::Error),
    /// No peer accepts so large a message.
    #[error("failed to send a message of {bytes} bytes: {MESSAGE_BYTES_MAX} is the limit")]
    TooLarge { bytes: usize },
    /// The channel is closed; the receiving half has the reason.
    #[error("failed to send a message: the channel is closed")]
    Over,
    /// A message of unknown form arrived and was dropped. The channel stays open.
    #[error("failed to decode a message of {bytes} bytes: is the peer of another version?")]
    Undecodable {
        bytes: usize,
        #[source]
        source: rmp_serde::decode::Error,
    },
    /// The peer closed the channel with a reason.
    #[error("the peer closed the channel: {reason}")]
    Closed { reason: String },
    /// Nothing arrived from the peer, not even the answer to a ping.
    #[error("nothing was received from the peer for {limit_seconds} s")]
    Silent { limit_seconds: f32 },
    #[error("lost the connection to the peer")]
    Lost {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl<Out: Serialize, In: DeserializeOwned> Channel<Out, In> {
    /// See [`ChannelSender::send`].
    pub async fn send(&self, message: &Out) -> Result<(), ChannelError> {
        self.sender.send(message).await
    }

    /// See [`ChannelReceiver::recv`].
    pub async fn recv(&mut self) -> Option<Result<In, ChannelError>> {
        self.receiver.recv().await
    }

    /// Splits the channel for two tasks. It closes when either half is dropped.
    pub fn split(self) -> (ChannelSender<Out>, ChannelReceiver<In>) {
        (self.sender, self.receiver)
    }

    /// Closes the channel with a reason, truncated to 123 bytes, and waits until it is sent.
    pub async fn close(mut self, reason: &str) {
        self.sender.close(reason).await;
        while self.receiver.queue.recv().await.is_some() {}
    }
}

impl<Out: Serialize> ChannelSender<Out> {
    /// Queues a message; waits while the queue is full. The message may not have arrived on return.
    pub async fn send(&self, message: &Out) -> Result<(), ChannelError> {
        let data = rmp_serde::to_vec_named(message).map_err(ChannelError::Unencodable)?;
        if data.len() > MESSAGE_BYTES_MAX {
            return Err(ChannelError::TooLarge { bytes: data.len() });
        }
        let outgoing = Outgoing::Message(data.into());
        self.queue.send(outgoing).await.map_err(|_| ChannelError::Over)
    }

    /// Closes the channel after the queued messages, with a reason for the peer.
    pub async fn close(&self, reason: &str) {
        // A channel that is closed already needs no closing.
        let _ = self.queue.send(Outgoing::Close(reason.to_owned())).await;
    }
}

impl<Out> Clone for ChannelSender<Out> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), _message: PhantomData }
    }
}

impl<In: DeserializeOwned> ChannelReceiver<In> {
    /// The next message; `None` once the channel is closed.
    ///
    /// After [`ChannelError::Undecodable`] the channel stays open; any other error is the last
    /// item. The future can be dropped without losing a message.
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

/// Accepts a channel in an axum handler; `serve` receives it once the response is sent. The runtime
/// `on` processes its messages.
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
            on.spawn(pump(socket, ends.outgoing, ends.incoming, keepalive, Pings::InSilence));
            on.spawn(serve(channel));
            std::future::ready(())
        })
}

/// Opens a channel to the handler at `path`.
///
/// If the handler refuses, the error is [`ClientError::Refused`] with its reason.
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
            true => client.broken_error(format!("{path} is not a channel")),
            false => client.read_refusal(response).await,
        });
    }
    let expected = derive_accept_key(key.as_bytes());
    if response.headers().get(header::SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes)
        != Some(expected.as_bytes())
    {
        return Err(client.broken_error("the WebSocket handshake is invalid"));
    }
    let upgraded =
        hyper::upgrade::on(response).await.map_err(|error| client.interrupted_error(error))?;
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let socket =
        WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, Some(config)).await;
    let (channel, ends) = pair();
    tokio::spawn(pump(socket, ends.outgoing, ends.incoming, keepalive, Pings::Always));
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

/// The pump's ends of a channel's queues.
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
