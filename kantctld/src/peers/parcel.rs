//! One large letter in pieces, on a connection of its own: sent no faster than it is taken, checked
//! as a whole. Never takes in more than was announced, nor more than a snapshot can be.

use super::dialler::{Dialler, Out, Trouble, ending};
use crate::raft::Driven;
use common::wire::peer::{FromPeer, LetterHead, ToPeer};
use net::{ChannelError, ChannelReceiver};
use serde_bytes::ByteBuf;

const CHUNK_BYTES: usize = 1 << 20;
/// The log store takes no larger one.
pub(super) const BYTES_MAX: u64 = 1 << 32;

/// Sends it, and waits until it has arrived.
pub(super) async fn carry<M: Driven>(dialler: &Dialler<M>, letter: &[u8]) -> Result<(), Trouble> {
    let head = LetterHead { bytes: letter.len() as u64, checksum: crc32fast::hash(letter) };
    let mut channel = dialler.dial(Some(head)).await?;
    for chunk in letter.chunks(CHUNK_BYTES) {
        send(&mut channel, chunk).await?;
    }
    match channel.recv().await {
        Some(Ok(FromPeer::Arrived)) => {
            channel.close("done").await;
            Ok(())
        }
        message => Err(ending(message)),
    }
}

async fn send(channel: &mut Out, chunk: &[u8]) -> Result<(), Trouble> {
    if channel.send(&ToPeer::Chunk(ByteBuf::from(chunk))).await.is_err() {
        // The receiving half knows why.
        return Err(ending(channel.recv().await));
    }
    Ok(())
}

/// Why a letter in pieces was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum ParcelError {
    #[error("it is {bytes} bytes long, and {BYTES_MAX} is the limit")]
    TooLong { bytes: u64 },
    #[error("more came than was announced")]
    TooMuch,
    #[error("it was damaged on the way: its checksum differs")]
    Damaged,
    #[error("something else came")]
    SomethingElse,
    #[error("the connection ended")]
    Over(#[source] Option<ChannelError>),
}

/// Takes in what was announced.
pub(super) async fn take(
    head: LetterHead,
    receiver: &mut ChannelReceiver<ToPeer>,
) -> Result<Vec<u8>, ParcelError> {
    let mut parcel = Parcel::new(head)?;
    loop {
        if let Some(letter) = parcel.whole()? {
            return Ok(letter);
        }
        match receiver.recv().await {
            Some(Ok(ToPeer::Chunk(chunk))) => parcel.add(&chunk)?,
            Some(Ok(ToPeer::Hello(_) | ToPeer::Letters(_) | ToPeer::Clock(_))) => {
                return Err(ParcelError::SomethingElse);
            }
            Some(Err(error)) => return Err(ParcelError::Over(Some(error))),
            None => return Err(ParcelError::Over(None)),
        }
    }
}

/// What came so far.
struct Parcel {
    head: LetterHead,
    bytes: Vec<u8>,
}

impl Parcel {
    fn new(head: LetterHead) -> Result<Self, ParcelError> {
        if head.bytes > BYTES_MAX {
            return Err(ParcelError::TooLong { bytes: head.bytes });
        }
        // No room is made for what has only been announced.
        Ok(Self { head, bytes: Vec::new() })
    }

    fn add(&mut self, chunk: &[u8]) -> Result<(), ParcelError> {
        if (self.bytes.len() + chunk.len()) as u64 > self.head.bytes {
            return Err(ParcelError::TooMuch);
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// All of it, once it is there.
    fn whole(&mut self) -> Result<Option<Vec<u8>>, ParcelError> {
        if (self.bytes.len() as u64) < self.head.bytes {
            return Ok(None);
        }
        match crc32fast::hash(&self.bytes) == self.head.checksum {
            true => Ok(Some(std::mem::take(&mut self.bytes))),
            false => Err(ParcelError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(letter: &[u8]) -> LetterHead {
        LetterHead { bytes: letter.len() as u64, checksum: crc32fast::hash(letter) }
    }

    #[test]
    fn pieces_make_the_letter_and_anything_else_is_refused() {
        let mut parcel = Parcel::new(head(b"abcdef")).unwrap();
        parcel.add(b"abc").unwrap();
        assert!(parcel.whole().unwrap().is_none());
        parcel.add(b"def").unwrap();
        assert_eq!(parcel.whole().unwrap().as_deref(), Some(&b"abcdef"[..]));

        let mut parcel = Parcel::new(head(b"abcdef")).unwrap();
        assert!(matches!(parcel.add(b"abcdefg"), Err(ParcelError::TooMuch)));
        parcel.add(b"abcdeX").unwrap();
        assert!(matches!(parcel.whole(), Err(ParcelError::Damaged)));
        let endless = LetterHead { bytes: u64::MAX, checksum: 0 };
        assert!(matches!(Parcel::new(endless), Err(ParcelError::TooLong { .. })));
    }
}
