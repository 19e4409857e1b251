//! The ledger of a job's steps (`srun`), kept on the job's first node: step numbers, the CPUs and
//! GPUs each step has, its pending signals, and how it ended. It lies in the attempt's directory
//! and survives a restart of kantd. It allocates within the job and enforces nothing.
//!
//! A step that asks for GPUs gets those that the fewest other steps use. Only a step that asks for
//! exclusive resources (--exclusive, --exact) waits until other exclusive steps release them.

mod free;
mod gpu_counts;
mod records;
pub mod streams;

use common::id::NodeName;
use common::job::{ExitStatus, SignalNumber};
use common::resource::Allocation;
use common::time::{Span, Time};
use common::wire::node::{StepAnswer, StepAsk, StepShare, StepView, StepWish};
use gpu_counts::gpus_per_node;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Number of ended steps that are remembered.
const ENDED_MAX: usize = 1000;
/// Number of steps open at the same time.
const OPEN_MAX: usize = 4096;
/// Names are cut to this length.
const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    view: StepView,
    ask: StepAsk,
    /// The last renewal of its lease.
    held_at: Time,
    /// Signals for it that its client has not fetched.
    signals: Vec<SignalNumber>,
}

impl Entry {
    /// Whether its resources are withheld from other exclusive steps.
    fn holds_exclusively(&self, now: Time) -> bool {
        self.ask.exclusive && self.is_open(now)
    }

    fn is_open(&self, now: Time) -> bool {
        self.view.ended_at.is_none() && now.since(self.held_at) < self.ask.lease
    }
}

/// A wanted share of one node.
struct WantedShare<'a> {
    /// `None`: any node that can give it.
    node: Option<&'a NodeName>,
    tasks: u32,
    gpus: Option<u32>,
}

/// All steps of one job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepLedger {
    next: u32,
    steps: Vec<Entry>,
}

impl StepLedger {
    /// Answers a request; true if the ledger has changed.
    pub fn handle(&mut self, request: StepWish, job: &Allocation, now: Time) -> (StepAnswer, bool) {
        match request {
            StepWish::Open(ask) => self.open(ask, job, now),
            StepWish::Hold { number, .. } => match self.entry(number) {
                Some(entry) => {
                    entry.held_at = now;
                    (StepAnswer::Words(std::mem::take(&mut entry.signals)), false)
                }
                None => (unknown_step(number), false),
            },
            StepWish::Close { number, exit } => match self.entry(number) {
                Some(entry) => {
                    entry.view.ended_at.get_or_insert(now);
                    entry.view.exit = Some(entry.view.exit.unwrap_or(exit));
                    self.forget_oldest();
                    (StepAnswer::Done, true)
                }
                None => (unknown_step(number), false),
            },
            StepWish::Signal { number, signal } => match self.entry(number) {
                Some(entry) if entry.view.ended_at.is_none() => {
                    entry.signals.push(signal);
                    (StepAnswer::Done, false)
                }
                Some(_) => (StepAnswer::Refused(format!("step {number} has ended")), false),
                None => (unknown_step(number), false),
            },
            StepWish::Say { .. } | StepWish::Listen { .. } | StepWish::Speak { .. } => (
                StepAnswer::Refused("the ledger does not handle a step's streams".to_owned()),
                false,
            ),
            StepWish::List => {
                let all = self.steps.iter().map(|entry| entry.view.clone());
                (StepAnswer::List(all.collect()), false)
            }
        }
    }

    /// `None` while the step is open, else how it ended; a sentence if there is no such step.
    pub fn step_end(&self, number: u32, now: Time) -> Result<Option<Option<ExitStatus>>, String> {
        let found = self.steps.iter().find(|entry| entry.view.number == number);
        let entry = found.ok_or_else(|| format!("the job has no step {number}"))?;
        Ok((!entry.is_open(now)).then_some(entry.view.exit))
    }

    /// Whether the step has ended, its lease has expired, or it does not exist.
    pub fn has_ended(&self, number: u32, now: Time) -> bool {
        !matches!(self.step_end(number, now), Ok(None))
    }

    /// Restarts the lease of every step that has not ended, after a time without kantd in which no
    /// client could renew one.
    pub fn renew_leases(&mut self, now: Time) {
        let open = self.steps.iter_mut().filter(|entry| entry.view.ended_at.is_none());
        open.for_each(|entry| entry.held_at = now);
    }

    /// Restarts the open leases of a suspended job, because its clients are suspended too.
    pub fn pause_leases(&mut self, now: Time) {
        let open = self.steps.iter_mut().filter(|entry| entry.is_open(now));
        open.for_each(|entry| entry.held_at = now);
    }

    /// Ends all open steps, because the job has ended.
    pub fn end_all(&mut self, now: Time) {
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
        let shares = match self.assign_shares(&ask, job, now) {
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
        self.steps.push(Entry { view: view.clone(), ask, held_at: now, signals: Vec::new() });
        (StepAnswer::Opened(view), true)
    }

    fn assign_shares(
        &self,
        ask: &StepAsk,
        job: &Allocation,
        now: Time,
    ) -> Result<Vec<StepShare>, StepAnswer> {
        let gpus = gpus_per_node(ask)?;
        let asked = ask.tasks.iter().map(|(node, _)| node);
        let mut pool: Vec<&NodeName> = asked.chain(&ask.others).collect();
        if !ask.others.is_empty() {
            pool.sort_by_cached_key(|node| Reverse(self.free_amounts(ask, node, job, now)));
        }
        let mut shares = Vec::new();
        for ((node, tasks), gpus) in ask.tasks.iter().zip(gpus) {
            let first = if ask.others.is_empty() { Some(node) } else { None };
            let wanted = WantedShare { node: first, tasks: *tasks, gpus };
            let share = self.assign_share(ask, &wanted, &pool, job, now)?;
            pool.retain(|node| **node != share.node);
            shares.push(share);
        }
        let place = |name: &NodeName| job.shares().iter().position(|share| share.node == *name);
        shares.sort_by_key(|share| place(&share.node));
        Ok(shares)
    }

    /// A share of the wanted node, or of the first node in `pool` that can give one.
    fn assign_share(
        &self,
        ask: &StepAsk,
        wanted: &WantedShare<'_>,
        pool: &[&NodeName],
        job: &Allocation,
        now: Time,
    ) -> Result<StepShare, StepAnswer> {
        let WantedShare { node, tasks, gpus } = *wanted;
        let on = |node: &NodeName| {
            let has = job.shares().iter().find(|share| share.node == *node);
            let has = has.ok_or_else(|| {
                StepAnswer::Refused(format!("the job does not run on node {node}"))
            })?;
            let cpus = self.choose_cpus(ask, tasks, has, now)?;
            let gpus = gpus.map(|count| self.choose_gpus(ask, count, has, now)).transpose()?;
            Ok(StepShare { node: node.clone(), tasks, cpus, gpus })
        };
        let one = node.as_slice();
        let mut no = StepAnswer::Refused("the step has more nodes than the job".to_owned());
        for node in if node.is_some() { one } else { pool } {
            match on(node) {
                Ok(share) => return Ok(share),
                // A busy node may have room later; a refusal is final.
                Err(busy @ StepAnswer::Busy(_)) => no = busy,
                Err(other) if !matches!(no, StepAnswer::Busy(_)) => no = other,
                Err(_) => {}
            }
        }
        Err(no)
    }

    /// Drops the steps that ended longest ago.
    fn forget_oldest(&mut self) {
        let ended = self.steps.iter().filter(|entry| entry.view.ended_at.is_some()).count();
        let mut more = ended.saturating_sub(ENDED_MAX);
        self.steps.retain(|entry| {
            let goes = more > 0 && entry.view.ended_at.is_some();
            more -= usize::from(goes);
            !goes
        });
    }
}

fn unknown_step(number: u32) -> StepAnswer {
    StepAnswer::Refused(format!("the job has no step {number}"))
}

/// The longest lease a step may have; longer ones are cut to this.
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

    fn opened(ledger: &mut StepLedger, request: StepWish, now: Time) -> StepView {
        match ledger.handle(request, &job(), now).0 {
            StepAnswer::Opened(view) => view,
            other => panic!("{other:?}"),
        }
    }

    fn close(number: u32) -> StepWish {
        StepWish::Close { number, exit: ExitStatus::default() }
    }

    #[test]
    fn exclusive_steps_get_disjoint_resources_and_then_wait() {
        let (mut ledger, now) = (StepLedger::default(), Time(1));
        let mut seen = Vec::new();
        for nonce in 0..4 {
            let view = opened(&mut ledger, ask(nonce, 1, StepGpus::PerNode(1), true), now);
            assert_eq!(u64::from(view.number), nonce);
            seen.push((view.shares[0].cpus.to_string(), view.shares[0].gpus.clone().unwrap()));
        }
        let expected: Vec<_> = (0..4).map(|n| ((n + 4).to_string(), vec![n])).collect();
        assert_eq!(seen, expected);
        let fifth = ask(9, 1, StepGpus::PerNode(1), true);
        let (answer, _) = ledger.handle(fifth.clone(), &job(), now);
        assert!(matches!(&answer, StepAnswer::Busy(why) if why.contains("CPUs")), "{answer:?}");
        ledger.handle(close(2), &job(), now);
        let view = opened(&mut ledger, fifth, now);
        assert_eq!((view.number, view.shares[0].gpus.clone()), (4, Some(vec![2])));
    }

    #[test]
    fn when_the_job_ends_its_last_steps_are_recorded_and_running_ones_as_cut_off() {
        let mut ledger = StepLedger::default();
        let count = u64::try_from(STEPS_REPORTED_MAX).unwrap() + 2;
        for nonce in 0..count {
            opened(&mut ledger, ask(nonce, 1, StepGpus::PerNode(1), false), Time(5));
        }
        ledger.handle(close(7), &job(), Time(8));
        let records = ledger.into_records(Time(9));
        assert_eq!((records.len(), records[0].number), (STEPS_REPORTED_MAX, 2));
        let ended = |number: usize| (records[number - 2].ended_at, records[number - 2].cut_off);
        assert_eq!((ended(7), ended(8)), ((Some(Time(8)), false), (Some(Time(9)), true)));
        assert_eq!((records[0].nodes.as_str(), records[0].gpus), ("a", Some(1)));
    }

    #[test]
    fn a_sharing_step_never_waits_and_gets_the_least_used_gpus() {
        let (mut ledger, now) = (StepLedger::default(), Time(1));
        let gpus: Vec<_> = (0..5)
            .map(|n| opened(&mut ledger, ask(n, 4, StepGpus::Total(2), false), now))
            .map(|view| view.shares[0].gpus.clone().unwrap())
            .collect();
        assert_eq!(gpus, [[0, 1], [2, 3], [0, 1], [2, 3], [0, 1]]);
    }

    #[test]
    fn a_step_without_fixed_nodes_takes_the_freest_node_and_then_waits() {
        for exclusive in [true, false] {
            let (mut ledger, now) = (StepLedger::default(), Time(1));
            let anywhere = |nonce: u64| match ask(nonce, 2, StepGpus::All, exclusive) {
                StepWish::Open(ask) => {
                    StepWish::Open(StepAsk { others: vec![NodeName::new("b").unwrap()], ..ask })
                }
                other => other,
            };
            let nodes: Vec<String> = (0..4)
                .map(|nonce| opened(&mut ledger, anywhere(nonce), now).shares[0].node.to_string())
                .collect();
            assert_eq!(nodes, ["a", "b", "a", "b"]);
            let (fifth, _) = ledger.handle(anywhere(9), &job(), now);
            assert_eq!(matches!(fifth, StepAnswer::Busy(_)), exclusive, "{fifth:?}");
        }
    }

    #[test]
    fn a_repeated_request_opens_one_step_and_one_that_never_fits_is_refused() {
        let (mut ledger, now) = (StepLedger::default(), Time(1));
        let first = opened(&mut ledger, ask(7, 1, StepGpus::All, true), now);
        assert_eq!(opened(&mut ledger, ask(7, 1, StepGpus::All, true), now), first);
        assert_eq!(first.shares[0].gpus, None, "all of them");
        for request in [ask(8, 5, StepGpus::All, true), ask(8, 1, StepGpus::PerTask(5), false)] {
            let (answer, _) = ledger.handle(request, &job(), now);
            assert!(matches!(answer, StepAnswer::Refused(_)), "{answer:?}");
        }
    }

    #[test]
    fn a_step_keeps_its_resources_while_kantd_was_away_or_the_job_was_suspended() {
        let (mut ledger, now) = (StepLedger::default(), Time(1));
        opened(&mut ledger, ask(1, 4, StepGpus::All, true), now);
        let is_kept = |ledger: &StepLedger, now| {
            let (answer, _) = ledger.clone().handle(ask(2, 4, StepGpus::All, true), &job(), now);
            matches!(answer, StepAnswer::Busy(_))
        };
        let mut still = ledger.clone();
        let mut later = now;
        for _ in 0..5 {
            later = later + Span::from_seconds(30);
            still.pause_leases(later);
        }
        assert!(is_kept(&still, later) && !is_kept(&ledger, later));
        // The lease has expired: suspending the job does not bring it back.
        ledger.pause_leases(later);
        assert!(!is_kept(&ledger, later));
        ledger.renew_leases(later);
        assert!(is_kept(&ledger, later) && !is_kept(&ledger, later + LEASE));
    }

    #[test]
    fn huge_counts_do_not_overflow() {
        let (mut ledger, now) = (StepLedger::default(), Time(1));
        for nonce in 0..3 {
            let StepWish::Open(mut request) = ask(nonce, u32::MAX, StepGpus::All, false) else {
                panic!("it opens");
            };
            request.others = vec![NodeName::new("b").unwrap()];
            request.cpus_each = u32::MAX;
            opened(&mut ledger, StepWish::Open(request), now);
        }
    }

    #[test]
    fn signals_arrive_once_and_an_expired_step_blocks_no_other() {
        let (mut ledger, now) = (StepLedger::default(), Time(1));
        opened(&mut ledger, ask(1, 4, StepGpus::All, true), now);
        let signal = StepWish::Signal { number: 0, signal: SignalNumber(15) };
        assert_eq!(ledger.handle(signal.clone(), &job(), now).0, StepAnswer::Done);
        let hold = StepWish::Hold { number: 0, wait: Span(0), streams: None };
        let signals = StepAnswer::Words(vec![SignalNumber(15)]);
        assert_eq!(ledger.handle(hold.clone(), &job(), now).0, signals);
        assert_eq!(ledger.handle(hold, &job(), now).0, StepAnswer::Words(vec![]));
        let late = now + LEASE;
        assert_eq!(opened(&mut ledger, ask(2, 4, StepGpus::All, true), late).number, 1);
        ledger.handle(close(0), &job(), late);
        assert!(matches!(ledger.handle(signal, &job(), late).0, StepAnswer::Refused(_)));
        let StepAnswer::List(all) = ledger.handle(StepWish::List, &job(), late).0 else { panic!() };
        assert_eq!(all.iter().filter(|step| step.ended_at.is_none()).count(), 1);
    }
}
