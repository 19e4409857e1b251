//! Keeps the engine's snapshot up to date with the state. After each batch of events it reads only
//! what the events name, so that a change costs the same in a large cluster as in a small one. It
//! can be rebuilt from the state at any time.

mod news;
mod touched;

pub use news::SnapshotChanges;

use super::UsedSoFar;
use crate::event::Event;
use crate::state::State;
use common::id::JobId;
use common::resource::Request;
use engine::Snapshot;
use news::{Aside, Is, JobNews};
use std::collections::BTreeMap;
use std::sync::Arc;
use touched::Touched;

/// A snapshot that is updated from events.
#[derive(Debug, Clone, Default)]
pub struct SnapshotKeeper {
    snapshot: Snapshot,
    /// The shared request of each unfinished array.
    requests: BTreeMap<JobId, Arc<Request>>,
}

impl SnapshotKeeper {
    /// Builds the snapshot of a whole state.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let touched = Touched { jobs: state.live().collect(), ..Touched::all_but_jobs(state) };
        Self::default().with_touched(state, touched)
    }

    /// Builds a snapshot without jobs, which are its largest part, for questions of what could ever
    /// start.
    #[must_use]
    pub fn without_jobs(state: &State) -> Self {
        Self::default().with_touched(state, Touched::all_but_jobs(state))
    }

    fn with_touched(mut self, state: &State, touched: Touched) -> Self {
        let news = news::read(&self, state, touched);
        self.apply_changes(news);
        self
    }

    /// Applies events. The state must be the one right after these events, and no event may be
    /// missing: resources that one job released may already be held by another.
    pub fn update<'a>(&mut self, state: &State, events: impl IntoIterator<Item = &'a Event>) {
        let news = self.read_changes(state, events);
        self.apply_changes(news);
    }

    /// The first half of [`Self::update`], which only reads the state. The result is valid until
    /// other news is kept.
    #[must_use]
    pub fn read_changes<'a>(
        &self,
        state: &State,
        events: impl IntoIterator<Item = &'a Event>,
    ) -> SnapshotChanges {
        let mut touched = Touched::default();
        events.into_iter().for_each(|event| touched.add(state, event));
        news::read(self, state, touched)
    }

    /// An estimate of the number of jobs and tasks that [`Self::read_changes`] reads. If it is
    /// large, read a copy of the state.
    #[must_use]
    pub fn estimate_reads(state: &State, events: &[Event]) -> usize {
        touched::estimate_reads(state, events)
    }

    /// The second half of [`Self::update`], which does not need the state.
    pub fn apply_changes(&mut self, news: SnapshotChanges) {
        let SnapshotChanges { policy, nodes, asking, jobs, requests, done, moves, reservations } =
            news;
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
            if self.snapshot.waiting_job(key).is_some() {
                self.snapshot.remove_job(key);
            }
        }
        self.requests.extend(requests);
        self.apply_jobs(jobs);
        done.iter().for_each(|job| drop(self.requests.remove(job)));
        if let Some(moves) = moves {
            self.snapshot.set_move_times(moves);
        }
        if let Some(reservations) = reservations {
            self.snapshot.set_reservations(reservations);
        }
    }

    /// Releases resources first and allocates them afterwards, since a job may hold what another
    /// one released, in whatever order their keys are.
    fn apply_jobs(&mut self, jobs: Vec<JobNews>) {
        let mut holding = Vec::new();
        let mut beside = Vec::with_capacity(jobs.len());
        for JobNews { key, is, aside } in jobs {
            match is {
                Is::Running(job) => {
                    if self.snapshot.running_job(key).is_none_or(|known| **known != job) {
                        if self.snapshot.running_job(key).is_some() {
                            self.snapshot.remove_job(key);
                        }
                        holding.push(job);
                    }
                }
                Is::Waiting(job) if self.snapshot.waiting_job(key).is_some_and(|k| **k == job) => {}
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

    /// Updates past use. It decays by the hour, so rare updates are enough.
    pub fn set_usage(&mut self, used: UsedSoFar) {
        self.snapshot.set_usage(used.usage);
        self.snapshot.set_queue_use(used.of_queues);
    }

    /// The current snapshot.
    #[must_use]
    pub const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    #[must_use]
    pub fn into_snapshot(self) -> Snapshot {
        self.snapshot
    }

    /// Access for what the shell carries from round to round: reservations for waiting jobs, and
    /// the time.
    pub const fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }
}
