//! Associations: an account by itself, and with each user that it names.

use super::{Accounts, ROOT};
use crate::account_job::tres_of_limits;
use crate::field::{Field, Place, always, object, plain, stated};
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
            all.push(shown(account, &of.user(*uid), account.limits_per_user));
        }
    }
    all
}

const ROWS: &[Row] = &[
    (stated("accounting"), |_| none()),
    (always("account"), |a| Field::text(&a.account.name)),
    (always("cluster"), |a| Field::text(a.cluster)),
    (stated("comment"), |_| Field::text("")),
    (always("default.qos"), |_| Field::text("")),
    (always("flags"), |_| none()),
    (stated("id").until(Version::V40), |a| {
        let Association { account, cluster, user, .. } = a;
        Field::Same(json!({
            "account": account.name, "cluster": cluster, "partition": "", "user": user, "id": 0,
        }))
    }),
    (stated("id").from(Version::V41), |_| Field::whole(0)),
    (always("is_default"), |_| Field::flag(false)),
    (stated("lineage"), |_| Field::text("")),
    (always("max.jobs.per.count"), |_| Field::Limit(None)),
    (always("max.jobs.per.accruing"), |_| Field::Limit(None)),
    (always("max.jobs.per.submitted"), |_| Field::Limit(None)),
    (always("max.jobs.per.wall_clock"), |_| Field::Limit(None)),
    (always("max.jobs.active"), |a| Field::Limit(a.limits.jobs.map(u64::from))),
    (always("max.jobs.accruing"), |_| Field::Limit(None)),
    (always("max.jobs.total"), |_| Field::Limit(None)),
    (always("max.tres.total"), |a| Field::Same(tres_of_limits(&a.limits, a.version))),
    (always("max.tres.group.minutes"), |_| none()),
    (always("max.tres.group.active"), |_| none()),
    (always("max.tres.minutes.total"), |_| none()),
    (always("max.tres.minutes.per.job"), |_| none()),
    (always("max.tres.per.job"), |_| none()),
    (always("max.tres.per.node"), |_| none()),
    (always("max.per.account.wall_clock"), |_| Field::Limit(None)),
    (always("min.priority_threshold"), |_| Field::Limit(None)),
    (always("parent_account"), |a| Field::text(if a.user.is_empty() { ROOT } else { "" })),
    (plain("partition"), |_| Field::Same(Value::Null)),
    (stated("partition"), |_| Field::text("")),
    (always("priority"), |_| Field::Limit(None)),
    (always("qos"), |_| none()),
    (always("shares_raw"), |a| Field::whole(a.account.shares)),
    (always("user"), |a| Field::text(a.user)),
];

fn none() -> Field {
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
