//! Associations and users of sacctmgr: who may charge which account. A user that is named is looked
//! up, so that accounts that are open to all, or to a group, are shown too.

use super::wish::Wish;
use super::{Sheet, number, tres};
use crate::slurm::membership::{self, Member};
use crate::slurm::sheet::Column;
use common::account::Account;
use common::policy::Limits;
use common::wire::api::AccountList;

/// The columns of a user that are the same for all accounts.
const OF_USER: usize = 3;

/// Who is shown of an account: those that are asked for and may charge it, or all that it names.
fn shown(account: &Account, asked: &[Member]) -> Vec<String> {
    if asked.is_empty() {
        return membership::named(&account.access);
    }
    let may = asked.iter().filter(|user| user.may(&account.access));
    may.map(|user| user.name.clone()).collect()
}

fn asked(wish: &Wish, names: &[String]) -> Vec<Member> {
    wish.users.iter().chain(names).map(|name| Member::of(name)).collect()
}

/// What is charged where a job names no account: the first that keeps others out and takes this
/// user or group in. An account that is open to all has no members.
fn usual_account(known: &AccountList, name: &str) -> String {
    let user = Member::of(name);
    let takes = |account: &&Account| {
        let access = &account.access;
        let is_named = || membership::named(access).iter().any(|named| named == name);
        !account.is_open() && (user.may(access) || is_named())
    };
    known.accounts.iter().find(takes).map(|account| account.name.to_string()).unwrap_or_default()
}

fn all_qos(known: &AccountList) -> String {
    known.qos.iter().map(|qos| qos.name.to_string()).collect::<Vec<_>>().join(",")
}

/// Accounts and their users.
pub(super) fn associations(known: &AccountList, cluster: &str, wish: &Wish) -> Sheet {
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
    let (qos, users) = (all_qos(known), asked(wish, &[]));
    let mut rows = Vec::new();
    for account in &known.accounts {
        let name = account.name.as_str();
        if !Wish::takes(&wish.accounts, name) || !Wish::takes(&wish.names, name) {
            continue;
        }
        let line = |user: String, share: String, all: &Limits, each: &Limits| {
            let (jobs, most) = (number(all.jobs), number(each.jobs));
            let (cluster, none) = (cluster.to_owned(), String::new);
            let (tres, qos) = (tres(all), qos.clone());
            vec![cluster, name.to_owned(), user, none(), share, jobs, tres, most, qos, none()]
        };
        let (all, each) = (&account.limits, &account.limits_per_user);
        if users.is_empty() {
            rows.push(line(String::new(), account.shares.to_string(), all, each));
        }
        for user in shown(account, &users) {
            rows.push(line(user, String::new(), each, each));
        }
    }
    Sheet { columns, rows }
}

/// Users; with a line for each account where that is asked for.
pub(super) fn users(known: &AccountList, cluster: &str, wish: &Wish) -> Sheet {
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
    let (qos, users) = (all_qos(known), asked(wish, &wish.names));
    let mut rows: Vec<Vec<String>> = Vec::new();
    for account in &known.accounts {
        let name = account.name.to_string();
        for user in shown(account, &users) {
            let (usual, most) = (usual_account(known, &user), account.limits_per_user.jobs);
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
                number(most),
                qos.clone(),
                none(),
            ]);
        }
    }
    rows.retain(|row| Wish::takes(&wish.accounts, &row[4]));
    rows.sort_by(|a, b| a[0].cmp(&b[0]));
    if wish.with_associations || !wish.is_within(&columns[..OF_USER]) {
        return Sheet { columns, rows };
    }
    rows.iter_mut().for_each(|row| row.truncate(OF_USER));
    rows.dedup();
    Sheet { columns: columns[..OF_USER].to_vec(), rows }
}
