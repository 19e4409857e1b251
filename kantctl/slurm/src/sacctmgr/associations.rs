//! The associations and users of sacctmgr: which user may charge which account. A named user is
//! looked up on this host, so accounts open to all or to a group are shown too.

use super::query::Query;
use super::{Listing, optional_number, tres};
use crate::fixed_columns::Column;
use crate::membership::{self, Member};
use common::policy::Limits;
use common::policy::account::Account;
use common::wire::api::AccountList;

/// The number of leading columns that do not depend on the account.
const USER_COLUMNS: usize = 3;

/// The users shown for an account: the requested ones that may charge it, or all that it names.
fn shown_users(account: &Account, requested: &[Member]) -> Vec<String> {
    if requested.is_empty() {
        return membership::access_names(&account.access);
    }
    let may = requested.iter().filter(|user| user.may_charge(&account.access));
    may.map(|user| user.name.clone()).collect()
}

fn requested_members(query: &Query, names: &[String]) -> Vec<Member> {
    query.users.iter().chain(names).map(|name| Member::lookup(name)).collect()
}

/// The account that a job of this user or group is charged to if it names none: the first that has
/// it as a member. An account that is open to all has no members.
fn default_account(known: &AccountList, name: &str) -> String {
    let user = Member::lookup(name);
    let takes = |account: &&Account| {
        let access = &account.access;
        let is_named = || membership::access_names(access).iter().any(|named| named == name);
        !account.is_open() && (user.may_charge(access) || is_named())
    };
    known.accounts.iter().find(takes).map(|account| account.name.to_string()).unwrap_or_default()
}

fn all_qos(known: &AccountList) -> String {
    known.qos.iter().map(|qos| qos.name.to_string()).collect::<Vec<_>>().join(",")
}

pub(super) fn associations(known: &AccountList, cluster: &str, query: &Query) -> Listing {
    let columns = vec![
        ("Cluster", 10, true),
        ("Account", 10, true),
        ("User", 10, true),
        ("Partition", 10, true),
        ("Share", 9, true),
        ("GrpJobs", 7, true),
        ("GrpTRES", 13, true),
        ("MaxJobs", 7, true),
        ("QOS", 20, true),
        ("Def QOS", 9, true),
    ];
    let (qos, users) = (all_qos(known), requested_members(query, &[]));
    let mut rows = Vec::new();
    for account in &known.accounts {
        let name = account.name.as_str();
        if !Query::selects_name(&query.accounts, name) || !Query::selects_name(&query.names, name) {
            continue;
        }
        let line = |user: String, share: String, all: &Limits, each: &Limits| {
            let (jobs, most) = (optional_number(all.jobs), optional_number(each.jobs));
            let (cluster, none) = (cluster.to_owned(), String::new);
            let (tres, qos) = (tres(all), qos.clone());
            vec![cluster, name.to_owned(), user, none(), share, jobs, tres, most, qos, none()]
        };
        let (all, each) = (&account.limits, &account.limits_per_user);
        if users.is_empty() {
            rows.push(line(String::new(), account.shares.to_string(), all, each));
        }
        for user in shown_users(account, &users) {
            rows.push(line(user, String::new(), each, each));
        }
    }
    Listing { columns, rows }
}

/// Users, with a line for each account if requested.
pub(super) fn users(known: &AccountList, cluster: &str, query: &Query) -> Listing {
    let columns: Vec<Column> = vec![
        ("User", 10, true),
        ("Def Acct", 10, true),
        ("Admin", 9, true),
        ("Cluster", 10, true),
        ("Account", 10, true),
        ("Partition", 10, true),
        ("Share", 9, true),
        ("MaxJobs", 7, true),
        ("QOS", 20, true),
        ("Def QOS", 9, true),
    ];
    let (qos, users) = (all_qos(known), requested_members(query, &query.names));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for account in &known.accounts {
        let name = account.name.to_string();
        for user in shown_users(account, &users) {
            let (usual, most) = (default_account(known, &user), account.limits_per_user.jobs);
            let (admin, share) = ("None".to_owned(), account.shares.to_string());
            let (cluster, none) = (cluster.to_owned(), String::new);
            rows.push(vec![
                user,
                usual,
                admin,
                cluster,
                name.clone(),
                none(),
                share,
                optional_number(most),
                qos.clone(),
                none(),
            ]);
        }
    }
    rows.retain(|row| Query::selects_name(&query.accounts, &row[4]));
    rows.sort_by(|a, b| a[0].cmp(&b[0]));
    if query.with_associations || !query.has_only_columns(&columns[..USER_COLUMNS]) {
        return Listing { columns, rows };
    }
    rows.iter_mut().for_each(|row| row.truncate(USER_COLUMNS));
    rows.dedup();
    Listing { columns: columns[..USER_COLUMNS].to_vec(), rows }
}
