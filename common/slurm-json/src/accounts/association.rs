//! Associations: an account by itself, and with each user that it names.

use super::{Accounts, ROOT};
use crate::account_job::tres_of_limits;
use crate::field::{Field, Place, in_all_versions, object, only_v38, since_v40};
use crate::version::Version;
use common::policy::Limits;
use common::policy::account::Account;
use serde_json::{Value, json};

/// An association.
struct Association<'a> {
    account: &'a Account,
    cluster: &'a str,
    /// Empty: the account by itself.
    user: &'a str,
    limits: Limits,
    version: Version,
}

/// A field, and how it is computed from an association.
type Row = (Place, fn(&Association<'_>) -> Field);

/// The associations of all accounts.
#[must_use]
pub fn associations(of: &Accounts<'_>, version: Version) -> Vec<Value> {
    let shown = |account: &Account, user: &str, limits: Limits| {
        let association = Association { account, cluster: of.cluster, user, limits, version };
        Value::Object(object(version, ROWS, |value| value(&association)))
    };
    let mut all = Vec::new();
    for account in of.accounts {
        all.push(shown(account, "", account.limits));
        for uid in &account.access.users {
            all.push(shown(account, &of.user_name(*uid), account.limits_per_user));
        }
    }
    all
}

const ROWS: &[Row] = &[
    (since_v40("accounting"), |_| empty_list()),
    (in_all_versions("account"), |a| Field::text(&a.account.name)),
    (in_all_versions("cluster"), |a| Field::text(a.cluster)),
    (since_v40("comment"), |_| Field::text("")),
    (in_all_versions("default.qos"), |_| Field::text("")),
    (in_all_versions("flags"), |_| empty_list()),
    (since_v40("id").until_version(Version::V40), |a| {
        let Association { account, cluster, user, .. } = a;
        Field::Same(json!({
            "account": account.name, "cluster": cluster, "partition": "", "user": user, "id": 0,
        }))
    }),
    (since_v40("id").since_version(Version::V41), |_| Field::integer_value(0)),
    (in_all_versions("is_default"), |_| Field::flag(false)),
    (since_v40("lineage"), |_| Field::text("")),
    (in_all_versions("max.jobs.per.count"), |_| Field::Limit(None)),
    (in_all_versions("max.jobs.per.accruing"), |_| Field::Limit(None)),
    (in_all_versions("max.jobs.per.submitted"), |_| Field::Limit(None)),
    (in_all_versions("max.jobs.per.wall_clock"), |_| Field::Limit(None)),
    (in_all_versions("max.jobs.active"), |a| Field::Limit(a.limits.jobs.map(u64::from))),
    (in_all_versions("max.jobs.accruing"), |_| Field::Limit(None)),
    (in_all_versions("max.jobs.total"), |_| Field::Limit(None)),
    (in_all_versions("max.tres.total"), |a| Field::Same(tres_of_limits(&a.limits, a.version))),
    (in_all_versions("max.tres.group.minutes"), |_| empty_list()),
    (in_all_versions("max.tres.group.active"), |_| empty_list()),
    (in_all_versions("max.tres.minutes.total"), |_| empty_list()),
    (in_all_versions("max.tres.minutes.per.job"), |_| empty_list()),
    (in_all_versions("max.tres.per.job"), |_| empty_list()),
    (in_all_versions("max.tres.per.node"), |_| empty_list()),
    (in_all_versions("max.per.account.wall_clock"), |_| Field::Limit(None)),
    (in_all_versions("min.priority_threshold"), |_| Field::Limit(None)),
    (in_all_versions("parent_account"), |a| Field::text(if a.user.is_empty() { ROOT } else { "" })),
    (only_v38("partition"), |_| Field::Same(Value::Null)),
    (since_v40("partition"), |_| Field::text("")),
    (in_all_versions("priority"), |_| Field::Limit(None)),
    (in_all_versions("qos"), |_| empty_list()),
    (in_all_versions("shares_raw"), |a| Field::integer_value(a.account.shares)),
    (in_all_versions("user"), |a| Field::text(a.user)),
];

fn empty_list() -> Field {
    Field::Same(json!([]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::vision;
    use super::*;
    use crate::field::check_table;
    use common::id::Uid;

    #[test]
    fn an_account_has_an_association_of_its_own_and_one_for_each_user() {
        check_table(ROWS);
        let all = [vision()];
        let users = [(Uid(1000), "ada".to_owned())].into();
        let of = Accounts { accounts: &all, cluster: "c", users: &users };
        let shown = associations(&of, Version::V42);
        let who: Vec<&Value> = shown.iter().map(|one| &one["user"]).collect();
        assert_eq!(who, [&json!(""), &json!("ada"), &json!("1001")]);
        assert_eq!(shown[0]["max"]["tres"]["total"][0]["count"], 8);
        assert_eq!(shown[1]["max"]["jobs"]["active"]["number"], 4);
        assert_eq!((&shown[0]["shares_raw"], &shown[0]["id"]), (&json!(3), &json!(0)));
        assert_eq!(associations(&of, Version::V40)[1]["id"]["user"], "ada");
    }
}
