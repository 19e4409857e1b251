//! The step of one role: surplus replicas stop, missing ones start, and those of old revisions are
//! replaced.

use super::{Plan, ReplicaNow, is_current, may_start, saturating_u32, stop};
use common::id::Ordinal;
use common::service::{RoleSpec, ServiceSpec, StopReason};
use common::time::Time;
use state::service::Service;
use state::{Command, ReplicaPlace};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The most replicas that one step submits or stops for a role; the next step goes on.
const AT_ONCE: usize = 64;

pub(super) struct Step<'a> {
    pub(super) service: &'a Service,
    pub(super) spec: &'a ServiceSpec,
    pub(super) role: &'a RoleSpec,
    /// Whether nodes have reported on all replicas that run, or have had the time to do so.
    pub(super) is_known: bool,
    /// Whether nothing starts, because the replicas that start together come first.
    pub(super) is_held: bool,
    pub(super) now: Time,
}

impl Step<'_> {
    pub(super) fn plan_role(&self, replicas: &[ReplicaNow], plan: &mut Plan) {
        let own = || replicas.iter().filter(|replica| replica.role == self.role.name);
        let alive = || own().filter(|replica| !replica.is_ending());
        let is_current = |replica: &&ReplicaNow| is_current(self.service, replica);
        let mut current: Vec<&ReplicaNow> = alive().filter(is_current).collect();
        let mut old: Vec<&ReplicaNow> = alive().filter(|one| !is_current(one)).collect();
        let taken = own().filter(is_current).map(|replica| replica.ordinal).collect();
        let mut surplus = current.len() + old.len();
        if self.is_known {
            self.scale_down(&mut current, &mut old, plan);
        }
        surplus -= current.len() + old.len();
        if !self.is_held {
            self.start(&current, &old, &taken, plan);
        }
        if self.is_known {
            let before = plan.commands.len();
            self.replace(&current, &old, plan);
            // What stops otherwise is counted first; the next step goes on.
            if plan.commands.len() == before && surplus == 0 {
                self.leave_drained_nodes(&current, &old, plan);
            }
        }
    }

    fn wanted(&self) -> u32 {
        self.service.wanted(&self.role.name)
    }

    /// Whether only canaries of the current revision may start.
    fn is_canary_only(&self) -> bool {
        self.service.update.is_some_and(|update| !update.is_promoted)
    }

    fn is_healthy(&self, replica: &ReplicaNow) -> bool {
        replica.is_healthy(&self.spec.update, self.now)
    }

    /// The places of the current revision that should be taken.
    fn places_to_fill(&self, old: &[&ReplicaNow]) -> u32 {
        let (wanted, old) = (self.wanted(), saturating_u32(old.len()));
        if self.is_canary_only() {
            wanted.min(self.spec.update.canary)
        } else if self.service.is_paused {
            wanted.saturating_sub(old)
        } else {
            wanted
        }
    }

    /// Stops replicas beyond the wanted number, and takes them out of the lists. While those that
    /// stay are not ready yet, it leaves all ready ones but the `max_parallel` that may be missing,
    /// and of old revisions all but those that an update may leave missing.
    fn scale_down(
        &self,
        current: &mut Vec<&ReplicaNow>,
        old: &mut Vec<&ReplicaNow>,
        plan: &mut Plan,
    ) {
        let wanted = self.wanted();
        let kept = wanted.saturating_sub(self.spec.update.max_parallel) as usize;
        let ready = current.iter().chain(old.iter()).filter(|one| one.is_ready()).count();
        let mut surplus = Surplus { ready, kept };
        current.sort_by_key(|one| self.stop_order(one));
        current.retain(|replica| {
            let is_stopped = replica.ordinal.0 >= wanted && surplus.try_stop(replica);
            if is_stopped {
                plan.commands.push(stop(replica, StopReason::ScaledDown));
            }
            !is_stopped
        });
        if !(self.service.is_paused || self.is_canary_only()) {
            return;
        }
        // Nothing else stops replicas of old revisions now.
        surplus.kept = self.kept_in_update();
        let mut beyond = old.len().saturating_sub(wanted as usize);
        old.sort_by_key(|one| (one.ordinal.0 < wanted, self.stop_order(one)));
        old.retain(|replica| {
            let is_stopped = beyond > 0 && surplus.try_stop(replica);
            if is_stopped {
                beyond -= 1;
                let is_surplus = replica.ordinal.0 >= wanted;
                let why = if is_surplus { StopReason::ScaledDown } else { StopReason::Replaced };
                plan.commands.push(stop(replica, why));
            }
            !is_stopped
        });
    }

    /// Replicas that are of less use stop first, and of equal ones the highest place. One of which
    /// nothing is known may be ready, so it stops after those that are known not to be.
    fn stop_order(&self, replica: &ReplicaNow) -> (bool, bool, bool, Reverse<Ordinal>) {
        let (is_ready, is_healthy) = (replica.is_ready(), self.is_healthy(replica));
        (is_ready, replica.is_unknown(), is_healthy, Reverse(replica.ordinal))
    }

    /// The number of replicas that an update leaves ready.
    fn kept_in_update(&self) -> usize {
        self.wanted().saturating_sub(self.spec.update.missing_max()) as usize
    }

    fn start(
        &self,
        current: &[&ReplicaNow],
        old: &[&ReplicaNow],
        taken: &BTreeSet<Ordinal>,
        plan: &mut Plan,
    ) {
        let mut room = self.starts_allowed(current, old).min(AT_ONCE);
        let missing =
            (0..self.places_to_fill(old)).map(Ordinal).filter(|place| !taken.contains(place));
        for ordinal in missing {
            if room == 0 {
                return;
            }
            let role = &self.role.name;
            if may_start(self.service, role, ordinal, self.now, plan) {
                room -= 1;
                plan.commands.push(Command::StartReplicas {
                    service: self.service.name.clone(),
                    revision: self.service.current,
                    places: vec![ReplicaPlace { role: role.clone(), ordinal }],
                });
            }
        }
    }

    /// The number of replicas that may start beside those that are there.
    fn starts_allowed(&self, current: &[&ReplicaNow], old: &[&ReplicaNow]) -> usize {
        let update = &self.spec.update;
        let extra = match (self.is_canary_only(), self.service.is_paused) {
            (true, _) => update.canary,
            (false, true) => 0,
            (false, false) => update.max_surge,
        };
        let most = self.wanted().saturating_add(extra) as usize;
        let room = most.saturating_sub(current.len() + old.len());
        if old.is_empty() || self.service.is_paused {
            return room;
        }
        let unhealthy = current.iter().filter(|one| !self.is_healthy(one)).count();
        let parallel = update.max_parallel.max(extra) as usize;
        room.min(parallel.saturating_sub(unhealthy))
    }

    /// Stops replicas of old revisions, as far as enough others remain: new ones that are healthy,
    /// and old ones that are ready.
    fn replace(&self, current: &[&ReplicaNow], old: &[&ReplicaNow], plan: &mut Plan) {
        if self.service.is_paused || self.is_canary_only() {
            return;
        }
        let healthy = current.iter().filter(|one| self.is_healthy(one)).count();
        let ready = healthy + old.iter().filter(|one| one.is_ready()).count();
        let mut candidates = old.to_vec();
        candidates.sort_by_key(|one| self.stop_order(one));
        let mut surplus = Surplus { ready, kept: self.kept_in_update() };
        for replica in candidates.into_iter().take(AT_ONCE) {
            if surplus.try_stop(replica) {
                plan.commands.push(stop(replica, StopReason::Replaced));
            }
        }
        let soon = current.iter().chain(old).filter_map(|one| one.healthy_at(&self.spec.update));
        soon.filter(|at| *at > self.now).for_each(|at| plan.look_again(at));
    }

    /// Stops replicas on drained nodes, as far as enough others remain. Each gets its place again
    /// on another node, before the next one stops.
    fn leave_drained_nodes(&self, current: &[&ReplicaNow], old: &[&ReplicaNow], plan: &mut Plan) {
        let all = || current.iter().chain(old);
        let ready = all().filter(|one| one.is_ready()).count();
        let kept = self.wanted().saturating_sub(self.spec.update.max_parallel) as usize;
        let mut surplus = Surplus { ready, kept };
        let mut leaving: Vec<&&ReplicaNow> = all().filter(|one| one.must_leave).collect();
        leaving.sort_by_key(|one| self.stop_order(one));
        for replica in leaving.into_iter().take(AT_ONCE) {
            if surplus.try_stop(replica) {
                plan.commands.push(stop(replica, StopReason::Replaced));
            }
        }
    }
}

/// The replicas that are known to be ready, and the number that must remain.
struct Surplus {
    ready: usize,
    kept: usize,
}

impl Surplus {
    /// Whether a replica may stop now. If so, it no longer counts.
    fn try_stop(&mut self, replica: &ReplicaNow) -> bool {
        if replica.is_ready() {
            let may_stop = self.ready > self.kept;
            self.ready -= usize::from(may_stop);
            return may_stop;
        }
        // One of which nothing is known does not count as ready, but may be.
        !replica.is_unknown() || self.ready >= self.kept
    }
}
