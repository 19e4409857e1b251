//! The book of a job's steps, kept on its first node: numbers, who has which CPUs and GPUs of the
//! job for itself, words for them, and how each ended. In the step's directory, so that it is there
//! after a restart of kantd. Never starts a program, and never holds one to what it was given.
//!
//! A step that asks for GPUs gets those that the fewest others use; only one that asks for a part
//! to itself (--exclusive, --exact) waits until others that did let go of it.

mod free;
mod gpus;
mod over;
pub mod streams;

use common::id::NodeName;
use common::job::{ExitStatus, SignalNumber};
use common::resource::Allocation;
use common::time::{Span, Time};
use common::wire::node::{StepAnswer, StepAsk, StepShare, StepView, StepWish};
use gpus::gpus_each;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Of so many that ended it is remembered how.
const ENDED_MAX: usize = 1000;
/// So many may be open at once.
const OPEN_MAX: usize = 4096;
/// The longest name that is kept, in letters.
const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    view: StepView,
    ask: StepAsk,
    /// When somebody last held it.
    held_at: Time,
    /// For it, since then.
    words: Vec<SignalNumber>,
}

impl Entry {
    /// Does it keep others from what it has?
    fn has_for_itself(&self, now: Time) -> bool {
        self.ask.exclusive && self.is_open(now)
    }

    fn is_open(&self, now: Time) -> bool {
        self.view.ended_at.is_none() && now.since(self.held_at) < self.ask.lease
    }
}

/// All of a job's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Book {
    next: u32,
    steps: Vec<Entry>,
}

impl Book {
    /// Answers; true: the book has changed.
    pub fn ask(&mut self, wish: StepWish, job: &Allocation, now: Time) -> (StepAnswer, bool) {
        match wish {
            StepWish::Open(ask) => self.open(ask, job, now),
            StepWish::Hold { number, .. } => match self.entry(number) {
                Some(entry) => {
                    entry.held_at = now;
                    (StepAnswer::Words(std::mem::take(&mut entry.words)), false)
                }
                None => (unknown(number), false),
            },
            StepWish::Close { number, exit } => match self.entry(number) {
                Some(entry) => {
                    entry.view.ended_at.get_or_insert(now);
                    entry.view.exit = Some(entry.view.exit.unwrap_or(exit));
                    self.forget();
                    (StepAnswer::Done, true)
                }
                None => (unknown(number), false),
            },
            StepWish::Signal { number, signal } => match self.entry(number) {
                Some(entry) if entry.view.ended_at.is_none() => {
                    entry.words.push(signal);
                    (StepAnswer::Done, false)
                }
                Some(_) => (StepAnswer::Refused(format!("step {number} is over")), false),
                None => (unknown(number), false),
            },
            StepWish::Say { .. } | StepWish::Listen { .. } | StepWish::Speak { .. } => {
                (StepAnswer::Refused("it is not for the book".to_owned()), false)
            }
            StepWish::List => {
                let all = self.steps.iter().map(|entry| entry.view.clone());
                (StepAnswer::List(all.collect()), false)
            }
        }
    }

    /// Is the step over, and how did it end? In a sentence, where there is none.
    pub fn ending(&self, number: u32, now: Time) -> Result<Option<Option<ExitStatus>>, String> {
        let found = self.steps.iter().find(|entry| entry.view.number == number);
        let entry = found.ok_or_else(|| format!("the job has no step {number}"))?;
        Ok((!entry.is_open(now)).then_some(entry.view.exit))
    }

    /// Is nobody there who holds the step, or is there no such step?
    pub fn is_over(&self, number: u32, now: Time) -> bool {
        !matches!(self.ending(number, now), Ok(None))
    }

    /// Nobody could hold a step for a while, as when kantd was not there: those that are not over
    /// have their leases anew.
    pub fn renew_all(&mut self, now: Time) {
        let open = self.steps.iter_mut().filter(|entry| entry.view.ended_at.is_none());
        open.for_each(|entry| entry.held_at = now);
    }

    /// The job stands still, and whoever holds its steps with it: no lease runs meanwhile.
    pub fn stand_still(&mut self, now: Time) {
        let open = self.steps.iter_mut().filter(|entry| entry.is_open(now));
        open.for_each(|entry| entry.held_at = now);
    }

    /// The job is over, and all of its steps with it.
    pub fn end(&mut self, now: Time) {
        for entry in &mut self.steps {
            let killed = ExitStatus { code: 0, signal: Some(9) };
            if entry.view.ended_at.is_none() {
                (entry.view.ended_at, entry.view.exit) = (Some(now), Some(killed));
            }
        }
    }

    fn entry(&mut self, number: u32) -> Option<&mut Entry> {
        self.steps.iter_mut().find(|entry| entry.view.number == number)
    }

    fn open(&mut self, ask: StepAsk, job: &Allocation, now: Time) -> (StepAnswer, bool) {
        if let Some(known) = self.steps.iter().find(|entry| entry.ask.nonce == ask.nonce) {
            return (StepAnswer::Opened(known.view.clone()), false);
        }
        if self.steps.iter().filter(|entry| entry.view.ended_at.is_none()).count() >= OPEN_MAX {
            return (StepAnswer::Busy(format!("{OPEN_MAX} steps run in the job")), false);
        }
        let shares = match self.shares(&ask, job, now) {
            Ok(shares) => shares,
            Err(no) => return (no, false),
        };
        let view = StepView {
            number: self.next,
            name: ask.name.chars().take(NAME_CHARS_MAX).collect(),
            shares,
            exclusive: ask.exclusive,
            opened_at: now,
            ended_at: None,
            exit: None,
        };
        self.next += 1;
        self.steps.push(Entry { view: view.clone(), ask, held_at: now, words: Vec::new() });
        (StepAnswer::Opened(view), true)
    }

    fn shares(
        &self,
        ask: &StepAsk,
        job: &Allocation,
        now: Time,
    ) -> Result<Vec<StepShare>, StepAnswer> {
        let gpus = gpus_each(ask)?;
        let asked = ask.tasks.iter().map(|(node, _)| node);
        let mut pool: Vec<&NodeName> = asked.chain(&ask.others).collect();
        if !ask.others.is_empty() {
            pool.sort_by_cached_key(|node| Reverse(self.room(ask, node, job, now)));
        }
        let mut shares = Vec::new();
        for ((node, tasks), gpus) in ask.tasks.iter().zip(gpus) {
            let first = if ask.others.is_empty() { Some(node) } else { None };
            let share = self.share(ask, (first, *tasks, gpus), &pool, job, now)?;
            pool.retain(|node| **node != share.node);
            shares.push(share);
        }
        let place = |name: &NodeName| job.shares().iter().position(|share| share.node == *name);
        shares.sort_by_key(|share| place(&share.node));
        Ok(shares)
    }

    /// A part of that node, or of the first of many that has it.
    fn share(
        &self,
        ask: &StepAsk,
        (node, tasks, gpus): (Option<&NodeName>, u32, Option<u32>),
        pool: &[&NodeName],
        job: &Allocation,
        now: Time,
    ) -> Result<StepShare, StepAnswer> {
        let on = |node: &NodeName| {
            let has = job.shares().iter().find(|share| share.node == *node);
            let has = has.ok_or_else(|| {
                StepAnswer::Refused(format!("the job does not run on node {node}"))
            })?;
            let cpus = self.cpus(ask, tasks, has, now)?;
            let gpus = gpus.map(|count| self.gpus(ask, count, has, now)).transpose()?;
            Ok(StepShare { node: node.clone(), tasks, cpus, gpus })
        };
        let one = node.as_slice();
        let mut no = StepAnswer::Refused("the step has more nodes than the job".to_owned());
        for node in if node.is_some() { one } else { pool } {
            match on(node) {
                Ok(share) => return Ok(share),
                // One that is busy may have room later; one that refuses never does.
                Err(busy @ StepAnswer::Busy(_)) => no = busy,
                Err(other) if !matches!(no, StepAnswer::Busy(_)) => no = other,
                Err(_) => {}
            }
        }
        Err(no)
    }

    /// What ended longest ago.
    fn forget(&mut self) {
        let ended = self.steps.iter().filter(|entry| entry.view.ended_at.is_some()).count();
        let mut more = ended.saturating_sub(ENDED_MAX);
        self.steps.retain(|entry| {
            let goes = more > 0 && entry.view.ended_at.is_some();
            more -= usize::from(goes);
            !goes
        });
    }
}

fn unknown(number: u32) -> StepAnswer {
    StepAnswer::Refused(format!("the job has no step {number}"))
}

/// How long a step lives when nobody holds it, at most: a lease that is longer is not believed.
pub const LEASE_MAX: Span = Span::from_minutes(60);

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::id::{GpuIndex, TaskNumber};
    use common::job::STEPS_REPORTED_MAX;
    use common::resource::Share;
    use common::unit::{Bytes, Tasks};
    use common::wire::node::StepGpus;

    const LEASE: Span = Span::from_seconds(60);

    fn job() -> Allocation {
        let share = |node: &str| Share {
            node: NodeName::new(node).unwrap(),
            tasks: Tasks(1),
            cpus: CpuSet::from_iter([4, 5, 6, 7]),
            memory: Bytes(1 << 30),
            gpus: (0..4).map(GpuIndex).collect(),
            gpu_milli: None,
        };
        Allocation::new(vec![share("a"), share("b")]).unwrap()
    }

    fn ask(nonce: u64, tasks: u32, gpus: StepGpus, exclusive: bool) -> StepWish {
        StepWish::Open(StepAsk {
            nonce: TaskNumber(nonce),
            name: "train".to_owned(),
            tasks: vec![(NodeName::new("a").unwrap(), tasks)],
            others: Vec::new(),
            cpus_each: 1,
            gpus,
            exclusive,
            lease: LEASE,
        })
    }

    fn opened(book: &mut Book, wish: StepWish, now: Time) -> StepView {
        match book.ask(wish, &job(), now).0 {
            StepAnswer::Opened(view) => view,
            other => panic!("{other:?}"),
        }
    }

    fn close(number: u32) -> StepWish {
        StepWish::Close { number, exit: ExitStatus::default() }
    }

    #[test]
    fn steps_side_by_side_that_want_their_own_get_different_parts_and_then_wait() {
        let (mut book, now) = (Book::default(), Time(1));
        let mut seen = Vec::new();
        for nonce in 0..4 {
            let view = opened(&mut book, ask(nonce, 1, StepGpus::PerNode(1), true), now);
            assert_eq!(u64::from(view.number), nonce);
            seen.push((view.shares[0].cpus.to_string(), view.shares[0].gpus.clone().unwrap()));
        }
        let expected: Vec<_> = (0..4).map(|n| ((n + 4).to_string(), vec![n])).collect();
        assert_eq!(seen, expected);
        let fifth = ask(9, 1, StepGpus::PerNode(1), true);
        let (answer, _) = book.ask(fifth.clone(), &job(), now);
        assert!(matches!(&answer, StepAnswer::Busy(why) if why.contains("CPUs")), "{answer:?}");
        book.ask(close(2), &job(), now);
        let view = opened(&mut book, fifth, now);
        assert_eq!((view.number, view.shares[0].gpus.clone()), (4, Some(vec![2])));
    }

    #[test]
    fn when_the_job_is_over_its_last_steps_are_told_and_those_that_ran_were_cut_off() {
        let mut book = Book::default();
        let count = u64::try_from(STEPS_REPORTED_MAX).unwrap() + 2;
        for nonce in 0..count {
            opened(&mut book, ask(nonce, 1, StepGpus::PerNode(1), false), Time(5));
        }
        book.ask(close(7), &job(), Time(8));
        let told = book.over(Time(9));
        assert_eq!((told.len(), told[0].number), (STEPS_REPORTED_MAX, 2));
        let ended = |number: usize| (told[number - 2].ended_at, told[number - 2].cut_off);
        assert_eq!((ended(7), ended(8)), ((Some(Time(8)), false), (Some(Time(9)), true)));
        assert_eq!((told[0].nodes.as_str(), told[0].gpus), ("a", Some(1)));
    }

    #[test]
    fn who_shares_never_waits_and_gets_the_gpus_that_the_fewest_use() {
        let (mut book, now) = (Book::default(), Time(1));
        let gpus: Vec<_> = (0..5)
            .map(|n| opened(&mut book, ask(n, 4, StepGpus::Total(2), false), now))
            .map(|view| view.shares[0].gpus.clone().unwrap())
            .collect();
        assert_eq!(gpus, [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1]]);
    }

    #[test]
    fn a_step_that_may_stand_anywhere_takes_the_node_with_most_room_and_then_waits() {
        for exclusive in [true, false] {
            let (mut book, now) = (Book::default(), Time(1));
            let anywhere = |nonce: u64| match ask(nonce, 2, StepGpus::All, exclusive) {
                StepWish::Open(ask) => {
                    StepWish::Open(StepAsk { others: vec![NodeName::new("b").unwrap()], ..ask })
                }
                other => other,
            };
            let nodes: Vec<String> = (0..4)
                .map(|nonce| opened(&mut book, anywhere(nonce), now).shares[0].node.to_string())
                .collect();
            assert_eq!(nodes, ["a", "b", "a", "b"]);
            let (fifth, _) = book.ask(anywhere(9), &job(), now);
            assert_eq!(matches!(fifth, StepAnswer::Busy(_)), exclusive, "{fifth:?}");
        }
    }

    #[test]
    fn the_same_asked_again_is_the_same_step_and_what_never_fits_is_refused() {
        let (mut book, now) = (Book::default(), Time(1));
        let first = opened(&mut book, ask(7, 1, StepGpus::All, true), now);
        assert_eq!(opened(&mut book, ask(7, 1, StepGpus::All, true), now), first);
        assert_eq!(first.shares[0].gpus, None, "all of them");
        for wish in [ask(8, 5, StepGpus::All, true), ask(8, 1, StepGpus::PerTask(5), false)] {
            let (answer, _) = book.ask(wish, &job(), now);
            assert!(matches!(answer, StepAnswer::Refused(_)), "{answer:?}");
        }
    }

    #[test]
    fn a_step_keeps_its_part_while_nobody_could_hold_it_or_the_job_stood_still() {
        let (mut book, now) = (Book::default(), Time(1));
        opened(&mut book, ask(1, 4, StepGpus::All, true), now);
        let is_kept = |book: &Book, now| {
            let (answer, _) = book.clone().ask(ask(2, 4, StepGpus::All, true), &job(), now);
            matches!(answer, StepAnswer::Busy(_))
        };
        let mut still = book.clone();
        let mut later = now;
        for _ in 0..5 {
            later = later + Span::from_seconds(30);
            still.stand_still(later);
        }
        assert!(is_kept(&still, later) && !is_kept(&book, later));
        // Nobody holds it: what stands still longer does not bring it back.
        book.stand_still(later);
        assert!(!is_kept(&book, later));
        book.renew_all(later);
        assert!(is_kept(&book, later) && !is_kept(&book, later + LEASE));
    }

    #[test]
    fn counts_beyond_all_measure_are_counted() {
        let (mut book, now) = (Book::default(), Time(1));
        for nonce in 0..3 {
            let StepWish::Open(mut wish) = ask(nonce, u32::MAX, StepGpus::All, false) else {
                panic!("it opens");
            };
            wish.others = vec![NodeName::new("b").unwrap()];
            wish.cpus_each = u32::MAX;
            opened(&mut book, StepWish::Open(wish), now);
        }
    }

    #[test]
    fn words_come_once_and_a_step_that_nobody_holds_keeps_nobody_out() {
        let (mut book, now) = (Book::default(), Time(1));
        opened(&mut book, ask(1, 4, StepGpus::All, true), now);
        let signal = StepWish::Signal { number: 0, signal: SignalNumber(15) };
        assert_eq!(book.ask(signal.clone(), &job(), now).0, StepAnswer::Done);
        let hold = StepWish::Hold { number: 0, wait: Span(0), streams: None };
        let words = StepAnswer::Words(vec![SignalNumber(15)]);
        assert_eq!(book.ask(hold.clone(), &job(), now).0, words);
        assert_eq!(book.ask(hold, &job(), now).0, StepAnswer::Words(vec![]));
        let late = now + LEASE;
        assert_eq!(opened(&mut book, ask(2, 4, StepGpus::All, true), late).number, 1);
        book.ask(close(0), &job(), late);
        assert!(matches!(book.ask(signal, &job(), late).0, StepAnswer::Refused(_)));
        let StepAnswer::List(all) = book.ask(StepWish::List, &job(), late).0 else { panic!() };
        assert_eq!(all.iter().filter(|step| step.ended_at.is_none()).count(), 1);
    }
}
