//! What a deployment does to the replicas of one role.

use common::id::{Revision, ServiceName};
use common::reason::plural;
use common::service::{RoleSpec, ServiceSpec};
use state::State;
use state::service::Service;
use std::fmt::Write as _;

pub(super) struct RolePlan<'a> {
    spec: &'a ServiceSpec,
    role: &'a RoleSpec,
    /// The wanted number afterwards.
    wanted: u32,
    /// Replicas as the specification wants them.
    kept: u32,
    /// Replicas that are replaced, or stopped because fewer are wanted.
    other: u32,
}

impl<'a> RolePlan<'a> {
    pub fn new(
        state: &State,
        name: &ServiceName,
        spec: &'a ServiceSpec,
        role: &'a RoleSpec,
    ) -> Self {
        let service = state.service(name);
        let before = service.and_then(|one| one.wanted.get(&role.name).copied());
        let wanted = role.replicas.clamp(before.unwrap_or(role.replicas.min));
        // As `Service::is_current` compares them.
        let is_same = |service: &Service, revision: Revision| {
            let before = service.revisions.get(&revision);
            let before =
                before.and_then(|before| Some((before.role(&role.name)?, before.drain_delay)));
            before == Some((role, spec.drain_delay))
        };
        let replicas = state.replicas_of(name).filter_map(|one| one.spec.ask.replica.as_ref());
        let (mut kept, mut other) = (0, 0);
        for replica in replicas.filter(|replica| replica.role == role.name) {
            match service.is_some_and(|service| is_same(service, replica.revision)) {
                true => kept += 1,
                false => other += 1,
            }
        }
        Self { spec, role, wanted, kept, other }
    }

    /// Replicas that are replaced.
    fn replaced(&self) -> u32 {
        self.other.min(self.wanted.saturating_sub(self.kept))
    }

    /// Replicas that run at a time, at the most.
    pub fn most_at_a_time(&self) -> u32 {
        let update = &self.spec.update;
        let beyond = if self.replaced() > 0 { update.max_surge.max(update.canary) } else { 0 };
        // More of them than there are replicas to replace do not start early.
        self.wanted.saturating_add(beyond.min(self.replaced()))
    }

    pub fn sentence(&self) -> String {
        let (name, update) = (&self.role.name, &self.spec.update);
        let replaced = self.replaced();
        let there = self.kept + self.other;
        let mut parts = Vec::new();
        if replaced > 0 {
            let mut text = format!(
                "{replaced} replica{} would be replaced, {} at a time",
                plural(replaced),
                update.max_parallel
            );
            if update.max_surge > 0 {
                // Writing to a string cannot fail.
                let _ = write!(text, " and up to {} beyond the wanted number", update.max_surge);
            }
            if update.canary > 0 {
                let _ = write!(text, "; {} first, the rest after a promotion", update.canary);
            }
            parts.push(text);
        }
        let kept = self.kept.min(self.wanted);
        if kept > 0 {
            parts.push(format!("{kept} replica{} would stay", plural(kept)));
        }
        let more = self.wanted.saturating_sub(there);
        if more > 0 {
            parts.push(format!("{more} replica{} would be started", plural(more)));
        }
        let fewer = there.saturating_sub(self.wanted);
        if fewer > 0 {
            parts.push(format!("{fewer} replica{} would be stopped", plural(fewer)));
        }
        if parts.is_empty() {
            parts.push("no replica is wanted".to_owned());
        }
        format!("role {name}: {}", parts.join("; "))
    }
}
