//! The releases on the controllers of the simulated world: an operator installs the newer or the
//! older one on a controller, and in the end the newer one on all of them. A judge watches when the
//! rules level rises.

use super::World;
use crate::judge::Complaint;
use crate::machine::{NEW_RELEASE, OLD_RELEASE};
use common::id::ControllerId;
use common::rules_level::{RulesLevel, RulesLevels};
use lead::rules_level::REPORTED_FOR;
use replica::LogError;

/// Time that a report takes until it is read, at most, in milliseconds.
const DELAY_MS: u64 = 15_000;

impl World {
    /// The release for a new controller: that of the leader.
    pub(super) fn release_in_use(&self) -> RulesLevels {
        let leader = self.leader().and_then(|(id, _)| self.hosts.get(&id));
        leader.map_or(OLD_RELEASE, |host| host.levels)
    }

    /// Stops a controller and starts it with the other release.
    pub(super) fn install_other(&mut self, id: ControllerId, lasts_ms: u64) {
        let Some(host) = self.hosts.get(&id) else { return };
        let is_new = host.levels == NEW_RELEASE;
        self.install(id, if is_new { OLD_RELEASE } else { NEW_RELEASE });
        self.kill_controller(id);
        self.start_soon(id, lasts_ms.clamp(100, 3_000));
    }

    /// Installs the new release on a controller that cannot run with the old one any more.
    pub(super) fn install_new(&mut self, id: ControllerId) {
        self.install(id, NEW_RELEASE);
        self.start_soon(id, 1_000);
    }

    fn install(&mut self, id: ControllerId, levels: RulesLevels) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        (host.levels, host.installed_ms) = (levels, Some(self.now_ms));
        self.story.add(self.now_ms, || format!("c{id} gets the release with {levels}"));
    }

    /// Whether a controller ended because it runs the old release in a cluster with new rules.
    pub(super) fn is_too_old(&self, id: ControllerId, error: &LogError) -> bool {
        let is_old = self.hosts.get(&id).is_some_and(|host| host.levels == OLD_RELEASE);
        is_old && matches!(error, LogError::UnknownLevel { .. })
    }

    /// Once one controller has the new release, all get it in the end.
    pub(super) fn complete_upgrade(&mut self) {
        if self.hosts.values().all(|host| host.levels == OLD_RELEASE) {
            return;
        }
        let is_old = |id: &ControllerId| self.hosts[id].levels == OLD_RELEASE;
        let old: Vec<ControllerId> = self.hosts.keys().copied().filter(is_old).collect();
        for id in old {
            self.install_other(id, 1_000);
        }
    }

    /// Whether the upgrade is complete, if there was one.
    pub(super) fn is_upgraded(&self, in_force: RulesLevel) -> bool {
        let mut live = self.hosts.values().filter(|host| !host.is_gone && !host.is_broken);
        live.all(|host| host.levels.newest == in_force)
    }

    /// All members must know a level that the leader raises, except those that got the old release
    /// a moment ago.
    pub(super) fn judge_rules(&mut self, leader: ControllerId, to: RulesLevel) {
        let process = self.hosts.get(&leader).and_then(|host| host.process.as_ref());
        let Some(members) = process.map(|process| process.replica().members()) else { return };
        for (id, host) in self.hosts.iter().filter(|(id, _)| members.has(**id)) {
            let is_recent =
                host.installed_ms.is_some_and(|at| self.now_ms - at <= REPORTED_FOR.0 + DELAY_MS);
            if host.levels.newest < to && !is_recent {
                let text = format!("c{leader} raises the level to {to}, c{id} has {}", host.levels);
                self.complaints.push(Complaint::new("rules", text));
            }
        }
    }
}
