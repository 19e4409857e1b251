//! The books of all jobs whose first node this is, and who asks them. Each lies in its step's
//! directory and goes with it. Never changes one without writing it down first.

use super::board::Board;
use super::book::streams::Streams;
use super::book::{Book, LEASE_MAX};
use super::dir::{self, StepDir};
use super::size;
use crate::clock;
use common::id::AttemptId;
use common::job::StepRecord;
use common::resource::Allocation;
use common::time::{Span, Time};
use common::wire::node::{
    AskSteps, StepAnswer, StepHeard, StepNews, StepPhase, StepSaid, StepWish,
};
use std::collections::btree_map::Entry;
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
/// The same, for leases.
const WAIT_MAX_SPAN: Span = Span::from_seconds(60);

/// A book, and the job it is about.
#[derive(Debug)]
struct Open {
    book: Book,
    job: Allocation,
    streams: Streams,
}

#[derive(Debug, Default)]
pub struct Books {
    open: Mutex<BTreeMap<AttemptId, Open>>,
    /// Of jobs that are over, though the board may not show it yet. Locked after `open`.
    closed: Mutex<BTreeSet<AttemptId>>,
    /// There is a word for some step.
    words: Notify,
    /// Tasks of some step wrote something, or it is over.
    said: Notify,
}

impl Books {
    /// Answers a question about a job's steps.
    pub async fn answer(&self, asked: AskSteps, board: &Board, steps: &Path) -> StepNews {
        let AskSteps { question, id, wish } = asked;
        let wait = match &wish {
            StepWish::Hold { wait, .. } | StepWish::Listen { wait, .. } => {
                Duration::from_millis(wait.0).min(WAIT_MAX)
            }
            _ => Duration::ZERO,
        };
        let believed = match &wish {
            StepWish::Hold { streams: Some(told), .. } => told.listened,
            _ => false,
        };
        let listens = matches!(wish, StepWish::Listen { .. });
        let until = Instant::now() + wait;
        loop {
            // Before looking, so that nothing is missed.
            let (word, said) = (self.words.notified(), self.said.notified());
            let answer = self.ask(id, wish.clone(), board, &StepDir::of(steps, id));
            let answer = answer.unwrap_or_else(StepAnswer::Refused);
            let news = async { if listens { said.await } else { word.await } };
            if !is_quiet(&answer, believed) || timeout_at(until, news).await.is_err() {
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
        let known = match open.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(read(dir).map_err(failed)?),
        };
        let now = clock::now();
        if let Some(answer) = self.of_streams(&wish, known, now) {
            return answer;
        }
        let mut changed = known.book.clone();
        if is_over {
            changed.end(now);
        }
        let (is_word, is_end) =
            (matches!(wish, StepWish::Signal { .. }), matches!(wish, StepWish::Close { .. }));
        let held = match &wish {
            StepWish::Hold { number, streams: Some(told), .. } => Some((*number, *told)),
            _ => None,
        };
        let (answer, is_news) = changed.ask(bounded(wish), &known.job, now);
        let written = if is_news { write(dir, &changed) } else { Ok(()) };
        if written.is_ok() {
            known.book = changed;
        }
        if is_word {
            self.words.notify_waiters();
        }
        if is_end {
            let Open { book, streams, .. } = &mut *known;
            streams.silence(|number| book.is_over(number, now));
            self.said.notify_waiters();
        }
        written.map_err(|error| format!("failed to write the steps of {id}: {error}"))?;
        Ok(match (held, answer) {
            (Some((number, told)), StepAnswer::Words(signals)) => {
                StepAnswer::Heard(known.streams.hear(number, told, signals, now))
            }
            (_, answer) => answer,
        })
    }

    /// What is about a step's streams, which the book does not know; `None`: the rest.
    fn of_streams(
        &self,
        wish: &StepWish,
        known: &mut Open,
        now: Time,
    ) -> Option<Result<StepAnswer, String>> {
        let Open { book, streams, .. } = known;
        let (StepWish::Say { number, .. }
        | StepWish::Listen { number, .. }
        | StepWish::Speak { number, .. }) = wish
        else {
            return None;
        };
        let ended = match book.ending(*number, now) {
            Ok(ended) => ended,
            Err(why) => return Some(Err(why)),
        };
        Some(match wish {
            StepWish::Say { number, piece } => streams.say(*number, piece, now).map(|()| {
                self.said.notify_waiters();
                StepAnswer::Done
            }),
            StepWish::Speak { .. } if ended.is_some() => Err(format!("step {number} is over")),
            StepWish::Speak { number, speech } => {
                streams.speak(*number, speech.clone(), now).map(|kept| {
                    self.words.notify_waiters();
                    kept.map_or_else(|why| StepAnswer::Busy(why.to_owned()), |()| StepAnswer::Done)
                })
            }
            StepWish::Listen { number, from, .. } if ended.is_some() => {
                let (pieces, exit) = (streams.rest(*number, *from, now), ended.flatten());
                Ok(StepAnswer::Said(StepSaid { pieces, is_over: true, exit }))
            }
            StepWish::Listen { number, from, wait } => {
                streams.silence(|number| book.is_over(number, now));
                let wait = Span(wait.0.min(WAIT_MAX_SPAN.0));
                streams.listen(*number, *from, wait, now).map(|(pieces, is_first)| {
                    if is_first {
                        self.words.notify_waiters();
                    }
                    StepAnswer::Said(StepSaid { pieces, is_over: false, exit: None })
                })
            }
            _ => return None,
        })
    }
}

/// Is there nothing to tell, so that whoever asked goes on waiting? `believed`: that somebody
/// listens.
fn is_quiet(answer: &StepAnswer, believed: bool) -> bool {
    match answer {
        StepAnswer::Words(words) => words.is_empty(),
        StepAnswer::Heard(StepHeard { signals, listened, speech }) => {
            signals.is_empty() && speech.is_empty() && *listened == believed
        }
        StepAnswer::Said(said) => said.pieces.is_empty() && !said.is_over,
        _ => false,
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
    Ok(Open { book, job, streams: Streams::default() })
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
    use common::id::TaskNumber;
    use common::job::ExitStatus;
    use common::wire::node::{StepAsk, StepGpus};
    use tokio::sync::mpsc::unbounded_channel;

    /// What a step was told to do, kept in its directory.
    fn ordered(home: &tempfile::TempDir) -> (crate::step::order::StepOrder, StepDir) {
        let order = crate::step::example_order("g1");
        let dir = StepDir::at(home.path().join(order.launch.id.to_string()));
        dir.make().unwrap();
        dir.write_order(&order).unwrap();
        (order, dir)
    }

    #[test]
    fn nothing_comes_into_a_book_that_accounting_has_read() {
        let home = tempfile::tempdir().unwrap();
        let (order, dir) = ordered(&home);
        let id = order.launch.id;
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

    #[test]
    fn who_asks_for_what_steps_wrote_that_are_over_takes_no_room_from_others() {
        let home = tempfile::tempdir().unwrap();
        let (order, dir) = ordered(&home);
        let id = order.launch.id;
        let (changes, _seen) = unbounded_channel();
        let (board, books) = (Board::new(changes), Books::default());
        let _wishes =
            board.add(id, StepPhase::Running { since: Time(1), suspended: false }).unwrap();
        let ask = |wish: StepWish| books.ask(id, wish, &board, &dir).unwrap();
        let listen = |number| StepWish::Listen { number, from: None, wait: Span(0) };
        for nonce in 0..70 {
            let opened = ask(StepWish::Open(StepAsk {
                nonce: TaskNumber(nonce),
                name: "train".to_owned(),
                tasks: vec![(order.launch.allocation.shares()[0].node.clone(), 1)],
                others: Vec::new(),
                cpus_each: 1,
                gpus: StepGpus::All,
                exclusive: false,
                lease: Span::from_seconds(60),
            }));
            let StepAnswer::Opened(view) = opened else { panic!("{opened:?}") };
            let (number, exit) = (view.number, ExitStatus { code: 3, signal: None });
            assert_eq!(ask(StepWish::Close { number, exit }), StepAnswer::Done);
            let over = StepSaid { pieces: Vec::new(), is_over: true, exit: Some(exit) };
            assert_eq!(ask(listen(number)), StepAnswer::Said(over));
        }
    }
}
