//! Doors that look locked and are not: what is open to the jobs of an account that anybody may
//! name. Never an error: such an account still says who is charged.

use crate::id::AccountName;
use crate::policy::{Access, Policy};
use crate::reservation::Reservation;

/// What to tell an operator of queues, QoS and bookings that an account opens to everybody.
#[must_use]
pub fn no_locks<'a>(
    policy: &Policy,
    bookings: impl IntoIterator<Item = &'a Reservation>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for queue in &policy.queues {
        warnings.extend(of(policy, &format!("queue {}", queue.name), &queue.access));
    }
    for qos in &policy.qos {
        warnings.extend(of(policy, &format!("QoS {}", qos.name), &qos.access));
    }
    for booking in bookings {
        warnings.extend(of(policy, &format!("reservation {}", booking.name), &booking.access));
    }
    warnings
}

fn of(policy: &Policy, what: &str, access: &Access) -> Option<String> {
    let account = |name: &AccountName| policy.accounts.iter().find(|one| one.name == *name);
    // Where some are listed, one that is not cannot be named at all.
    let is_anybodys = |name: &&AccountName| {
        policy.accounts.is_empty()
            || account(name).is_some_and(crate::policy::account::Account::is_open)
    };
    let open: Vec<&AccountName> = access.accounts.iter().filter(is_anybodys).collect();
    let first = open.first()?;
    let names: Vec<&str> = open.iter().map(|name| name.as_str()).collect();
    let mend = match account(first) {
        Some(_) => format!("give [[account]] {first} `users` or `groups`"),
        None => format!("add an [[account]] {first} with `users` or `groups`"),
    };
    Some(format!(
        "{what} keeps NOBODY out: it lets in jobs of account {}, which any user may name; {mend}",
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

    fn booking(account: &str) -> Reservation {
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
    fn a_door_of_an_account_without_members_is_told_to_be_open_and_how_to_lock_it() {
        let doors = "[[queue]]\nname = \"a\"\naccounts = [\"vision\", \"speech\"]\n\
                     [[qos]]\nname = \"high\"\naccounts = [\"vision\"]\n";
        let booked = [booking("vision")];
        let nobody_listed = no_locks(&made(doors), &booked);
        assert_eq!(nobody_listed.len(), 3);
        let add = "account speech, vision, which any user may name; add an [[account]] speech with";
        assert!(nobody_listed[0].contains(add), "{nobody_listed:?}");
        let told = |members: &str| {
            let accounts = format!(
                "{doors}[[account]]\nname = \"speech\"\nusers = [\"7\"]\n\
                 [[account]]\nname = \"vision\"\n{members}"
            );
            no_locks(&made(&accounts), &booked)
        };
        let open = told("");
        assert_eq!(open.len(), 3);
        for (sentence, door) in open.iter().zip(["queue a ", "QoS high ", "reservation exam "]) {
            assert!(
                sentence.starts_with(door) && sentence.contains("keeps NOBODY out"),
                "{sentence}"
            );
            assert!(sentence.contains("give [[account]] vision `users` or `groups`"), "{sentence}");
        }
        assert_eq!(told("groups = [\"50\"]\n"), Vec::<String>::new());
    }
}
