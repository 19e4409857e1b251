//! Checks that the victims of a round may be preempted. It does not check whether fewer would have
//! been enough.

use super::Judge;
use crate::model::decision::Decision;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::judge_ledger::sums::{Column, named_amount};
use crate::model::judge_ledger::who::principal_of_waiting;
use common::id::JobKey;
use common::job::PreemptReason;
use common::policy::queue::Queue;
use common::resource::Share;
use std::collections::BTreeSet;

impl<'a> Judge<'a> {
    pub(super) fn check_preemptions(&mut self, decisions: &'a [Decision]) {
        let mut victims: BTreeSet<JobKey> = BTreeSet::new();
        self.starts_behind = starts_after_preemption(decisions);
        for decision in decisions {
            let (key, attempt, by, reason) = match decision {
                Decision::Start { key, .. } => {
                    self.count_start_after_preemption(*key);
                    continue;
                }
                Decision::Grow { .. } => continue,
                Decision::Preempt { key, attempt, by, reason, .. }
                | Decision::Shrink { key, attempt, by, reason, .. } => (key, attempt, by, reason),
            };
            self.key = *key;
            let once = victims.insert(*key);
            self.require(once, "is made to yield twice");
            let Some(victim) = self.snapshot.running_job(*key) else {
                self.fault("is made to yield but does not run");
                continue;
            };
            self.require(victim.attempt == *attempt, "is made to yield in another attempt");
            let may = victim.may_be_preempted();
            self.require(may, "is made to yield though it, or some of it, is on its way out");
            self.require(victim.yields_to.is_none(), "is made to yield again");
            let gives = self.shares_given_up(victim, decision);
            let Some(by) = self.snapshot.waiting_job(*by).filter(|job| !job.is_kept_back()) else {
                self.fault(format!("yields to job {by}, which does not wait"));
                continue;
            };
            self.require(!self.started.contains(&by.key), "yields to a job that starts without it");
            let is_fair = self.snapshot.policy().fair_sharing;
            match decision {
                Decision::Preempt { to, .. } if *reason == PreemptReason::Move => {
                    self.check_move(victim, by, to);
                }
                _ if is_fair => self.check_yield_fair(victim, gives, by, *reason),
                _ => self.check_minimum_runtime(victim),
            }
            match reason {
                PreemptReason::Reclaim if is_fair => {}
                PreemptReason::Priority => self.check_priority_preemption(victim, by),
                PreemptReason::Reclaim => self.check_quota_reclaim(victim, gives, by),
                PreemptReason::HeadTimeout => self.check_head_timeout(victim, by),
                PreemptReason::Move => {}
            }
            if once {
                self.bounds.subtract_shares(victim, gives, &self.left);
            }
        }
        self.check_last_claim();
        self.check_movers_have_places(decisions);
    }

    /// The shares that a victim gives up: all, or those of its last nodes if it runs on without
    /// them.
    fn shares_given_up(&mut self, victim: &'a RunningJob, decision: &Decision) -> &'a [Share] {
        let all = victim.allocation.shares();
        match decision {
            Decision::Start { .. } | Decision::Grow { .. } => &[],
            Decision::Preempt { mode, .. } => {
                self.require(
                    victim.victim_mode == *mode,
                    "yields in another way than it is meant to",
                );
                all
            }
            Decision::Shrink { keeps, reason, .. } => {
                let runs_on = victim.nodes_min.is_some_and(|least| *keeps >= least);
                self.require(runs_on, "gives up nodes that it needs");
                self.require(*reason != PreemptReason::Move, "gives up nodes to move");
                let keeps = keeps.0 as usize;
                self.require((1..all.len()).contains(&keeps), "gives up no node, or all");
                all.get(keeps..).unwrap_or(all)
            }
        }
    }

    fn check_minimum_runtime(&mut self, victim: &RunningJob) {
        let least = self.queues.get(&victim.queue).map(|queue| queue.preemption.runtime_min);
        let has_run = self.now.since(victim.started_at);
        let enough = least.is_none_or(|least| has_run >= least);
        self.require(enough, "is made to yield before it has run for long enough");
    }

    fn check_priority_preemption(&mut self, victim: &RunningJob, by: &WaitingJob) {
        let queue = self.queues.get(&by.queue).copied();
        let may = queue.is_some_and(|queue| queue.preemption.by_priority);
        self.require(may, "yields to priority, which its queue does not know");
        self.require(victim.queue == by.queue, "yields to priority in another queue");
        self.require(victim.preemptible, "yields to priority though it is not preemptible");
        let qos = |name: Option<&common::id::QosName>| {
            let found = self.snapshot.policy().qos.iter().find(|qos| Some(&qos.name) == name);
            found.map_or(0, |qos| qos.priority)
        };
        let (own, other) = (qos(victim.qos.as_ref()), qos(by.qos.as_ref()));
        let is_lower = other > own || (other == own && by.nice < victim.nice);
        self.require(is_lower, "yields to a job of no higher priority");
    }

    fn check_head_timeout(&mut self, victim: &RunningJob, by: &WaitingJob) {
        let timeout = self.queues.get(&by.queue).and_then(|queue| queue.backfill.head_timeout);
        let waited = self.now.since(by.since());
        let too_long = timeout.is_some_and(|timeout| waited >= timeout);
        self.require(too_long, "yields to a job that has not waited for too long");
        self.require(victim.preemptible, "yields to a head though it is not preemptible");
        let passed = victim.started_at >= by.since();
        self.require(passed, "yields to a head that it did not pass");
    }

    /// A lender within its quota reclaims from a queue above its own.
    fn check_quota_reclaim(&mut self, victim: &RunningJob, gives: &[Share], by: &WaitingJob) {
        let may = self.queues.get(&by.queue).is_some_and(|queue| queue.preemption.reclaim);
        self.require(may, "yields to a queue that takes nothing back");
        let (own, other) =
            (self.bounds.path(principal_of_waiting(by).queue), self.bounds.path(&victim.queue));
        let above = |path: &[&Queue], queue: &Queue| path.iter().any(|q| q.name == queue.name);
        let side: Vec<&Queue> = other.iter().filter(|queue| !above(&own, queue)).copied().collect();
        let lends = own.iter().any(|queue| !above(&other, queue));
        self.require(lends, "yields its quota to its own queue or one above");
        let held = crate::model::judge_ledger::sums::Held::of(
            gives,
            super::bounds::kind_on(&self.left),
            None,
        );
        let is_lent = |column: &Column| {
            let mut named_by = side
                .iter()
                .filter_map(|queue| Some((queue, named_amount(&queue.quota.amounts, column)?)));
            named_by.any(|(queue, owed)| self.bounds.quota_used(queue, column) > owed)
        };
        let names = |column: &Column| {
            side.iter().any(|queue| named_amount(&queue.quota.amounts, column).is_some())
        };
        let any = held.amounts.keys().any(|column| is_lent(column) || !names(column));
        self.require(any, "yields what is its queue's by right");
    }
}

/// Jobs that start after the first preemption. Preemptions were decided by shares without them.
fn starts_after_preemption(decisions: &[Decision]) -> BTreeSet<JobKey> {
    let yields =
        |one: &&Decision| !matches!(one, Decision::Preempt { .. } | Decision::Shrink { .. });
    let key = |one: &Decision| match one {
        Decision::Start { key, .. } => Some(*key),
        _ => None,
    };
    decisions.iter().skip_while(yields).filter_map(key).collect()
}
