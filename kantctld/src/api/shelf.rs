//! Answers that lie ready: handed out in pieces as their readers take them, and thrown away where
//! nobody takes any more. Never keeps what was taken.

use crate::turns::Turn;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So long may a reader pause. A stopped one, or a lost one, need not be waited for longer.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// What the connection holds of it.
const PIECE_BYTES: usize = 64 << 10;

/// Nobody read on.
#[derive(Debug, thiserror::Error)]
#[error("the rest of an answer was thrown away: nobody read it")]
struct Unread;

/// What is left of an answer.
enum Stock {
    /// Not taken yet; the turn counts it.
    Rest(Bytes, #[allow(dead_code, reason = "given back when dropped")] Turn),
    /// All is taken.
    Taken,
    /// Thrown away.
    Gone,
}

type Shelf = Mutex<Stock>;

/// The answer; its bytes are the turn's until they are taken.
pub fn response(bytes: Vec<u8>, mut turn: Turn, patience: Duration) -> Response {
    let length = bytes.len();
    turn.brought(length as u64);
    let shelf = Arc::new(Mutex::new(Stock::Rest(bytes.into(), turn)));
    tokio::spawn(throw_away(Arc::downgrade(&shelf), patience));
    let pieces = stream::unfold(shelf, |shelf| async { Some((piece(&shelf)?, shelf)) });
    ([(CONTENT_LENGTH, length)], Body::from_stream(pieces)).into_response()
}

/// The next one. A copy: the connection must not hold the whole for it.
fn piece(shelf: &Shelf) -> Option<Result<Bytes, Unread>> {
    let mut stock = shelf.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *stock {
        Stock::Rest(bytes, _) if bytes.is_empty() => {
            *stock = Stock::Taken;
            None
        }
        Stock::Rest(bytes, _) => {
            let piece = bytes.split_to(bytes.len().min(PIECE_BYTES));
            Some(Ok(Bytes::copy_from_slice(&piece)))
        }
        Stock::Taken => None,
        Stock::Gone => Some(Err(Unread)),
    }
}

/// Looks now and then whether anything was taken, for as long as there is a reader.
async fn throw_away(shelf: std::sync::Weak<Shelf>, patience: Duration) {
    let mut before = usize::MAX;
    loop {
        tokio::time::sleep(patience).await;
        let Some(shelf) = shelf.upgrade() else { return };
        let mut stock = shelf.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stock {
            Stock::Rest(bytes, _) if bytes.len() < before => before = bytes.len(),
            Stock::Rest(..) => {
                *stock = Stock::Gone;
                return;
            }
            Stock::Taken | Stock::Gone => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::{Limits, Turns};
    use futures_util::StreamExt as _;

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
}
