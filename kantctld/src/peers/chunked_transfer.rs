//! The transfer of one large message in chunks on its own connection, with flow control and a
//! checksum over the whole.

use super::connector::{ConnectionError, Connector, Out, end_reason};
use crate::raft::ThreadMachine;
use common::wire::peer::{FromPeer, LetterHead, ToPeer};
use net::{ChannelError, ChannelReceiver};
use serde_bytes::ByteBuf;

const CHUNK_BYTES: usize = 1 << 20;
/// The log store's limit.
pub(super) const BYTES_MAX: u64 = 1 << 32;

/// Sends a message and waits until it has arrived.
pub(super) async fn send_chunked<M: ThreadMachine>(
    connector: &Connector<M>,
    message: &[u8],
) -> Result<(), ConnectionError> {
    let head = LetterHead { bytes: message.len() as u64, checksum: crc32fast::hash(message) };
    let (mut channel, _) = connector.connect(Some(head)).await?;
    for chunk in message.chunks(CHUNK_BYTES) {
        send_chunk(&mut channel, chunk).await?;
    }
    match channel.recv().await {
        Some(Ok(FromPeer::Arrived)) => {
            channel.close("done").await;
            Ok(())
        }
        message => Err(end_reason(message)),
    }
}

async fn send_chunk(channel: &mut Out, chunk: &[u8]) -> Result<(), ConnectionError> {
    if channel.send(&ToPeer::Chunk(ByteBuf::from(chunk))).await.is_err() {
        // The receiving half has the reason.
        return Err(end_reason(channel.recv().await));
    }
    Ok(())
}

/// Why a message in chunks was not received.
#[derive(Debug, thiserror::Error)]
pub(super) enum TransferError {
    #[error("it is {bytes} bytes long, above the limit of {BYTES_MAX}")]
    TooLong { bytes: u64 },
    #[error("it is longer than announced")]
    TooMuch,
    #[error("it was damaged in transit: its checksum differs")]
    Damaged,
    #[error("an unexpected message arrived")]
    Unexpected,
    #[error("the connection ended")]
    Ended(#[source] Option<ChannelError>),
}

/// Receives the announced message.
pub(super) async fn receive_chunked(
    head: LetterHead,
    receiver: &mut ChannelReceiver<ToPeer>,
) -> Result<Vec<u8>, TransferError> {
    let mut reassembly = Reassembly::new(head)?;
    loop {
        if let Some(message) = reassembly.whole()? {
            return Ok(message);
        }
        match receiver.recv().await {
            Some(Ok(ToPeer::Chunk(chunk))) => reassembly.add(&chunk)?,
            Some(Ok(ToPeer::Hello(_) | ToPeer::Letters(_) | ToPeer::Report(_))) => {
                return Err(TransferError::Unexpected);
            }
            Some(Err(error)) => return Err(TransferError::Ended(Some(error))),
            None => return Err(TransferError::Ended(None)),
        }
    }
}

/// The part received so far.
struct Reassembly {
    head: LetterHead,
    bytes: Vec<u8>,
}

impl Reassembly {
    fn new(head: LetterHead) -> Result<Self, TransferError> {
        if head.bytes > BYTES_MAX {
            return Err(TransferError::TooLong { bytes: head.bytes });
        }
        // Memory is not reserved for an announcement.
        Ok(Self { head, bytes: Vec::new() })
    }

    fn add(&mut self, chunk: &[u8]) -> Result<(), TransferError> {
        if (self.bytes.len() + chunk.len()) as u64 > self.head.bytes {
            return Err(TransferError::TooMuch);
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// The whole message, once it is complete.
    fn whole(&mut self) -> Result<Option<Vec<u8>>, TransferError> {
        if (self.bytes.len() as u64) < self.head.bytes {
            return Ok(None);
        }
        match crc32fast::hash(&self.bytes) == self.head.checksum {
            true => Ok(Some(std::mem::take(&mut self.bytes))),
            false => Err(TransferError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(message: &[u8]) -> LetterHead {
        LetterHead { bytes: message.len() as u64, checksum: crc32fast::hash(message) }
    }

    #[test]
    fn chunks_make_the_message_and_anything_else_is_refused() {
        let mut reassembly = Reassembly::new(head(b"abcdef")).unwrap();
        reassembly.add(b"abc").unwrap();
        assert!(reassembly.whole().unwrap().is_none());
        reassembly.add(b"def").unwrap();
        assert_eq!(reassembly.whole().unwrap().as_deref(), Some(&b"abcdef"[..]));

        let mut reassembly = Reassembly::new(head(b"abcdef")).unwrap();
        assert!(matches!(reassembly.add(b"abcdefg"), Err(TransferError::TooMuch)));
        reassembly.add(b"abcdeX").unwrap();
        assert!(matches!(reassembly.whole(), Err(TransferError::Damaged)));
        let endless = LetterHead { bytes: u64::MAX, checksum: 0 };
        assert!(matches!(Reassembly::new(endless), Err(TransferError::TooLong { .. })));
    }
}
