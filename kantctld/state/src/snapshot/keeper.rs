//! Keeps the engine's snapshot in step with the state: after each batch of events only what they
//! name is looked at again, so that a change costs the same in a large cluster as in a small one.
//! Never holds what the state does not; a keeper can be made anew at any moment.

mod news;

pub use news::News;

use super::UsedSoFar;
use crate::event::Event;
use crate::remembered::State;
use common::id::JobId;
use common::resource::Request;
use engine::Snapshot;
use news::{Aside, Is, JobNews, Touched};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A snapshot that follows a state.
#[derive(Debug, Clone, Default)]
pub struct Keeper {
    snapshot: Snapshot,
    /// The tasks of an array share one request; of arrays that live.
    requests: BTreeMap<JobId, Arc<Request>>,
}

impl Keeper {
    /// Everything a state holds.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let touched = Touched { jobs: state.live().collect(), ..Touched::outline(state) };
        Self::default().with(state, touched)
    }

    /// What there is without jobs, which are the most of it: for whoever asks what could ever be.
    #[must_use]
    pub fn outline(state: &State) -> Self {
        Self::default().with(state, Touched::outline(state))
    }

    fn with(mut self, state: &State, touched: Touched) -> Self {
        let news = news::read(&self, state, touched);
        self.keep(news);
        self
    }

    /// Takes up what events tell. The state must be the one they came out of, with no event between
    /// left out: what one job gave up, another may hold by now.
    pub fn update<'a>(&mut self, state: &State, events: impl IntoIterator<Item = &'a Event>) {
        let news = self.news(state, events);
        self.keep(news);
    }

    /// The first half of [`Self::update`], which needs the state and changes nothing. It holds
    /// until something else is kept.
    #[must_use]
    pub fn news<'a>(&self, state: &State, events: impl IntoIterator<Item = &'a Event>) -> News {
        let mut touched = Touched::default();
        events.into_iter().for_each(|event| touched.add(state, event));
        news::read(self, state, touched)
    }

    /// About how many jobs and tasks [`Self::news`] reads for these: of many, read a copy of the
    /// state.
    #[must_use]
    pub fn reads(state: &State, events: &[Event]) -> usize {
        news::count(state, events)
    }

    /// The second half, which needs the state no more.
    pub fn keep(&mut self, news: News) {
        let News { policy, nodes, asking, jobs, requests, done, moves, reservations } = news;
        if let Some(policy) = policy {
            self.snapshot.set_policy(policy);
        }
        for (name, node) in nodes {
            match node {
                Some(node) => self.snapshot.set_node(&node),
                None => self.snapshot.remove_node(&name),
            }
        }
        for key in asking {
            self.requests.remove(&key.job);
            if self.snapshot.waiting(key).is_some() {
                self.snapshot.remove_job(key);
            }
        }
        self.requests.extend(requests);
        self.keep_jobs(jobs);
        done.iter().for_each(|job| drop(self.requests.remove(job)));
        if let Some(moves) = moves {
            self.snapshot.set_moves(moves);
        }
        if let Some(reservations) = reservations {
            self.snapshot.set_reservations(reservations);
        }
    }

    /// First all that gives something up, then all that holds something: one may hold what another
    /// gave up, whichever key comes first.
    fn keep_jobs(&mut self, jobs: Vec<JobNews>) {
        let mut holding = Vec::new();
        let mut beside = Vec::with_capacity(jobs.len());
        for JobNews { key, is, aside } in jobs {
            match is {
                Is::Running(job) => {
                    if self.snapshot.running(key).is_none_or(|known| **known != job) {
                        if self.snapshot.running(key).is_some() {
                            self.snapshot.remove_job(key);
                        }
                        holding.push(job);
                    }
                }
                Is::Waiting(job) if self.snapshot.waiting(key).is_some_and(|k| **k == job) => {}
                Is::Waiting(job) => self.snapshot.set_waiting(job),
                Is::Gone => self.snapshot.remove_job(key),
            }
            beside.extend(aside.map(|aside| (key, aside)));
        }
        holding.into_iter().for_each(|job| self.snapshot.set_running(job));
        for (key, Aside { moving, movable, growing }) in beside {
            self.snapshot.set_moving(key, moving);
            self.snapshot.set_movable(key, movable);
            self.snapshot.set_growing(key, growing);
        }
    }

    /// Says anew what everybody used. It fades by hours: now and then is enough.
    pub fn set_usage(&mut self, used: UsedSoFar) {
        self.snapshot.set_usage(used.usage);
        self.snapshot.set_queue_use(used.of_queues);
    }

    /// What a round should see.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The same, for keeps.
    #[must_use]
    pub fn into_snapshot(self) -> Snapshot {
        self.snapshot
    }

    /// For what the shell hands from round to round: promises, and the time.
    pub const fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }
}
