//! The first job of a queue that has no room gets a shadow: the time and place at which it will,
//! by the time limits of the jobs that hold it up. Later jobs pass only if they do not touch that.
//!
//! Source: D. Lifka, "The ANL/IBM SP scheduling system" (1995), known as EASY; man slurm.conf,
//! SchedulerType=sched/backfill. It is conservative backfill with a depth of one job a queue.
//! Reads: time limits of running, starting and waiting jobs. Never: preempts, or looks at how long
//! jobs really run.
//! Knobs: none.
//!
//! A later job may use all that is free if its time limit ends it before the shadow time, else all
//! that is free besides the shadow's exact CPUs, GPUs and memory. A job without a time limit never
//! ends; if a shadow depends on one, its time is the end of time, and jobs with a limit may pass.
//!
//! Example. Nodes a and b of 4 CPUs; a is in use for 60 minutes more. Job 1 asks for both nodes
//! and gets a shadow in 60 minutes. Job 2 asks for a node for 30 minutes: it starts on b. Job 3,
//! had it come before job 2, asks for a node for 90 minutes: it waits, it would delay job 1.

use crate::backfill::endings::{Endings, NEVER};
use crate::cluster::{Cluster, NodeIndex};
use crate::free::View;
use crate::shape::Shape;
use crate::trial::Trial;
use common::id::{JobKey, QueueName};
use common::resource::Share;
use common::time::Time;
use common::unit::Bytes;
use std::collections::BTreeMap;

/// What is promised to one job.
#[derive(Debug, Clone)]
struct Shadow {
    key: JobKey,
    at: Time,
    /// What of today's free resources it counts on.
    held: Vec<(NodeIndex, Share)>,
}

/// The shadows cast in a round: at most one a queue.
#[derive(Debug, Default)]
pub(crate) struct Shadows<'a> {
    by_queue: BTreeMap<&'a QueueName, Shadow>,
    /// All that is promised, for a later shadow to keep out of.
    promised: Vec<(NodeIndex, Share)>,
}

impl<'a> Shadows<'a> {
    /// Has the first job of this queue that had no room got its shadow?
    pub fn has(&self, queue: &QueueName) -> bool {
        self.by_queue.contains_key(queue)
    }

    /// The shadow time of a job.
    pub fn time_of(&self, queue: &QueueName, key: JobKey) -> Option<Time> {
        self.by_queue.get(queue).filter(|shadow| shadow.key == key).map(|shadow| shadow.at)
    }

    /// What is free for a job that ends then.
    pub fn view<'t>(&self, cluster: &Cluster<'_>, trial: &'t Trial, ends: Time) -> View<'t> {
        let mut view = trial.view();
        let is_over = |shadow: &&Shadow| ends < NEVER && ends <= shadow.at;
        for shadow in self.by_queue.values().filter(|shadow| !is_over(shadow)) {
            for (at, share) in &shadow.held {
                view.hold_back(cluster, *at, share);
            }
        }
        view
    }

    /// Casts the shadow of a job that has no room now. Says whether there will ever be any.
    pub fn cast(
        &mut self,
        cluster: &Cluster<'_>,
        trial: &mut Trial,
        endings: &Endings,
        shape: &Shape<'_>,
        job: (&'a QueueName, JobKey),
        now: Time,
    ) -> bool {
        let room = endings.make_room(cluster, trial, shape, &self.promised, now);
        let Some((time, placement)) = room else { return false };
        let view = trial.view();
        let held = placement.shares.iter().map(|(at, share)| {
            let mut held = share.clone();
            held.memory = self.memory_held(&view, *at, share, cluster, endings, time);
            (*at, held)
        });
        let held = held.collect();
        self.promised.extend(placement.shares);
        self.by_queue.insert(job.0, Shadow { key: job.1, at: time, held });
        true
    }

    /// How much of a node's free memory a promise counts on: what it needs, less what comes free
    /// before its time. Beside another promise nothing is deducted, so none is deducted twice.
    fn memory_held(
        &self,
        view: &View<'_>,
        at: NodeIndex,
        share: &Share,
        cluster: &Cluster<'_>,
        endings: &Endings,
        time: Time,
    ) -> Bytes {
        if self.promised.iter().any(|(other, _)| *other == at) {
            return share.memory;
        }
        let node = cluster.node(at);
        let free_then = view.on(at).memory + endings.memory_freed(node.name, time);
        let spare_then = free_then.min(node.inventory.memory) - share.memory;
        view.on(at).memory - spare_then
    }
}
