//! Access rules: the roles of users, which users may own jobs, and which a node may vouch for. They
//! come from this controller's configuration and its host's user database, not from the replicated
//! state.

mod group_cache;
mod vouching;

use crate::accepted_jwts::AcceptedJwts;
use crate::members::{Members, RolesError};
use crate::settings::SettingsError;
use axum::http::StatusCode;
use common::config::{ControllerConfig, Private, VouchedFor};
use common::id::{AccountName, Gid, NodeName, QueueName, Uid};
use common::job::Owner;
use common::right::Roles;
use group_cache::GroupCache;
use net::{OwnerRules, Refusal, UserGroups, UserRecord};
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
    /// [`SettingsError::Roles`] for a name that this host does not know,
    /// [`SettingsError::SubmitHosts`].
    pub fn from_config(config: &ControllerConfig) -> Result<Self, SettingsError> {
        let (access, unknown) = Self::read(config)?;
        match unknown.into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(access),
        }
    }

    /// The same at startup, when users who have left, or a directory that does not answer yet, must
    /// not keep the controller down: names that this host does not know get no role.
    ///
    /// # Errors
    /// [`SettingsError::SubmitHosts`].
    pub fn from_config_at_start(config: &ControllerConfig) -> Result<Self, SettingsError> {
        let (access, unknown) = Self::read(config)?;
        for error in unknown {
            tracing::warn!("configuration: {error}; the entry does not count until a reload");
        }
        Ok(access)
    }

    fn read(config: &ControllerConfig) -> Result<(Self, Vec<RolesError>), SettingsError> {
        let (roles, mut unknown) = (&config.roles, Vec::new());
        let mut members = |key: &str, entries: &[String]| Members::read(key, entries, &mut unknown);
        let always = [Uid(0), Uid(nix::unistd::geteuid().as_raw())];
        let operators = members("roles.operators", &roles.operators).with_users(always);
        let viewers = members("roles.viewers", &roles.viewers);
        let support = members("roles.support", &roles.support);
        let queues = config.queue.iter().filter_map(|one| Some((one.name.clone()?, one)));
        let queues = queues.map(|(name, one)| {
            let found = members(&format!("queue.{name}.coordinators"), &one.coordinators);
            (name, found)
        });
        let queues = queues.collect();
        let accounts = config.account.iter().filter_map(|one| Some((one.name.clone()?, one)));
        let accounts = accounts.map(|(name, one)| {
            let found = members(&format!("account.{name}.coordinators"), &one.coordinators);
            (name, found)
        });
        let accounts = accounts.collect();
        let owners =
            OwnerRules { uid_min: config.uid_min, allow_unknown_users: config.allow_unknown_users };
        let mut submit_hosts = BTreeSet::new();
        for list in &config.submit_hosts {
            submit_hosts.extend(common::hostlist::expand(list)?);
        }
        let vouched_for = config.nodes_may_vouch_for;
        let jwts = AcceptedJwts::from_config(config)?.map(Arc::new);
        let groups = Arc::new(GroupCache::new(config.allow_unknown_users));
        let access = Self {
            operators,
            viewers,
            support,
            queues,
            accounts,
            groups,
            owners,
            vouched_for,
            private: config.private.iter().copied().collect(),
            submit_hosts,
            jwts,
        };
        Ok((access, unknown))
    }

    /// The groups of a user, if any role depends on groups; `None` if they are not known.
    pub async fn groups(&self, uid: Uid) -> Option<UserGroups> {
        if !self.depends_on_groups() || self.operators.has_user(uid) {
            return Some(UserGroups::default());
        }
        self.groups.clone().groups(uid).await
    }

    fn depends_on_groups(&self) -> bool {
        let coordinators = self.queues.iter().map(|(_, members)| members);
        let coordinators = coordinators.chain(self.accounts.iter().map(|(_, members)| members));
        let mut all =
            [&self.operators, &self.viewers, &self.support].into_iter().chain(coordinators);
        all.any(Members::has_groups)
    }

    /// Whether this user was an operator when last asked for. For limits only, which must not wait
    /// for the user database.
    #[must_use]
    pub fn was_operator(&self, uid: Uid) -> bool {
        self.operators.has(uid, &self.groups.last(uid).0)
    }

    /// This user with all roles; without known groups, with those that are the user's by uid.
    #[must_use]
    pub fn actor(&self, uid: Uid, groups: Option<&UserGroups>) -> Actor {
        let groups = groups.cloned().unwrap_or_default().0;
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
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "no_user_database", message).with_hint(
                "try again; if it persists, an operator must check the controller's host",
            )
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
        Err(Refusal::new(StatusCode::FORBIDDEN, "voucher_refused", message).with_hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config::{AccountTable, QueueTable, RolesTable};

    fn access(config: ControllerConfig) -> Access {
        Access::from_config(&config).unwrap()
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
        assert!(access.actor(Uid(1), None).roles.is_none(), "the groups are not known");
        // The user daemon, whose primary group it is.
        let groups = access.groups(Uid(1)).await;
        let member = access.actor(Uid(1), groups.as_ref());
        assert!(member.roles.viewer && !member.roles.support && !member.operator);
        assert_eq!(member.roles.queues, [queue].into());
        let user = access.actor(Uid(4711), None);
        assert!(user.roles.support && !user.roles.viewer && user.roles.queues.is_empty());
        assert_eq!(user.roles.accounts, [account].into());
        assert!(access.actor(Uid(0), None).operator);
        let other = access.groups(Uid(2)).await.unwrap();
        assert!(access.actor(Uid(2), Some(&other)).roles.is_none());
    }

    #[test]
    fn an_unknown_name_is_left_out_at_startup_and_refused_otherwise() {
        let support = vec!["no-such-user".to_owned(), "4711".to_owned()];
        let roles = RolesTable { support, ..RolesTable::default() };
        let config = ControllerConfig { roles, ..ControllerConfig::default() };
        let error = Access::from_config(&config).unwrap_err().to_string();
        assert!(error.contains("`no-such-user` does not exist"), "{error}");
        let access = Access::from_config_at_start(&config).unwrap();
        assert!(access.actor(Uid(4711), None).roles.support);
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
