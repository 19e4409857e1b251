//! Answers that lie ready: handed out in pieces as their readers take them, and thrown away where
//! nobody takes any more. Never keeps what was taken.

use crate::turns::Turn;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// So long may a reader pause. A stopped one, or a lost one, need not be waited for longer.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// What the connection holds of it.
pub const PIECE_BYTES: usize = 64 << 10;

/// Nobody read on, or who wrote it failed.
#[derive(Debug, thiserror::Error)]
#[error("the rest of an answer was thrown away: nobody read it, or it could not be written")]
struct Lost;

/// What is left of an answer.
enum Stock {
    /// Not taken yet; its turn counts it once all is there.
    Rest(Rest),
    Taken,
    Gone,
}

#[derive(Default)]
struct Rest {
    parts: VecDeque<Bytes>,
    taken: u64,
    /// Given back when dropped. `None`: more comes.
    whole: Option<Turn>,
}

struct Shelf {
    stock: Mutex<Stock>,
    more: Notify,
}

/// What a reader finds there.
enum Found {
    Piece(Bytes),
    NothingYet,
    End,
    Lost,
}

/// An answer that is not all there yet: its turn lasts until it is.
pub struct Filling {
    shelf: Weak<Shelf>,
    turn: Option<Turn>,
    put: u64,
}

/// The answer; its bytes are the turn's until they are taken.
pub fn response(bytes: Vec<u8>, turn: Turn, patience: Duration) -> Response {
    let length = bytes.len();
    let (mut filling, body) = open(turn, patience);
    filling.put(bytes);
    filling.end();
    ([(CONTENT_LENGTH, length)], body).into_response()
}

/// An answer that is read while it is written.
pub fn open(turn: Turn, patience: Duration) -> (Filling, Body) {
    let stock = Mutex::new(Stock::Rest(Rest::default()));
    let shelf = Arc::new(Shelf { stock, more: Notify::new() });
    let weak = Arc::downgrade(&shelf);
    tokio::spawn(throw_away(weak.clone(), patience));
    let pieces = stream::unfold(shelf, |shelf| async { Some((next(&shelf).await?, shelf)) });
    (Filling { shelf: weak, turn: Some(turn), put: 0 }, Body::from_stream(pieces))
}

impl Filling {
    /// Adds to it; false: nobody reads any more.
    pub fn put(&mut self, bytes: Vec<u8>) -> bool {
        let Some(shelf) = self.shelf.upgrade() else { return false };
        self.put += bytes.len() as u64;
        let mut stock = shelf.stock();
        let Stock::Rest(rest) = &mut *stock else { return false };
        rest.parts.push_back(bytes.into());
        drop(stock);
        shelf.more.notify_one();
        true
    }

    /// That was all of it.
    pub fn end(mut self) {
        let (shelf, turn) = (self.shelf.upgrade(), self.turn.take());
        let (Some(shelf), Some(mut turn)) = (shelf, turn) else { return };
        turn.brought(self.put);
        if let Stock::Rest(rest) = &mut *shelf.stock() {
            rest.whole = Some(turn);
        }
        shelf.more.notify_one();
    }
}

/// Who wrote it stopped before its end: a reader must not take it for the whole.
impl Drop for Filling {
    fn drop(&mut self) {
        if let (Some(shelf), Some(_)) = (self.shelf.upgrade(), &self.turn) {
            *shelf.stock() = Stock::Gone;
            shelf.more.notify_one();
        }
    }
}

impl Shelf {
    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) -> Found {
        let mut stock = self.stock();
        let rest = match &mut *stock {
            Stock::Rest(rest) => rest,
            Stock::Taken => return Found::End,
            Stock::Gone => return Found::Lost,
        };
        match rest.piece() {
            Some(piece) => Found::Piece(piece),
            None if rest.whole.is_none() => Found::NothingYet,
            None => {
                *stock = Stock::Taken;
                Found::End
            }
        }
    }
}

impl Rest {
    /// The next one. Of a large part a copy: the connection must not hold the whole for it.
    fn piece(&mut self) -> Option<Bytes> {
        let part = self.parts.front_mut()?;
        let piece = match part.len() > PIECE_BYTES {
            true => Some(Bytes::copy_from_slice(&part.split_to(PIECE_BYTES))),
            false => self.parts.pop_front(),
        }?;
        self.taken += piece.len() as u64;
        Some(piece)
    }
}

async fn next(shelf: &Shelf) -> Option<Result<Bytes, Lost>> {
    loop {
        match shelf.look() {
            Found::Piece(piece) => return Some(Ok(piece)),
            Found::NothingYet => shelf.more.notified().await,
            Found::End => return None,
            Found::Lost => return Some(Err(Lost)),
        }
    }
}

/// Looks now and then whether anything was taken, for as long as there is a reader.
async fn throw_away(shelf: Weak<Shelf>, patience: Duration) {
    let mut before = None;
    loop {
        tokio::time::sleep(patience).await;
        let Some(shelf) = shelf.upgrade() else { return };
        let mut stock = shelf.stock();
        let Stock::Rest(rest) = &*stock else { return };
        // Where nothing lies about it is not the reader who is slow.
        if before == Some(rest.taken) {
            *stock = Stock::Gone;
            return;
        }
        before = (!rest.parts.is_empty()).then_some(rest.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::{Limits, Turns};
    use futures_util::{FutureExt as _, StreamExt as _};

    fn turns() -> Arc<Turns> {
        Turns::new(Limits {
            turns: 1,
            turns_of_one: 1,
            bytes: 1,
            bytes_of_one: 1,
            line_of_one: 1,
            patience: Duration::from_secs(600),
        })
    }

    #[tokio::test]
    async fn a_reader_gets_all_of_it_and_then_it_is_nobodys() {
        let turns = turns();
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let told = response(bytes.clone(), turns.turn(1).await.unwrap(), PATIENCE);
        assert_eq!(told.headers()[CONTENT_LENGTH], "200000");
        let read = axum::body::to_bytes(told.into_body(), usize::MAX).await.unwrap();
        assert!(read == bytes);
        turns.turn(1).await.unwrap();
    }

    #[tokio::test]
    async fn what_nobody_reads_is_thrown_away_and_whoever_reads_on_is_cut_off() {
        let turns = turns();
        let told = response(vec![b'x'; 300_000], turns.turn(1).await.unwrap(), Duration::ZERO);
        let mut pieces = told.into_body().into_data_stream();
        assert_eq!(pieces.next().await.unwrap().unwrap().len(), PIECE_BYTES);
        turns.turn(1).await.unwrap();
        assert!(pieces.next().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn a_reader_that_has_gone_holds_nothing() {
        let turns = turns();
        drop(response(vec![b'x'; 300_000], turns.turn(1).await.unwrap(), PATIENCE));
        turns.turn(1).await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_is_read_while_it_is_written() {
        let turns = turns();
        let (mut filling, body) = open(turns.turn(1).await.unwrap(), PATIENCE);
        let mut pieces = body.into_data_stream();
        for part in ["one", "two"] {
            assert!(filling.put(part.into()));
            assert_eq!(pieces.next().await.unwrap().unwrap(), part);
        }
        filling.put(b"three".to_vec());
        filling.end();
        assert_eq!(pieces.next().await.unwrap().unwrap(), "three");
        assert!(pieces.next().await.is_none());
        turns.turn(1).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_not_written_to_its_end_breaks_off() {
        let turns = turns();
        let (mut filling, body) = open(turns.turn(1).await.unwrap(), PATIENCE);
        let mut pieces = body.into_data_stream();
        filling.put(b"one".to_vec());
        drop(filling);
        assert!(pieces.next().await.unwrap().is_err());
        turns.turn(1).await.unwrap();
    }

    #[tokio::test]
    async fn nothing_is_written_for_a_reader_that_has_gone_and_its_turn_lasts_until_that_is_seen() {
        let turns = turns();
        let (mut filling, body) = open(turns.turn(1).await.unwrap(), PATIENCE);
        drop(body);
        assert!(!filling.put(b"one".to_vec()));
        let mut waiting = std::pin::pin!(turns.turn(1));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(filling);
        waiting.await.unwrap();
    }
}
