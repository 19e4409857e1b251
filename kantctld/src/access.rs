//! Access rules: which users are operators, which may own jobs, and which a node may vouch for.
//! They come from this controller's configuration and its host's user database, not from the
//! replicated state.

use crate::accepted_jwts::AcceptedJwts;
use crate::host_names::HostNames;
use crate::settings::SettingsError;
use axum::http::StatusCode;
use common::config::policy::Names as _;
use common::config::{ControllerConfig, VouchedFor};
use common::id::{Gid, NodeName, Uid};
use common::job::Owner;
use net::{OwnerRules, Refusal, UserRecord};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rules; a reload may change them.
#[derive(Debug, Clone)]
pub struct Access {
    operators: BTreeSet<Uid>,
    owners: OwnerRules,
    vouched_for: VouchedFor,
    submit_hosts: BTreeSet<NodeName>,
    /// The JSON Web Tokens that it accepts, if any.
    pub jwts: Option<Arc<AcceptedJwts>>,
}

impl Access {
    /// Reads the configuration. Operators are root, this process's user, and the `admins`.
    ///
    /// # Errors
    /// [`SettingsError::UnknownAdmin`], [`SettingsError::SubmitHosts`].
    pub fn configured(config: &ControllerConfig) -> Result<Self, SettingsError> {
        let mut operators = BTreeSet::from([Uid(0), Uid(nix::unistd::geteuid().as_raw())]);
        for admin in &config.admins {
            let uid = admin.parse().map(Uid).ok().or_else(|| HostNames.user(admin));
            operators.insert(uid.ok_or_else(|| SettingsError::UnknownAdmin(admin.clone()))?);
        }
        let owners =
            OwnerRules { uid_min: config.uid_min, allow_unknown_users: config.allow_unknown_users };
        let mut submit_hosts = BTreeSet::new();
        for list in &config.submit_hosts {
            submit_hosts.extend(common::hostlist::expand(list)?);
        }
        let vouched_for = config.nodes_may_vouch_for;
        let jwts = AcceptedJwts::configured(config)?.map(Arc::new);
        Ok(Self { operators, owners, vouched_for, submit_hosts, jwts })
    }

    /// Whether this user may do everything.
    #[must_use]
    pub fn is_operator(&self, uid: Uid) -> bool {
        self.operators.contains(&uid)
    }

    /// The owner of a job submitted by this user, and all groups of theirs: queues and QoS may be
    /// open to a group. The name is only for display. May block.
    ///
    /// # Errors
    /// Why this user may not own jobs.
    pub fn owner(&self, uid: u32, gid: u32) -> Result<(Owner, Vec<Gid>), Refusal> {
        let record = UserRecord::look_up(uid, gid).map_err(|error| {
            let message = format!("failed to look up uid {uid} in the user database: {error}");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "no_user_database", message)
                .hint("try again; if it persists, an operator must check the controller's host")
        })?;
        self.owners.check(uid, gid, &record).map_err(|error| {
            Refusal::new(StatusCode::FORBIDDEN, "owner_refused", error.to_string())
        })?;
        let name = record.entry.map_or_else(|| uid.to_string(), |user| user.name);
        let groups: BTreeSet<Gid> = record.groups.iter().copied().chain([gid]).map(Gid).collect();
        Ok((Owner { uid: Uid(uid), gid: Gid(gid), name }, groups.into_iter().collect()))
    }

    /// Whether all ordinary users may use kantctl on this node.
    #[must_use]
    pub fn is_submit_host(&self, node: &str) -> bool {
        self.submit_hosts.iter().any(|host| host.as_str() == node)
    }

    /// Checks that a user may make a token by way of this node. A token outlives the job for which
    /// the node may act for the user.
    ///
    /// # Errors
    /// A refusal that names where to ask instead.
    pub fn check_token_maker(&self, node: &str) -> Result<(), Refusal> {
        if self.vouched_for != VouchedFor::JobOwners || self.is_submit_host(node) {
            return Ok(());
        }
        let message = format!("tokens cannot be made on node {node}, which only runs jobs");
        let hint = "make the token on a login host or a controller's host";
        Err(Refusal::new(StatusCode::FORBIDDEN, "voucher_refused", message).hint(hint))
    }

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
            _ if self.is_operator(Uid(uid)) => Err(not_for_operators(node, uid)),
            VouchedFor::Users => Ok(()),
            VouchedFor::JobOwners if self.is_submit_host(node) || has_job() => Ok(()),
            VouchedFor::JobOwners => Err(no_job(node, uid)),
        }
    }
}

fn not_for_operators(node: &str, uid: u32) -> Refusal {
    let kind = if uid == 0 { "root" } else { "operators" };
    let message =
        format!("node {node} may not act for {kind} (uid {uid}): ask on a controller's host");
    let hint = "there kantctl uses kantctld's own socket (`socket` in kantctld.toml); to let nodes \
                act for operators, set `nodes_may_vouch_for = \"operators\"` in kantctld.toml of \
                each controller, which lets root on any node operate the cluster";
    Refusal::new(StatusCode::FORBIDDEN, "voucher_refused", message).hint(hint)
}

fn no_job(node: &str, uid: u32) -> Refusal {
    let message = format!("node {node} may not act for uid {uid}, which has no job on it");
    let hint = "use kantctl on a login host; an operator makes this node one by adding it to \
                `submit_hosts` in kantctld.toml of each controller";
    Refusal::new(StatusCode::FORBIDDEN, "voucher_refused", message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(config: ControllerConfig) -> Access {
        Access::configured(&config).unwrap()
    }

    #[test]
    fn a_node_vouches_for_owners_of_its_jobs_and_for_others_only_where_that_is_configured() {
        let admins = vec!["4711".to_owned()];
        let submit_hosts = vec!["login[1-2]".to_owned()];
        let config =
            ControllerConfig { admins: admins.clone(), submit_hosts, ..Default::default() };
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
        let open = access(ControllerConfig { admins, nodes_may_vouch_for, ..Default::default() });
        for uid in [0, 4711, 4712] {
            assert!(open.check_voucher("n1", uid, || false).is_ok());
        }
    }

    #[test]
    fn known_users_own_jobs_with_their_own_groups() {
        let strict = access(ControllerConfig::default());
        let refused = strict.owner(3_999_999_999, 3_999_999_999).unwrap_err();
        assert!(refused.error.message.contains("allow_unknown_users"), "{refused:?}");
        let refused = strict.owner(0, 3_999_999_999).unwrap_err();
        assert!(refused.error.message.contains("group 3999999999"), "{refused:?}");
        assert!(strict.owner(1, 1).unwrap_err().error.message.contains("uid_min"));
        let (owner, groups) = strict.owner(0, 0).unwrap();
        assert!(owner.name == "root" && groups.contains(&Gid(0)));
        let open = access(ControllerConfig { allow_unknown_users: true, ..Default::default() });
        let (owner, groups) = open.owner(3_999_999_999, 3_999_999_999).unwrap();
        assert_eq!((owner.name.as_str(), groups), ("3999999999", vec![Gid(3_999_999_999)]));
    }
}
