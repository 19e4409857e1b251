//! Accounts, their associations with users, users and clusters, as /slurmdb/{version} shows them.
//! Source: Slurm's OpenAPI documents, `account`, `assoc`, `user` and `cluster_rec`.

mod association;

pub use association::associations;

use crate::version::Version;
use common::id::Uid;
use common::policy::account::Account;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The account that is above all others, as in Slurm.
const ROOT: &str = "root";

/// What all these objects are made from.
#[derive(Clone, Copy)]
pub struct Accounts<'a> {
    pub accounts: &'a [Account],
    pub cluster: &'a str,
    /// The names of the users that the accounts name.
    pub users: &'a BTreeMap<Uid, String>,
}

/// The users that accounts name. Members by group, or of accounts that are open to all, are not
/// among them.
#[must_use]
pub fn named_users(accounts: &[Account]) -> BTreeSet<Uid> {
    accounts.iter().flat_map(|account| account.access.users.iter().copied()).collect()
}

impl Accounts<'_> {
    fn user_name(&self, uid: Uid) -> String {
        self.users.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    /// The short form of an association.
    fn short_association(&self, account: &Account, user: &str) -> Value {
        json!({
            "account": account.name,
            "cluster": self.cluster,
            "partition": "",
            "user": user,
            "id": 0,
        })
    }
}

/// All accounts.
#[must_use]
pub fn accounts(of: &Accounts<'_>, version: Version) -> Vec<Value> {
    let shown = |account: &Account| {
        let users = account.access.users.iter().map(|uid| of.user_name(*uid));
        let members: Vec<Value> = users.map(|user| of.short_association(account, &user)).collect();
        let mut shown = json!({
            "associations": members,
            "coordinators": [],
            "description": account.name,
            "name": account.name,
            "organization": of.cluster,
        });
        if !version.is_plain() {
            shown["flags"] = json!([]);
        }
        shown
    };
    of.accounts.iter().map(shown).collect()
}

/// The users that accounts name, each with the first of its accounts as its default.
#[must_use]
pub fn users(of: &Accounts<'_>, version: Version) -> Vec<Value> {
    let shown = |uid: &Uid| {
        let name = of.user_name(*uid);
        let own = of.accounts.iter().filter(|account| account.access.users.contains(uid));
        let own: Vec<&Account> = own.collect();
        let level = if version.is_plain() { json!("None") } else { json!(["None"]) };
        let default = own.first().map_or("", |account| account.name.as_str());
        let associations: Vec<Value> =
            own.iter().map(|one| of.short_association(one, &name)).collect();
        let mut shown = json!({
            "administrator_level": level,
            "associations": associations,
            "coordinators": [],
            "default": { "account": default, "wckey": "" },
            "name": name,
        });
        if !version.is_plain() {
            shown["flags"] = json!([]);
            shown["wckeys"] = json!([]);
            shown["old_name"] = json!("");
        }
        shown
    };
    named_users(of.accounts).iter().map(shown).collect()
}

/// The cluster.
#[must_use]
pub fn clusters(cluster: &str, host: &str, nodes: &str, version: Version) -> Vec<Value> {
    let mut shown = json!({
        "controller": { "host": host, "port": 0 },
        "flags": [],
        "name": cluster,
        "nodes": nodes,
        "associations": {
            "root": {
                "account": ROOT, "cluster": cluster, "partition": "", "user": ROOT, "id": 0,
            },
        },
        "rpc_version": 0,
        "tres": [],
    });
    if version < Version::V45 {
        shown["select_plugin"] = json!("");
    }
    vec![shown]
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::AccountName;
    use common::policy::{Access, Limits};
    use common::unit::Gpus;

    pub(super) fn vision() -> Account {
        Account {
            name: AccountName::new("vision").unwrap(),
            shares: 3,
            access: Access { users: [Uid(1000), Uid(1001)].into(), ..Access::default() },
            limits: Limits { gpus: Some(Gpus(8)), ..Limits::default() },
            limits_per_user: Limits { jobs: Some(4), ..Limits::default() },
        }
    }

    #[test]
    fn an_account_names_its_users_and_a_user_its_accounts() {
        let all = [vision()];
        let users_by_id = [(Uid(1000), "ada".to_owned())].into();
        let of = Accounts { accounts: &all, cluster: "c", users: &users_by_id };
        let account = &accounts(&of, Version::V42)[0];
        assert_eq!((&account["name"], &account["flags"]), (&json!("vision"), &json!([])));
        assert_eq!(account["associations"][0]["user"], "ada");
        assert_eq!(account["associations"][1]["user"], "1001");
        let shown = users(&of, Version::V42);
        assert_eq!((shown.len(), &shown[0]["name"]), (2, &json!("ada")));
        assert_eq!(shown[0]["default"]["account"], "vision");
        assert_eq!(shown[0]["administrator_level"], json!(["None"]));
        assert_eq!(users(&of, Version::V38)[0]["administrator_level"], "None");
        assert_eq!(clusters("c", "h", "g-1", Version::V45)[0].get("select_plugin"), None);
    }
}
