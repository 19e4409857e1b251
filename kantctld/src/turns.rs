//! Turns at what there is little of: so many at once, only some of them one user's, and a short
//! line before them, so that whoever asks too much waits for themselves alone. What a turn brought
//! counts until it is taken away. Never knows what a turn is for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// How much of it there is.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub turns: u32,
    /// Of them, those of one user.
    pub turns_of_one: u32,
    /// No turn begins while so much of what they brought lies about.
    pub bytes: u64,
    /// Nor, of one user, while so much of theirs does.
    pub bytes_of_one: u64,
    /// Those of one user who wait.
    pub line_of_one: u32,
    /// So long does one wait.
    pub patience: Duration,
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTurn {
    /// Too many of the same user wait already.
    #[error("{0} requests of yours wait for their turn already")]
    Line(u32),
    /// It took too long.
    #[error("no turn within {} s: requests of yours take all you may have at once", .0.as_secs())]
    Patience(Duration),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Share {
    turns: u32,
    bytes: u64,
    waiting: u32,
}

#[derive(Debug, Default)]
struct Taken {
    all: Share,
    of: BTreeMap<u32, Share>,
}

/// All turns of one kind.
#[derive(Debug)]
pub struct Turns {
    limits: Limits,
    taken: Mutex<Taken>,
    freed: Notify,
}

/// A turn, or what came of it. Given back when dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    uid: u32,
    share: Share,
}

/// A place in the line.
struct Place<'a> {
    turns: &'a Turns,
    uid: u32,
}

impl Turns {
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, taken: Mutex::default(), freed: Notify::new() })
    }

    /// Waits for a turn of this user.
    ///
    /// # Errors
    /// [`NoTurn`].
    pub async fn turn(self: &Arc<Self>, uid: u32) -> Result<Turn, NoTurn> {
        if let Some(turn) = self.now(uid) {
            return Ok(turn);
        }
        let _place = self.queue(uid)?;
        let patience = self.limits.patience;
        let waiting = async {
            loop {
                let freed = self.freed.notified();
                if let Some(turn) = self.now(uid) {
                    return turn;
                }
                freed.await;
            }
        };
        tokio::time::timeout(patience, waiting).await.map_err(|_| NoTurn::Patience(patience))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(self: &Arc<Self>, uid: u32) -> Option<Turn> {
        let (limits, mut taken) = (&self.limits, self.taken());
        let own = taken.of.get(&uid).copied().unwrap_or_default();
        let is_free = taken.all.turns < limits.turns && taken.all.bytes < limits.bytes;
        let may = own.turns < limits.turns_of_one && own.bytes < limits.bytes_of_one;
        (is_free && may).then(|| {
            let share = Share { turns: 1, ..Share::default() };
            taken.add(uid, share);
            Turn { turns: self.clone(), uid, share }
        })
    }

    fn queue(&self, uid: u32) -> Result<Place<'_>, NoTurn> {
        let mut taken = self.taken();
        let waiting = taken.of.get(&uid).map_or(0, |own| own.waiting);
        if waiting >= self.limits.line_of_one {
            return Err(NoTurn::Line(waiting));
        }
        taken.add(uid, Share { waiting: 1, ..Share::default() });
        Ok(Place { turns: self, uid })
    }
}

impl Taken {
    fn add(&mut self, uid: u32, more: Share) {
        for share in [&mut self.all, self.of.entry(uid).or_default()] {
            share.turns += more.turns;
            share.bytes += more.bytes;
            share.waiting += more.waiting;
        }
    }

    fn take(&mut self, uid: u32, less: Share) {
        let own = self.of.entry(uid).or_default();
        for share in [&mut self.all, own] {
            share.turns -= less.turns;
            share.bytes -= less.bytes;
            share.waiting -= less.waiting;
        }
        self.of.retain(|other, share| *other != uid || *share != Share::default());
    }
}

impl Turn {
    /// It is over, and brought so much.
    pub fn brought(&mut self, bytes: u64) {
        let share = Share { bytes, ..Share::default() };
        let mut taken = self.turns.taken();
        taken.take(self.uid, std::mem::replace(&mut self.share, share));
        taken.add(self.uid, share);
        drop(taken);
        self.turns.freed.notify_waiters();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.taken().take(self.uid, self.share);
        self.turns.freed.notify_waiters();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.turns.taken().take(self.uid, Share { waiting: 1, ..Share::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    const ADA: u32 = 1;
    const BEN: u32 = 2;

    fn turns(patience: Duration) -> Arc<Turns> {
        Turns::new(Limits {
            turns: 3,
            turns_of_one: 2,
            bytes: 100,
            bytes_of_one: 50,
            line_of_one: 1,
            patience,
        })
    }

    #[tokio::test]
    async fn one_user_takes_some_and_waits_for_themselves_alone() {
        let turns = turns(Duration::from_secs(600));
        let first = turns.turn(ADA).await.unwrap();
        let _second = turns.turn(ADA).await.unwrap();
        let mut third = Box::pin(turns.turn(ADA));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(turns.turn(ADA).await.unwrap_err(), NoTurn::Line(1));
        let _bens = turns.turn(BEN).await.unwrap();
        drop(first);
        third.await.unwrap();
    }

    #[tokio::test]
    async fn what_turns_brought_counts_until_it_is_taken_away() {
        let turns = turns(Duration::ZERO);
        let mut large = turns.turn(ADA).await.unwrap();
        large.brought(70);
        assert_eq!(turns.turn(ADA).await.unwrap_err(), NoTurn::Patience(Duration::ZERO));
        let mut small = turns.turn(BEN).await.unwrap();
        small.brought(30);
        assert!(turns.turn(BEN).await.is_err(), "there is no more of it");
        drop(large);
        turns.turn(ADA).await.unwrap();
        drop(small);
        assert!(turns.taken().of.is_empty());
        assert_eq!(turns.taken().all, Share::default());
    }

    #[tokio::test]
    async fn whoever_leaves_the_line_leaves_no_trace() {
        let turns = turns(Duration::from_secs(600));
        let held = [turns.turn(ADA).await.unwrap(), turns.turn(ADA).await.unwrap()];
        for _ in 0..3 {
            assert!(turns.turn(ADA).now_or_never().is_none());
        }
        drop(held);
        assert!(turns.taken().of.is_empty());
    }
}
