//! The books of all jobs whose first node this is, and who asks them. Each lies in its step's
//! directory and goes with it. Never changes one without writing it down first.

use super::board::Board;
use super::book::{Book, LEASE_MAX};
use super::dir::{self, StepDir};
use super::size;
use crate::clock;
use common::id::AttemptId;
use common::job::StepRecord;
use common::resource::Allocation;
use common::time::Time;
use common::wire::node::{AskSteps, StepAnswer, StepNews, StepPhase, StepWish};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// No question waits longer.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A book, and the job it is about.
#[derive(Debug)]
struct Open {
    book: Book,
    job: Allocation,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Books {
    open: Mutex<BTreeMap<AttemptId, Open>>,
    /// Of jobs that are over, though the board may not show it yet. Locked after `open`.
    closed: Mutex<BTreeSet<AttemptId>>,
    /// There is a word for some step.
    words: Notify,
}

impl Books {
    /// Answers a question about a job's steps.
    pub async fn answer(&self, asked: AskSteps, board: &Board, steps: &Path) -> StepNews {
        let AskSteps { question, id, wish } = asked;
        let wait = match &wish {
            StepWish::Hold { wait, .. } => Duration::from_millis(wait.0).min(WAIT_MAX),
            _ => Duration::ZERO,
        };
        let until = Instant::now() + wait;
        loop {
            // Before looking, so that no word is missed.
            let word = self.words.notified();
            let answer = self.ask(id, wish.clone(), board, &StepDir::of(steps, id));
            let answer = answer.unwrap_or_else(StepAnswer::Refused);
            let is_quiet = matches!(&answer, StepAnswer::Words(words) if words.is_empty());
            if !is_quiet || timeout_at(until, word).await.is_err() {
                return StepNews { question, answer };
            }
        }
    }

    /// A session begins: until now nobody could hold a step.
    pub fn renew_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values_mut().for_each(|open| open.book.renew_all(clock::now()));
    }

    /// The job has this from now on.
    pub fn resized(&self, id: AttemptId, job: &Allocation) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = open.get_mut(&id) {
            open.job.clone_from(job);
        }
    }

    /// To be called often: the leases of jobs that stand still do not run.
    pub fn keep_still(&self, board: &Board) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, open) in open.iter_mut() {
            if let Some(StepPhase::Running { suspended: true, .. }) = board.phase(*id) {
                open.book.stand_still(clock::now());
            }
        }
    }

    /// The steps of a job that ended then, for accounting; none where there is no book. Nothing is
    /// written into it any more, so that nobody is told else than accounting. A book that does not
    /// read costs the job's accounting its steps, and nothing else. Blocks.
    pub fn over(&self, id: AttemptId, dir: &StepDir, at: Time) -> Vec<StepRecord> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&id);
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        drop(open);
        match read_book(dir) {
            Ok(book) => book.over(at),
            Err(error) => {
                let shown = dir.path().display();
                tracing::warn!(
                    "failed to read the steps in {shown}: {error}: accounting lacks them"
                );
                Vec::new()
            }
        }
    }

    fn ask(
        &self,
        id: AttemptId,
        wish: StepWish,
        board: &Board,
        dir: &StepDir,
    ) -> Result<StepAnswer, String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|id, _| board.phase(*id).is_some_and(|p| !matches!(p, StepPhase::Ended(_))));
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.retain(|id| board.phase(*id).is_some());
        let is_over = match board.phase(id) {
            None => return Err(format!("the node does not have {id}")),
            Some(phase) => closed.contains(&id) || matches!(phase, StepPhase::Ended(_)),
        };
        drop(closed);
        if is_over && wish != StepWish::List {
            return Err(format!("{id} is over"));
        }
        let failed = |error: io::Error| format!("failed to read the steps of {id}: {error}");
        let found = match open.remove(&id) {
            Some(found) => found,
            None => read(dir).map_err(failed)?,
        };
        let Open { book, job } = found;
        let mut changed = book.clone();
        if is_over {
            changed.end(clock::now());
        }
        let is_word = matches!(wish, StepWish::Signal { .. });
        let (answer, is_news) = changed.ask(bounded(wish), &job, clock::now());
        let written = if is_news { write(dir, &changed) } else { Ok(()) };
        let kept = if written.is_ok() { changed } else { book };
        open.insert(id, Open { book: kept, job });
        if is_word {
            self.words.notify_waiters();
        }
        written.map_err(|error| format!("failed to write the steps of {id}: {error}"))?;
        Ok(answer)
    }
}

fn bounded(wish: StepWish) -> StepWish {
    match wish {
        StepWish::Open(mut ask) => {
            ask.lease = ask.lease.min(LEASE_MAX);
            StepWish::Open(ask)
        }
        wish => wish,
    }
}

fn read(dir: &StepDir) -> io::Result<Open> {
    let mut book = read_book(dir)?;
    // Holds are not written: who was held until kantd ended is held on.
    book.renew_all(clock::now());
    let job = match size::read(dir)? {
        Some(resized) => resized.allocation,
        None => dir.read_order()?.launch.allocation,
    };
    Ok(Open { book, job })
}

fn read_book(dir: &StepDir) -> io::Result<Book> {
    match fs::read(dir.book()) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Book::default()),
        Err(error) => Err(error),
    }
}

/// Whole or not at all; not for a power cut: the job does not outlive that.
fn write(dir: &StepDir, book: &Book) -> io::Result<()> {
    let text = serde_json::to_vec(book)?;
    let draft = dir.book().with_extension("new");
    let mut file = dir::private().create(true).truncate(true).open(&draft)?;
    file.write_all(&text)?;
    fs::rename(&draft, dir.book())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn nothing_comes_into_a_book_that_accounting_has_read() {
        let home = tempfile::tempdir().unwrap();
        let order = crate::step::example_order("g1");
        let id = order.launch.id;
        let dir = StepDir::at(home.path().join(id.to_string()));
        dir.make().unwrap();
        dir.write_order(&order).unwrap();
        let (changes, _seen) = unbounded_channel();
        let (board, books) = (Board::new(changes), Books::default());
        let running = StepPhase::Running { since: Time(1), suspended: false };
        let _wishes = board.add(id, running).unwrap();
        let close = || StepWish::Close { number: 7, exit: Default::default() };
        let asked = |books: &Books| books.ask(id, close(), &board, &dir);
        assert!(!asked(&books).is_err_and(|why| why.contains("is over")), "it runs");
        assert_eq!(books.over(id, &dir, Time(2)), []);
        let why = asked(&books).unwrap_err();
        assert!(why.contains("is over"), "{why}");
    }
}
