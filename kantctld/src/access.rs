//! Access rules: the roles of users, which users may own jobs, and which a node may vouch for. They
//! come from this controller's configuration and its host's user database, not from the replicated
//! state.

mod group_cache;

use crate::accepted_jwts::AcceptedJwts;
use crate::members::{Members, RolesError};
use crate::settings::SettingsError;
use axum::http::StatusCode;
use common::config::{ControllerConfig, Private, VouchedFor};
use common::id::{AccountName, Gid, NodeName, QueueName, Uid};
use common::job::Owner;
use common::right::Roles;
use group_cache::GroupCache;
use net::{OwnerRules, Refusal, UserRecord};
use state::Actor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rules; a reload may change them.
#[derive(Debug, Clone)]
pub struct Access {
    operators: Members,
    viewers: Members,
    support: Members,
    /// The coordinators of queues.
    queues: Vec<(QueueName, Members)>,
    /// The coordinators of accounts.
    accounts: Vec<(AccountName, Members)>,
    /// A reload begins with an empty one.
    groups: Arc<GroupCache>,
    owners: OwnerRules,
    vouched_for: VouchedFor,
    /// What ordinary users do not see of others.
    pub private: BTreeSet<Private>,
    submit_hosts: BTreeSet<NodeName>,
    /// The JSON Web Tokens that it accepts, if any.
    pub jwts: Option<Arc<AcceptedJwts>>,
}

impl Access {
    /// Reads the configuration. Root and this process's user are operators in any case. May block.
    ///
    /// # Errors
    /// [`SettingsError::Roles`], [`SettingsError::SubmitHosts`].
    pub fn configured(config: &ControllerConfig) -> Result<Self, SettingsError> {
        let roles = &config.roles;
        let always = [Uid(0), Uid(nix::unistd::geteuid().as_raw())];
        let operators = Members::read("roles.operators", &roles.operators)?.with_users(always);
        let queues = config.queue.iter().filter_map(|one| Some((one.name.clone()?, one)));
        let queues = queues.map(|(name, one)| {
            let key = format!("queue.{name}.coordinators");
            Ok((name, Members::read(&key, &one.coordinators)?))
        });
        let accounts = config.account.iter().filter_map(|one| Some((one.name.clone()?, one)));
        let accounts = accounts.map(|(name, one)| {
            let key = format!("account.{name}.coordinators");
            Ok((name, Members::read(&key, &one.coordinators)?))
        });
        let owners =
            OwnerRules { uid_min: config.uid_min, allow_unknown_users: config.allow_unknown_users };
        let mut submit_hosts = BTreeSet::new();
        for list in &config.submit_hosts {
            submit_hosts.extend(common::hostlist::expand(list)?);
        }
        let vouched_for = config.nodes_may_vouch_for;
        let jwts = AcceptedJwts::configured(config)?.map(Arc::new);
        Ok(Self {
            operators,
            viewers: Members::read("roles.viewers", &roles.viewers)?,
            support: Members::read("roles.support", &roles.support)?,
            queues: queues.collect::<Result<_, RolesError>>()?,
            accounts: accounts.collect::<Result<_, RolesError>>()?,
            groups: Arc::default(),
            owners,
            vouched_for,
            private: config.private.iter().copied().collect(),
            submit_hosts,
            jwts,
        })
    }

    /// Looks up the groups of a user if any role depends on groups and they are not known or not
    /// recent. Called before a user's roles are asked for.
    pub async fn learn_groups(&self, uid: Uid) {
        if !self.has_groups() || self.groups.is_fresh(uid) {
            return;
        }
        let groups = self.groups.clone();
        // An error means that the controller stops.
        let _ = tokio::task::spawn_blocking(move || groups.look_up(uid)).await;
    }

    fn has_groups(&self) -> bool {
        let coordinators = self.queues.iter().map(|(_, members)| members);
        let coordinators = coordinators.chain(self.accounts.iter().map(|(_, members)| members));
        let mut all =
            [&self.operators, &self.viewers, &self.support].into_iter().chain(coordinators);
        all.any(Members::has_groups)
    }

    /// Whether this user may do everything.
    #[must_use]
    pub fn is_operator(&self, uid: Uid) -> bool {
        self.operators.has(uid, &self.groups.groups(uid))
    }

    /// This user with all roles.
    #[must_use]
    pub fn actor(&self, uid: Uid) -> Actor {
        let groups = self.groups.groups(uid);
        let is_theirs = |members: &Members| members.has(uid, &groups);
        let queues = self.queues.iter().filter(|(_, members)| is_theirs(members));
        let accounts = self.accounts.iter().filter(|(_, members)| is_theirs(members));
        let roles = Roles {
            support: is_theirs(&self.support),
            viewer: is_theirs(&self.viewers),
            queues: queues.map(|(name, _)| name.clone()).collect(),
            accounts: accounts.map(|(name, _)| name.clone()).collect(),
        };
        Actor { uid, operator: is_theirs(&self.operators), roles }
    }

    /// Whether users keep their roles in requests that a node forwards.
    #[must_use]
    pub fn vouched_keep_roles(&self) -> bool {
        self.vouched_for == VouchedFor::Operators
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
    use common::config::{AccountTable, QueueTable, RolesTable};

    fn access(config: ControllerConfig) -> Access {
        Access::configured(&config).unwrap()
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

    #[tokio::test]
    async fn roles_are_given_by_user_and_by_primary_or_other_group() {
        let list = |entry: &str| vec![entry.to_owned()];
        let roles =
            RolesTable { viewers: list("@daemon"), support: list("4711"), ..RolesTable::default() };
        let (queue, account) = (QueueName::new("phys").unwrap(), AccountName::new("lab").unwrap());
        let config = ControllerConfig {
            roles,
            queue: vec![QueueTable {
                name: Some(queue.clone()),
                coordinators: list("@daemon"),
                ..QueueTable::default()
            }],
            account: vec![AccountTable {
                name: Some(account.clone()),
                coordinators: list("4711"),
                ..AccountTable::default()
            }],
            ..ControllerConfig::default()
        };
        let access = access(config);
        assert!(access.actor(Uid(1)).roles.is_none(), "the groups are not known yet");
        access.learn_groups(Uid(1)).await;
        // The user daemon, whose primary group it is.
        let member = access.actor(Uid(1));
        assert!(member.roles.viewer && !member.roles.support && !member.operator);
        assert_eq!(member.roles.queues, [queue].into());
        let user = access.actor(Uid(4711));
        assert!(user.roles.support && !user.roles.viewer && user.roles.queues.is_empty());
        assert_eq!(user.roles.accounts, [account].into());
        assert!(access.actor(Uid(0)).operator && access.actor(Uid(2)).roles.is_none());
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
