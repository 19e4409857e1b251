//! Warnings about access restrictions without effect, because they name an account that any user
//! may charge. They are no errors: such an account still serves for accounting.

use crate::id::AccountName;
use crate::policy::{Access, Policy};
use crate::reservation::Reservation;

/// Warnings for an operator about queues, QoS and reservations that an account opens to all users.
#[must_use]
pub fn open_access_warnings<'a>(
    policy: &Policy,
    reservations: impl IntoIterator<Item = &'a Reservation>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for queue in &policy.queues {
        warnings.extend(open_access(policy, &format!("queue {}", queue.name), &queue.access));
    }
    for qos in &policy.qos {
        warnings.extend(open_access(policy, &format!("QoS {}", qos.name), &qos.access));
    }
    for reservation in reservations {
        warnings.extend(open_access(
            policy,
            &format!("reservation {}", reservation.name),
            &reservation.access,
        ));
    }
    warnings
}

fn open_access(policy: &Policy, what: &str, access: &Access) -> Option<String> {
    let account = |name: &AccountName| policy.accounts.iter().find(|one| one.name == *name);
    // If accounts are listed, an unlisted one cannot be named at all.
    let is_open_to_all = |name: &&AccountName| {
        policy.accounts.is_empty()
            || account(name).is_some_and(crate::policy::account::Account::is_open)
    };
    let open: Vec<&AccountName> = access.accounts.iter().filter(is_open_to_all).collect();
    let first = open.first()?;
    let names: Vec<&str> = open.iter().map(|name| name.as_str()).collect();
    let mend = match account(first) {
        Some(_) => format!("give [[account]] {first} `users` or `groups`"),
        None => format!("add an [[account]] {first} with `users` or `groups`"),
    };
    Some(format!(
        "{what} is open to ALL users: it admits jobs of account {}, which any user may name; \
         {mend}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::{NumbersOnly, PolicySource, policy};
    use crate::config::{ControllerConfig, read};
    use crate::time::Time;
    use std::collections::BTreeSet;

    fn made(text: &str) -> Policy {
        let config: ControllerConfig = read("kantctld.toml", text).unwrap();
        let source = PolicySource { file: "kantctld.toml", text, config: &config, topology: None };
        policy(&source, &NumbersOnly).unwrap()
    }

    fn reservation(account: &str) -> Reservation {
        let accounts = BTreeSet::from([AccountName::new(account).unwrap()]);
        Reservation {
            name: "exam".parse().unwrap(),
            nodes: BTreeSet::new(),
            from: Time(0),
            to: Time(1),
            access: Access { accounts, ..Access::default() },
            maintenance: false,
            by: crate::id::Uid(0),
            comment: String::new(),
        }
    }

    #[test]
    fn an_account_without_members_is_reported_with_how_to_restrict_it() {
        let restricted = "[[queue]]\nname = \"a\"\naccounts = [\"vision\", \"speech\"]\n\
                     [[qos]]\nname = \"high\"\naccounts = [\"vision\"]\n";
        let booked = [reservation("vision")];
        let without_accounts = open_access_warnings(&made(restricted), &booked);
        assert_eq!(without_accounts.len(), 3);
        let add = "account speech, vision, which any user may name; add an [[account]] speech with";
        assert!(without_accounts[0].contains(add), "{without_accounts:?}");
        let with_members = |members: &str| {
            let accounts = format!(
                "{restricted}[[account]]\nname = \"speech\"\nusers = [\"7\"]\n\
                 [[account]]\nname = \"vision\"\n{members}"
            );
            open_access_warnings(&made(&accounts), &booked)
        };
        let open = with_members("");
        assert_eq!(open.len(), 3);
        for (sentence, owner) in open.iter().zip(["queue a ", "QoS high ", "reservation exam "]) {
            assert!(
                sentence.starts_with(owner) && sentence.contains("is open to ALL users"),
                "{sentence}"
            );
            assert!(sentence.contains("give [[account]] vision `users` or `groups`"), "{sentence}");
        }
        assert_eq!(with_members("groups = [\"50\"]\n"), Vec::<String>::new());
    }
}
