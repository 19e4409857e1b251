//! The replicas of a simulated service, with their queues.

use super::setup::Setup;
use autoscale::KvLoad;
use common::autoscale::{Fraction, Replicas, Requests, Tokens};
use common::time::Time;
use std::collections::{BTreeMap, VecDeque};
use trace::Request;

/// The number of a replica. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplicaNumber(u32);

/// The place of a request in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestIndex(pub usize);

/// A request that begins on a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    pub request: RequestIndex,
    pub replica: ReplicaNumber,
}

/// A replica that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    pub replica: ReplicaNumber,
    pub ready_at: Time,
}

/// When a replica started and ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    pub start: Time,
    pub end: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Ready,
    Draining,
}

#[derive(Debug)]
struct Replica {
    start: Time,
    phase: Phase,
    /// With the time when each began.
    running: BTreeMap<RequestIndex, Time>,
    queue: VecDeque<RequestIndex>,
}

impl Replica {
    const fn new(start: Time, phase: Phase) -> Self {
        Self { start, phase, running: BTreeMap::new(), queue: VecDeque::new() }
    }

    fn in_flight(&self) -> usize {
        self.running.len() + self.queue.len()
    }
}

/// All replicas, and the requests that are held because none was ready.
pub struct Fleet<'a> {
    setup: &'a Setup,
    requests: &'a [Request],
    replicas: BTreeMap<ReplicaNumber, Replica>,
    held: VecDeque<RequestIndex>,
    next: u32,
    ended: Vec<Lifetime>,
}

/// What the replicas that are ready report, as sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Load {
    pub ready: Replicas,
    pub held: Requests,
    pub in_flight: Requests,
    pub waiting: Requests,
    pub kv_usage: Fraction,
    pub gpu_usage: Fraction,
    pub kv: Vec<KvLoad>,
}

impl<'a> Fleet<'a> {
    /// A fleet whose initial replicas are ready.
    pub fn new(setup: &'a Setup, requests: &'a [Request], now: Time) -> Self {
        let ready = |number| (ReplicaNumber(number), Replica::new(now, Phase::Ready));
        let replicas = (0..setup.initial.0).map(ready).collect();
        let (held, next, ended) = (VecDeque::new(), setup.initial.0, Vec::new());
        Self { setup, requests, replicas, held, next, ended }
    }

    /// A request arrives. Returns it if it begins at once.
    pub fn arrive(&mut self, request: RequestIndex, now: Time) -> Option<Begun> {
        let ready = self.replicas.iter().filter(|(_, replica)| replica.phase == Phase::Ready);
        let least = ready.min_by_key(|(number, replica)| (replica.in_flight(), **number));
        let Some((number, _)) = least.filter(|_| self.held.is_empty()) else {
            self.held.push_back(request);
            return None;
        };
        let replica = *number;
        self.replicas.get_mut(&replica)?.queue.push_back(request);
        self.begin_next(replica, now)
    }

    /// A replica has started. Returns the requests that begin on it.
    pub fn become_ready(&mut self, number: ReplicaNumber, now: Time) -> Vec<Begun> {
        match self.replicas.get_mut(&number) {
            Some(replica) if replica.phase == Phase::Starting => replica.phase = Phase::Ready,
            // It was removed meanwhile.
            _ => return Vec::new(),
        }
        std::iter::from_fn(|| self.begin_next(number, now)).collect()
    }

    /// A request ends. Returns the one that begins in its place.
    pub fn complete(&mut self, ended: Begun, now: Time) -> Option<Begun> {
        let replica = self.replicas.get_mut(&ended.replica)?;
        replica.running.remove(&ended.request);
        let next = self.begin_next(ended.replica, now);
        self.end_if_drained(ended.replica, now);
        next
    }

    /// Begins the next request of a replica's queue, or of those held, if it has a free place.
    fn begin_next(&mut self, number: ReplicaNumber, now: Time) -> Option<Begun> {
        let replica = self.replicas.get_mut(&number)?;
        if replica.running.len() >= self.setup.concurrency as usize {
            return None;
        }
        let is_ready = replica.phase == Phase::Ready;
        let held = if is_ready { self.held.pop_front() } else { None };
        let request = match (replica.queue.pop_front(), held) {
            (Some(own), Some(held)) => {
                self.held.push_front(held);
                own
            }
            (own, held) => own.or(held)?,
        };
        replica.running.insert(request, now);
        Some(Begun { request, replica: number })
    }

    /// Starts or removes replicas. Those that start are removed first, the newest first, and then
    /// those with the fewest requests.
    pub fn scale(&mut self, wanted: Replicas, now: Time) -> Vec<Started> {
        let staying = self.replicas.values().filter(|replica| replica.phase != Phase::Draining);
        let count = staying.count();
        let wanted = wanted.0 as usize;
        let started = (count..wanted).map(|_| self.start(now)).collect();
        (wanted..count).for_each(|_| self.remove_one(now));
        started
    }

    fn start(&mut self, now: Time) -> Started {
        let replica = ReplicaNumber(self.next);
        self.next += 1;
        self.replicas.insert(replica, Replica::new(now, Phase::Starting));
        Started { replica, ready_at: now + self.setup.start_delay }
    }

    fn remove_one(&mut self, now: Time) {
        let starting = self.replicas.iter().filter(|(_, replica)| replica.phase == Phase::Starting);
        let newest = starting.map(|(number, _)| *number).next_back();
        let ready = self.replicas.iter().filter(|(_, replica)| replica.phase == Phase::Ready);
        let least = ready
            .min_by_key(|(number, replica)| (replica.in_flight(), std::cmp::Reverse(**number)))
            .map(|(number, _)| *number);
        let Some(number) = newest.or(least) else { return };
        if let Some(replica) = self.replicas.get_mut(&number) {
            replica.phase = Phase::Draining;
        }
        self.end_if_drained(number, now);
    }

    fn end_if_drained(&mut self, number: ReplicaNumber, now: Time) {
        let is_done = self
            .replicas
            .get(&number)
            .is_some_and(|replica| replica.phase == Phase::Draining && replica.in_flight() == 0);
        if is_done && let Some(replica) = self.replicas.remove(&number) {
            self.ended.push(Lifetime { start: replica.start, end: now });
        }
    }

    /// The sums over the replicas that are ready.
    pub fn load(&self, now: Time) -> Load {
        let mut load = Load { held: whole(self.held.len()), ..Load::default() };
        for replica in self.replicas.values().filter(|replica| replica.phase == Phase::Ready) {
            let kv = self.kv_load(replica, now);
            load.ready.0 += 1;
            load.in_flight.0 += whole(replica.in_flight()).0;
            load.waiting.0 += whole(replica.queue.len()).0;
            load.kv_usage.0 += (kv.used.0 * 1000).checked_div(kv.capacity.0).unwrap_or(0).min(1000);
            let slots = u64::from(self.setup.concurrency.max(1));
            load.gpu_usage.0 += whole(replica.running.len()).0 / slots;
            load.kv.push(kv);
        }
        load
    }

    fn kv_load(&self, replica: &Replica, now: Time) -> KvLoad {
        let used = replica.running.iter().map(|(request, begin)| {
            let passed = now.since(*begin).0;
            self.tokens(*request, |request| (passed, request.service.0.max(1)))
        });
        let head = replica.queue.front().map(|request| self.tokens(*request, |_| (0, 1)));
        KvLoad {
            capacity: self.setup.kv_tokens,
            used: Tokens(used.map(|tokens| tokens.0).sum()),
            running: u32::try_from(replica.running.len()).unwrap_or(u32::MAX),
            head,
            ..KvLoad::default()
        }
    }

    /// The tokens of a request in memory, after a part of its time. Without lengths in the trace,
    /// the memory is shared by as many requests as a replica works on.
    fn tokens(&self, index: RequestIndex, part: impl Fn(&Request) -> (u64, u64)) -> Tokens {
        let request = self.requests.get(index.0);
        let lengths = request.and_then(|request| {
            let (passed, whole) = part(request);
            let answer = u64::from(request.tokens_out?) * 1000 * passed.min(whole) / whole;
            Some(Tokens(u64::from(request.tokens_in?) * 1000 + answer))
        });
        let share = self.setup.kv_tokens.0 / u64::from(self.setup.concurrency.max(1));
        lengths.unwrap_or(Tokens(share))
    }

    /// The lifetimes of all replicas up to now, for those that still run.
    pub fn lifetimes(&self, now: Time) -> impl Iterator<Item = Lifetime> {
        let running =
            self.replicas.values().map(move |replica| Lifetime { start: replica.start, end: now });
        self.ended.iter().copied().chain(running)
    }
}

fn whole(count: usize) -> Requests {
    Requests::whole(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::time::Span;

    fn at(seconds: u64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    fn requests(count: usize) -> Vec<Request> {
        let service = Span::from_seconds(10);
        let request =
            Request { arrival: Span(0), service, tokens_in: Some(100), tokens_out: Some(50) };
        vec![request; count]
    }

    fn setup(initial: u32) -> Setup {
        let (initial, kv_tokens) = (Replicas(initial), Tokens::whole(1000));
        Setup { concurrency: 2, initial, kv_tokens, ..Setup::default() }
    }

    #[test]
    fn requests_go_to_the_replica_with_the_fewest() {
        let (setup, requests) = (setup(2), requests(6));
        let mut fleet = Fleet::new(&setup, &requests, at(0));
        let begun: Vec<Option<u32>> = (0..6)
            .map(|index| fleet.arrive(RequestIndex(index), at(0)).map(|begun| begun.replica.0))
            .collect();
        assert_eq!(begun, [Some(0), Some(1), Some(0), Some(1), None, None]);
        let load = fleet.load(at(5));
        assert_eq!((load.in_flight, load.waiting), (Requests::whole(6), Requests::whole(2)));
        assert_eq!(load.gpu_usage, Fraction::whole(2));
        // Two requests that are half done, with 125 tokens each.
        assert_eq!(load.kv[0].used, Tokens::whole(250));
        assert_eq!(load.kv[0].head, Some(Tokens::whole(100)));
        assert_eq!(load.kv_usage, Fraction(500));
        let first = Begun { request: RequestIndex(0), replica: ReplicaNumber(0) };
        let next = fleet.complete(first, at(10)).unwrap();
        assert_eq!(next, Begun { request: RequestIndex(4), replica: ReplicaNumber(0) });
    }

    #[test]
    fn requests_are_held_until_a_replica_is_ready() {
        let (setup, requests) = (setup(0), requests(4));
        let mut fleet = Fleet::new(&setup, &requests, at(0));
        for index in 0..3 {
            assert_eq!(fleet.arrive(RequestIndex(index), at(0)), None);
        }
        let started = fleet.scale(Replicas(1), at(1));
        assert_eq!(started[0].ready_at, at(91));
        let begun = fleet.become_ready(started[0].replica, at(91));
        assert_eq!(begun.len(), 2, "it has two places");
        assert_eq!(fleet.arrive(RequestIndex(3), at(92)), None);
        let next = fleet.complete(begun[0], at(101)).unwrap();
        assert_eq!(next.request, RequestIndex(2), "in the order of arrival");
    }

    #[test]
    fn a_replica_that_is_removed_finishes_its_requests_first() {
        let (setup, requests) = (setup(2), requests(3));
        let mut fleet = Fleet::new(&setup, &requests, at(0));
        let begun: Vec<Begun> =
            (0..3).filter_map(|index| fleet.arrive(RequestIndex(index), at(0))).collect();
        let started = fleet.scale(Replicas(3), at(1));
        fleet.scale(Replicas(1), at(2));
        assert_eq!(fleet.become_ready(started[0].replica, at(91)), [], "removed before");
        // The other one is that with one request.
        assert_eq!(fleet.load(at(3)).in_flight, Requests::whole(2));
        assert_eq!(fleet.complete(begun[1], at(10)), None);
        let lifetimes: Vec<Lifetime> = fleet.lifetimes(at(20)).collect();
        let lifetime = |start, end| Lifetime { start: at(start), end: at(end) };
        assert_eq!(lifetimes, [lifetime(1, 2), lifetime(0, 10), lifetime(0, 20)]);
    }
}
