//! The task that owns a channel's WebSocket: it reads, writes and pings.
//!
//! It handles frames, not messages. Each direction has a short queue, so that a slow side slows
//! down the other one instead of letting data pile up.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws;
use futures_util::{Sink, SinkExt, Stream, StreamExt, stream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite;

use super::{CLOSE_LIMIT, ChannelError, Keepalive};

/// RFC 6455, section 5.5: a control frame has at most 125 bytes, two of them the close code.
const REASON_BYTES_MAX: usize = 123;

/// A frame to be written.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Message(Bytes),
    Close(String),
}

pub(crate) enum Heard {
    Message(Bytes),
    /// A ping, a pong or similar, which shows that the peer is alive.
    Life,
    Close(String),
}

/// The common interface of the two WebSocket libraries' message types.
pub(crate) trait Frame: Sized {
    fn binary_frame(data: Bytes) -> Self;
    fn ping_frame() -> Self;
    fn close_frame(reason: &str) -> Self;
    fn into_received(self) -> Heard;
}

enum End {
    /// Closed by this side, or by a peer that gave no reason.
    Over,
    Failed(ChannelError),
}

/// The side that pings; one ping and its answer show both sides that the other is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pings {
    /// At every interval, on the side that opened the channel.
    Always,
    /// Only after one and a half intervals of silence, on the side that accepted the channel and
    /// may have ten thousand peers.
    InSilence,
}

/// Runs until the channel is closed; the last item of `incoming` is the reason.
pub(crate) async fn pump<S, M, E>(
    socket: S,
    mut outgoing: mpsc::Receiver<Outgoing>,
    incoming: mpsc::Sender<Result<Bytes, ChannelError>>,
    keepalive: Keepalive,
    pings: Pings,
) where
    S: Stream<Item = Result<M, E>> + Sink<M, Error = E>,
    M: Frame,
    E: StdError + Send + Sync + 'static,
{
    let (sink, stream) = socket.split();
    let heard = Heartbeat::new();
    let end = {
        let mut reading = pin!(read(stream, &incoming, keepalive, &heard));
        let due = ping_times(pings, keepalive, &heard);
        let writing = pin!(write(sink, &mut outgoing, &incoming, due));
        tokio::select! {
            end = &mut reading => end,
            written = writing => match (written, timeout(CLOSE_LIMIT, reading).await) {
                (Ok(()), _) => End::Over,
                // The peer may have closed while we wrote: its reason is the better one.
                (Err(_), Ok(end)) => end,
                (Err(error), Err(_)) => end_from_error(error),
            },
        }
    };
    // From now on sending fails, even while a slow receiver reads the remaining messages.
    drop(outgoing);
    if let End::Failed(error) = end {
        // The receiver may be gone.
        let _ = incoming.send(Err(error)).await;
    }
}

async fn read<M, E>(
    mut stream: impl Stream<Item = Result<M, E>> + Unpin,
    incoming: &mpsc::Sender<Result<Bytes, ChannelError>>,
    keepalive: Keepalive,
    heard: &Heartbeat,
) -> End
where
    M: Frame,
    E: StdError + Send + Sync + 'static,
{
    loop {
        let Ok(next) = timeout(keepalive.silence_limit, stream.next()).await else {
            let limit_seconds = keepalive.silence_limit.as_secs_f32();
            return End::Failed(ChannelError::Silent { limit_seconds });
        };
        heard.beat();
        match next.map(|read| read.map(Frame::into_received)) {
            Some(Ok(Heard::Message(data))) => {
                // Without a receiver the rest is read and dropped, and the writer closes.
                let _ = incoming.send(Ok(data)).await;
            }
            Some(Ok(Heard::Life)) => {}
            Some(Ok(Heard::Close(reason))) => {
                // Reading on sends our half of the close handshake.
                let _ = timeout(CLOSE_LIMIT, stream.next()).await;
                return match reason.is_empty() {
                    true => End::Over,
                    false => End::Failed(ChannelError::Closed { reason }),
                };
            }
            Some(Err(error)) => return end_from_error(error),
            None => return End::Over,
        }
    }
}

/// The time of the last received frame.
struct Heartbeat {
    begun: Instant,
    /// Milliseconds after `start`.
    last: AtomicU64,
}

impl Heartbeat {
    fn new() -> Self {
        Self { begun: Instant::now(), last: AtomicU64::new(0) }
    }

    fn beat(&self) {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(millis, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.begun + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

/// Yields the moments at which a ping is due.
fn ping_times<'a>(
    pings: Pings,
    keepalive: Keepalive,
    heard: &'a Heartbeat,
) -> impl Stream<Item = ()> + 'a {
    let interval = keepalive.ping_interval;
    stream::unfold(Instant::now(), move |asked| async move {
        match pings {
            Pings::Always => sleep_until(asked + interval).await,
            Pings::InSilence => loop {
                let silent = heard.last().max(asked) + interval.mul_f32(1.5);
                if silent <= Instant::now() {
                    break;
                }
                sleep_until(silent).await;
            },
        }
        Some(((), Instant::now()))
    })
}

/// Writes queued frames and pings, until asked to close or until all senders are dropped.
async fn write<M, E>(
    mut sink: impl Sink<M, Error = E> + Unpin,
    outgoing: &mut mpsc::Receiver<Outgoing>,
    incoming: &mpsc::Sender<Result<Bytes, ChannelError>>,
    due: impl Stream<Item = ()>,
) -> Result<(), E>
where
    M: Frame,
{
    let mut due = pin!(due);
    loop {
        tokio::select! {
            // Queued messages are sent before the close frame.
            biased;
            next = outgoing.recv() => match next {
                Some(Outgoing::Message(data)) => sink.send(M::binary_frame(data)).await?,
                Some(Outgoing::Close(reason)) => return sink.send(M::close_frame(&reason)).await,
                None => return sink.send(M::close_frame("")).await,
            },
            () = incoming.closed() => return sink.send(M::close_frame("")).await,
            _ = due.next() => sink.send(M::ping_frame()).await?,
        }
    }
}

fn end_from_error(error: impl StdError + Send + Sync + 'static) -> End {
    // A killed peer sends no close frame; the TLS library's message then cites its manual.
    let source = match error.to_string().contains("close_notify") {
        true => "it ended without a close".into(),
        false => error.into(),
    };
    End::Failed(ChannelError::Lost { source })
}

fn truncate_reason(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(REASON_BYTES_MAX)]
}

impl Frame for ws::Message {
    fn binary_frame(data: Bytes) -> Self {
        ws::Message::Binary(data)
    }

    fn ping_frame() -> Self {
        ws::Message::Ping(Bytes::new())
    }

    fn close_frame(reason: &str) -> Self {
        let reason = truncate_reason(reason).into();
        ws::Message::Close(Some(ws::CloseFrame { code: ws::close_code::NORMAL, reason }))
    }

    fn into_received(self) -> Heard {
        match self {
            ws::Message::Binary(data) => Heard::Message(data),
            ws::Message::Text(text) => Heard::Message(text.into()),
            ws::Message::Ping(_) | ws::Message::Pong(_) => Heard::Life,
            ws::Message::Close(frame) => {
                Heard::Close(frame.map(|f| f.reason.to_string()).unwrap_or_default())
            }
        }
    }
}

impl Frame for tungstenite::Message {
    fn binary_frame(data: Bytes) -> Self {
        tungstenite::Message::Binary(data)
    }

    fn ping_frame() -> Self {
        tungstenite::Message::Ping(Bytes::new())
    }

    fn close_frame(reason: &str) -> Self {
        use tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
        let reason = truncate_reason(reason).into();
        tungstenite::Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason }))
    }

    fn into_received(self) -> Heard {
        use tungstenite::Message::{Binary, Close, Frame, Ping, Pong, Text};
        match self {
            Binary(data) => Heard::Message(data),
            Text(text) => Heard::Message(text.into()),
            Ping(_) | Pong(_) | Frame(_) => Heard::Life,
            Close(frame) => Heard::Close(frame.map(|f| f.reason.to_string()).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        assert_eq!(truncate_reason("moved"), "moved");
        let long = "\u{e4}".repeat(100);
        assert_eq!(truncate_reason(&long).len(), 122);
    }
}
