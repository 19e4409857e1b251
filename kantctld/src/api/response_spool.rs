//! Spooled responses: sent in chunks as the client reads, and dropped if it stops reading.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse as _, Response};
use common::sync::Mutex;
use futures_util::stream;
use net::limiter::Permit;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// The longest pause of a client before its response is dropped.
pub const IDLE_MAX: Duration = Duration::from_secs(60);
/// The size of a chunk held by the connection.
pub const CHUNK_BYTES: usize = 64 << 10;

/// The client stopped reading, or the writer failed.
#[derive(Debug, thiserror::Error)]
#[error("the rest of the response was dropped: it was not read, or could not be written")]
struct Aborted;

/// The unsent part of a response.
enum Unsent {
    /// Not sent yet; counted by the permit once the response is complete.
    Pending(Pending),
    Sent,
    Dropped,
}

#[derive(Default)]
struct Pending {
    parts: VecDeque<Bytes>,
    sent: u64,
    /// Set once the response is complete; released when dropped.
    complete: Option<Permit>,
}

struct Spool {
    unsent: Mutex<Unsent>,
    more: Notify,
}

/// The next step of a reader.
enum Next {
    Chunk(Bytes),
    NothingYet,
    End,
    Aborted,
}

/// The writer of an incomplete response; it holds the permit.
pub struct SpoolWriter {
    spool: Weak<Spool>,
    permit: Option<Permit>,
    put: u64,
}

/// A complete response; its bytes count against the permit until they are sent.
pub fn response(bytes: Vec<u8>, permit: Permit, idle_max: Duration) -> Response {
    let length = bytes.len();
    let (mut writer, body) = open(permit, idle_max);
    writer.put(bytes);
    writer.end();
    ([(CONTENT_LENGTH, length)], body).into_response()
}

/// A response that is sent while it is written.
pub fn open(permit: Permit, idle_max: Duration) -> (SpoolWriter, Body) {
    let unsent = Mutex::new(Unsent::Pending(Pending::default()));
    let spool = Arc::new(Spool { unsent, more: Notify::new() });
    let weak = Arc::downgrade(&spool);
    tokio::spawn(drop_when_idle(weak.clone(), idle_max));
    let chunks = stream::unfold(spool, |spool| async { Some((next_chunk(&spool).await?, spool)) });
    (SpoolWriter { spool: weak, permit: Some(permit), put: 0 }, Body::from_stream(chunks))
}

impl SpoolWriter {
    /// Appends to the response; false if the client is gone.
    pub fn put(&mut self, bytes: Vec<u8>) -> bool {
        let Some(spool) = self.spool.upgrade() else { return false };
        self.put += bytes.len() as u64;
        let mut unsent = spool.unsent.lock();
        let Unsent::Pending(pending) = &mut *unsent else { return false };
        pending.parts.push_back(bytes.into());
        drop(unsent);
        spool.more.notify_one();
        true
    }

    /// Completes the response.
    pub fn end(mut self) {
        let (spool, permit) = (self.spool.upgrade(), self.permit.take());
        let (Some(spool), Some(mut permit)) = (spool, permit) else { return };
        permit.count_answer_bytes(self.put);
        if let Unsent::Pending(pending) = &mut *spool.unsent.lock() {
            pending.complete = Some(permit);
        }
        spool.more.notify_one();
    }
}

/// A writer that ends early aborts the response, so that the client does not take it for complete.
impl Drop for SpoolWriter {
    fn drop(&mut self) {
        if let (Some(spool), Some(_)) = (self.spool.upgrade(), &self.permit) {
            *spool.unsent.lock() = Unsent::Dropped;
            spool.more.notify_one();
        }
    }
}

impl Spool {
    fn next_step(&self) -> Next {
        let mut unsent = self.unsent.lock();
        let pending = match &mut *unsent {
            Unsent::Pending(pending) => pending,
            Unsent::Sent => return Next::End,
            Unsent::Dropped => return Next::Aborted,
        };
        match pending.chunk() {
            Some(chunk) => Next::Chunk(chunk),
            None if pending.complete.is_none() => Next::NothingYet,
            None => {
                *unsent = Unsent::Sent;
                Next::End
            }
        }
    }
}

impl Pending {
    /// The next chunk. A copy if the part is larger, so that the connection does not hold all of
    /// it.
    fn chunk(&mut self) -> Option<Bytes> {
        let part = self.parts.front_mut()?;
        let chunk = match part.len() > CHUNK_BYTES {
            true => Some(Bytes::copy_from_slice(&part.split_to(CHUNK_BYTES))),
            false => self.parts.pop_front(),
        }?;
        self.sent += chunk.len() as u64;
        Some(chunk)
    }
}

async fn next_chunk(spool: &Spool) -> Option<Result<Bytes, Aborted>> {
    loop {
        match spool.next_step() {
            Next::Chunk(chunk) => return Some(Ok(chunk)),
            Next::NothingYet => spool.more.notified().await,
            Next::End => return None,
            Next::Aborted => return Some(Err(Aborted)),
        }
    }
}

/// Drops the response if nothing was read for a while; ends when the client is gone.
async fn drop_when_idle(spool: Weak<Spool>, idle_max: Duration) {
    let mut before = None;
    loop {
        tokio::time::sleep(idle_max).await;
        let Some(spool) = spool.upgrade() else { return };
        let mut unsent = spool.unsent.lock();
        let Unsent::Pending(pending) = &*unsent else { return };
        // If there is nothing to send, the client is not the slow one.
        if before == Some(pending.sent) {
            *unsent = Unsent::Dropped;
            return;
        }
        before = (!pending.parts.is_empty()).then_some(pending.sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, StreamExt as _};
    use net::limiter::{Limiter, Limits, Rule};

    fn limit() -> Arc<Limiter> {
        let one = Limits { places: 1, bytes: 1 };
        let rule = Rule {
            ordinary: one,
            each: one,
            waiting_each: 1,
            wait_max: Duration::from_secs(600),
            code: "",
            message: "",
            hint: "",
        };
        Limiter::new(rule, Arc::new(|_| false))
    }

    #[tokio::test]
    async fn a_client_gets_all_of_a_response_and_then_the_permit_is_released() {
        let limit = limit();
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let response = response(bytes.clone(), limit.acquire(1).await.unwrap(), IDLE_MAX);
        assert_eq!(response.headers()[CONTENT_LENGTH], "200000");
        let read = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        assert!(read == bytes);
        limit.acquire(1).await.unwrap();
    }

    #[tokio::test]
    async fn an_unread_response_is_dropped_and_a_late_read_fails() {
        let limit = limit();
        let response =
            response(vec![b'x'; 300_000], limit.acquire(1).await.unwrap(), Duration::ZERO);
        let mut chunks = response.into_body().into_data_stream();
        assert_eq!(chunks.next().await.unwrap().unwrap().len(), CHUNK_BYTES);
        limit.acquire(1).await.unwrap();
        assert!(chunks.next().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_client_that_is_gone_holds_nothing() {
        let limit = limit();
        drop(response(vec![b'x'; 300_000], limit.acquire(1).await.unwrap(), IDLE_MAX));
        limit.acquire(1).await.unwrap();
    }

    #[tokio::test]
    async fn a_response_is_sent_while_it_is_written() {
        let limit = limit();
        let (mut writer, body) = open(limit.acquire(1).await.unwrap(), IDLE_MAX);
        let mut chunks = body.into_data_stream();
        for part in ["one", "two"] {
            assert!(writer.put(part.into()));
            assert_eq!(chunks.next().await.unwrap().unwrap(), part);
        }
        writer.put(b"three".to_vec());
        writer.end();
        assert_eq!(chunks.next().await.unwrap().unwrap(), "three");
        assert!(chunks.next().await.is_none());
        limit.acquire(1).await.unwrap();
    }

    #[tokio::test]
    async fn an_incomplete_response_is_aborted() {
        let limit = limit();
        let (mut writer, body) = open(limit.acquire(1).await.unwrap(), IDLE_MAX);
        let mut chunks = body.into_data_stream();
        writer.put(b"one".to_vec());
        drop(writer);
        assert!(chunks.next().await.unwrap().is_err());
        limit.acquire(1).await.unwrap();
    }

    #[tokio::test]
    async fn a_writer_notices_that_the_client_is_gone_and_keeps_its_permit_until_then() {
        let limit = limit();
        let (mut writer, body) = open(limit.acquire(1).await.unwrap(), IDLE_MAX);
        drop(body);
        assert!(!writer.put(b"one".to_vec()));
        let mut waiting = std::pin::pin!(limit.acquire(1));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(writer);
        waiting.await.unwrap();
    }
}
