//! For which users a node may vouch.

use super::Access;
use axum::http::StatusCode;
use common::config::VouchedFor;
use common::id::Uid;
use net::{Refusal, UserGroups};

impl Access {
    /// Checks that the node may vouch for this user. Root on a node can make it vouch for any user,
    /// so by default a node vouches for the owners of its jobs, whose processes root controls
    /// there in any case. `has_job`: the user has a job on the node.
    ///
    /// # Errors
    /// A refusal that names where to ask instead.
    pub fn check_voucher(
        &self,
        node: &str,
        uid: u32,
        has_job: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        match self.vouched_for {
            VouchedFor::Operators => Ok(()),
            _ if self.operators.has_user(Uid(uid)) => Err(operator_refusal(node, uid)),
            VouchedFor::Users => Ok(()),
            VouchedFor::JobOwners if self.is_submit_host(node) || has_job() => Ok(()),
            VouchedFor::JobOwners => Err(no_job_refusal(node, uid)),
        }
    }

    /// Whether the groups of a user are needed for [`Self::check_groups_of_vouched`].
    #[must_use]
    pub fn needs_groups_of_vouched(&self) -> bool {
        self.vouched_for != VouchedFor::Operators && self.operators.has_groups()
    }

    /// The part of [`Self::check_voucher`] that depends on groups: a user who may be an operator by
    /// one is refused.
    ///
    /// # Errors
    /// The same refusal, or one that the groups are not known.
    pub fn check_groups_of_vouched(
        &self,
        node: &str,
        uid: u32,
        groups: Option<&UserGroups>,
    ) -> Result<(), Refusal> {
        if !self.needs_groups_of_vouched() {
            return Ok(());
        }
        match groups {
            Some(groups) if self.operators.has(Uid(uid), &groups.0) => {
                Err(operator_refusal(node, uid))
            }
            Some(_) => Ok(()),
            None => Err(groups_unknown_refusal(uid)),
        }
    }
}

fn operator_refusal(node: &str, uid: u32) -> Refusal {
    let kind = if uid == 0 { "root" } else { "operators" };
    let message =
        format!("node {node} may not act for {kind} (uid {uid}): ask on a controller's host");
    let hint = "there kantctl uses kantctld's own socket (`socket` in kantctld.toml); to let nodes \
                act for operators, set `nodes_may_vouch_for = \"operators\"` in kantctld.toml of \
                each controller, which lets root on any node operate the cluster";
    Refusal::new(StatusCode::FORBIDDEN, "voucher_refused", message).with_hint(hint)
}

fn no_job_refusal(node: &str, uid: u32) -> Refusal {
    let message = format!("node {node} may not act for uid {uid}, which has no job on it");
    let hint = "use kantctl on a login host; an operator makes this node one by adding it to \
                `submit_hosts` in kantctld.toml of each controller";
    Refusal::new(StatusCode::FORBIDDEN, "voucher_refused", message).with_hint(hint)
}

fn groups_unknown_refusal(uid: u32) -> Refusal {
    let message = format!(
        "the user database of the controller's host did not say which groups uid {uid} has: this \
         may be an operator, and no node may act for operators"
    );
    let hint =
        "try again; if it persists, an operator must check the user on the controller's host";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "no_user_database", message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config::{ControllerConfig, RolesTable};
    use common::id::Gid;
    use std::sync::Arc;

    fn access(config: ControllerConfig) -> Access {
        Access::from_config(&config).unwrap()
    }

    #[test]
    fn a_node_vouches_for_owners_of_its_jobs_and_for_others_only_where_that_is_configured() {
        let operators = vec!["4711".to_owned()];
        let roles = RolesTable { operators, ..Default::default() };
        let submit_hosts = vec!["login[1-2]".to_owned()];
        let config = ControllerConfig { roles: roles.clone(), submit_hosts, ..Default::default() };
        let strict = access(config);
        for uid in [0, 4711] {
            let refusal = strict.check_voucher("n1", uid, || true).unwrap_err();
            assert!(refusal.error.message.contains("node n1 may not act for"), "{refusal:?}");
            assert!(refusal.error.hint.unwrap().contains("nodes_may_vouch_for"));
        }
        assert!(strict.check_voucher("n1", 4712, || true).is_ok());
        assert!(strict.check_voucher("login2", 4712, || false).is_ok());
        let refusal = strict.check_voucher("n1", 4712, || false).unwrap_err();
        assert!(refusal.error.message.contains("no job"), "{refusal:?}");
        let nodes_may_vouch_for = VouchedFor::Users;
        let users = access(ControllerConfig { nodes_may_vouch_for, ..Default::default() });
        assert!(users.check_voucher("n1", 4712, || false).is_ok());
        assert!(users.check_voucher("n1", 0, || true).is_err());
        let nodes_may_vouch_for = VouchedFor::Operators;
        let open = access(ControllerConfig { roles, nodes_may_vouch_for, ..Default::default() });
        for uid in [0, 4711, 4712] {
            assert!(open.check_voucher("n1", uid, || false).is_ok());
        }
    }

    #[test]
    fn who_may_be_an_operator_by_a_group_is_vouched_for_by_no_node() {
        let operators = vec!["@4711".to_owned()];
        let roles = RolesTable { operators, ..RolesTable::default() };
        let groups = |gid| UserGroups(Arc::new([Gid(gid)].into()));
        for (nodes_may_vouch_for, is_strict) in [
            (VouchedFor::JobOwners, true),
            (VouchedFor::Users, true),
            (VouchedFor::Operators, false),
        ] {
            let roles = roles.clone();
            let access =
                access(ControllerConfig { roles, nodes_may_vouch_for, ..Default::default() });
            let status = |groups: Option<&UserGroups>| {
                let checked = access.check_groups_of_vouched("n1", 7, groups);
                checked.err().map(|refusal| refusal.status.as_u16())
            };
            assert_eq!(status(Some(&groups(4712))), None);
            assert_eq!(status(Some(&groups(4711))), is_strict.then_some(403));
            assert_eq!(status(None), is_strict.then_some(503), "{nodes_may_vouch_for:?}");
        }
        let plain = access(ControllerConfig::default());
        assert!(plain.check_groups_of_vouched("n1", 7, None).is_ok(), "no role is by a group");
    }
}
