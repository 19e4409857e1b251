//! Fair share of accounts and users: less past use gives a higher factor, 2^(-use/share), where use
//! decays with time.
//!
//! Source: Slurm, "Classic Fairshare Algorithm": the formula, and the effective usage, which makes
//! the users of one account share their account's use; PriorityDecayHalfLife.
//! Reads: GPU use by account, user and hour; shares of accounts. Running jobs are included in the
//! use of the current hour.
//! Knobs: `shares` of accounts; `half_life_hours`.
//!
//! Let U and S be an account's fraction of all use and of all shares, and u the fraction of all use
//! by one of its n users. The user's factor is 2^(-((n - 1) u + U) / S): the account's factor for a
//! user without use, and less for a user with more use than the others. Use without a listed
//! account counts as that of one more account with one share. Where no accounts are listed, all
//! users have equal shares, and the factor is 2^(-n u).
//!
//! Example, two nodes; accounts `vision` and `speech` have one share each. `vision` used 30
//! GPU-hours two hours ago, which count 15 now at a half-life of two hours; `speech` used 5 just
//! now. Job 1 of `vision` has 2^-(0.75 / 0.5), 0.354; job 2 of `speech` has 2^-(0.25 / 0.5), 0.707;
//! job 3, of a new user in `speech`, has the same.

pub use crate::model::past_usage::{Bucket, Usage, UsedBy};
use common::id::{AccountName, Uid};
use common::policy::account::Account;
use common::time::Time;
use std::collections::{BTreeMap, BTreeSet};

const HOUR_MS: u64 = 3_600_000;

/// The fair share of all accounts and users at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FairShare {
    /// Empty: no account is listed, and users share among each other.
    listed: BTreeSet<AccountName>,
    /// By listed account. `None`: all other use.
    accounts: BTreeMap<Option<AccountName>, Part>,
}

/// The use of one account.
#[derive(Debug, Clone, PartialEq, Default)]
struct Part {
    /// Its fraction of all shares, 0 to 1.
    share: f64,
    /// Its fraction of all use, 0 to 1.
    used: f64,
    /// The fraction of all use by each of its users that has any.
    users: BTreeMap<Uid, f64>,
}

impl FairShare {
    /// Computes the factors from past use, decayed until now. With a half-life of 0, use does not
    /// decay.
    #[must_use]
    pub fn new(usage: &Usage, accounts: &[Account], half_life_hours: u32, now: Time) -> Self {
        let listed: BTreeSet<AccountName> = accounts.iter().map(|a| a.name.clone()).collect();
        let mut parts: BTreeMap<Option<AccountName>, Part> = BTreeMap::new();
        for entry in &usage.entries {
            let used = decayed_usage(&entry.hours, half_life_hours, now.0 / HOUR_MS);
            if used > 0.0 {
                let account = entry.account.clone().filter(|account| listed.contains(account));
                let part = parts.entry(account).or_default();
                part.used += used;
                *part.users.entry(entry.user).or_default() += used;
            }
        }
        for account in accounts {
            parts.entry(Some(account.name.clone())).or_default().share = account.shares.into();
        }
        if let Some(others) = parts.get_mut(&None) {
            others.share = 1.0;
        }
        let used: f64 = parts.values().map(|part| part.used).sum();
        let shares: f64 = parts.values().map(|part| part.share).sum();
        for part in parts.values_mut() {
            part.share = ratio_or_zero(part.share, shares);
            part.used = ratio_or_zero(part.used, used);
            part.users.values_mut().for_each(|user| *user = ratio_or_zero(*user, used));
        }
        Self { listed, accounts: parts }
    }

    /// The factor of a user's job, 0 to 1. It is 1 if neither the user nor the account has any use.
    #[must_use]
    pub fn factor(&self, account: Option<&AccountName>, user: Uid) -> f64 {
        let account = account.filter(|account| self.listed.contains(*account)).cloned();
        let Some(part) = self.accounts.get(&account).filter(|part| part.used > 0.0) else {
            return 1.0;
        };
        let own = part.users.get(&user).copied().unwrap_or(0.0);
        let users = part.users.len() as f64;
        if self.listed.is_empty() {
            return (-(users * own)).exp2();
        }
        if part.share <= 0.0 {
            return 0.0;
        }
        (-((users - 1.0) * own + part.used) / part.share).exp2()
    }
}

/// GPU-milliseconds, with older ones decayed.
fn decayed_usage(hours: &[Bucket], half_life_hours: u32, hour_now: u64) -> f64 {
    let weight = |hour: u64| match half_life_hours {
        0 => 1.0,
        half_life => (-(hour_now.saturating_sub(hour) as f64) / f64::from(half_life)).exp2(),
    };
    hours.iter().map(|bucket| bucket.gpu_ms as f64 * weight(bucket.hour)).sum()
}

fn ratio_or_zero(amount: f64, of: f64) -> f64 {
    if of > 0.0 { amount / of } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::policy::Limits;

    fn name(text: &str) -> AccountName {
        AccountName::new(text).unwrap()
    }

    fn account(text: &str, shares: u32) -> Account {
        let none = Limits::default();
        Account {
            name: name(text),
            shares,
            access: common::policy::Access::default(),
            limits: none,
            limits_per_user: none,
        }
    }

    fn used(account: Option<&str>, user: u32, hour: u64, gpu_hours: u64) -> UsedBy {
        let hours = vec![Bucket { hour, gpu_ms: gpu_hours * HOUR_MS }];
        UsedBy { account: account.map(name), user: Uid(user), hours }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_example() {
        let accounts = [account("vision", 1), account("speech", 1)];
        let entries = vec![used(Some("vision"), 1, 8, 30), used(Some("speech"), 2, 10, 5)];
        let fair = FairShare::new(&Usage { entries }, &accounts, 2, Time(10 * HOUR_MS + 5));
        let factor = |account: &str, user| fair.factor(Some(&name(account)), Uid(user));
        assert!(near(factor("vision", 1), (-1.5f64).exp2()));
        assert!(near(factor("speech", 2), (-0.5f64).exp2()));
        assert!(near(factor("speech", 3), (-0.5f64).exp2()));
    }

    #[test]
    fn of_two_users_of_an_account_who_used_more_goes_behind() {
        let accounts = [account("vision", 3), account("speech", 1)];
        let entries = vec![used(Some("vision"), 1, 10, 6), used(Some("vision"), 2, 10, 2)];
        let fair = FairShare::new(&Usage { entries }, &accounts, 24, Time(10 * HOUR_MS));
        let factor = |account: &str, user| fair.factor(Some(&name(account)), Uid(user));
        assert!(near(factor("vision", 1), (-1.75 / 0.75f64).exp2()));
        assert!(near(factor("vision", 2), (-1.25 / 0.75f64).exp2()));
        assert!(near(factor("vision", 3), (-1.0 / 0.75f64).exp2()));
        assert!(near(factor("speech", 1), 1.0));
    }

    #[test]
    fn without_accounts_users_share_among_each_other() {
        let entries = vec![used(Some("x"), 1, 0, 2), used(None, 1, 10, 1), used(None, 2, 10, 1)];
        let fair = FairShare::new(&Usage { entries }, &[], 0, Time(10 * HOUR_MS));
        assert!(near(fair.factor(None, Uid(1)), (-1.5f64).exp2()));
        assert!(near(fair.factor(Some(&name("x")), Uid(2)), (-0.5f64).exp2()));
        assert!(near(fair.factor(None, Uid(3)), 1.0));
    }

    #[test]
    fn usage_is_saved_as_json() {
        let usage = Usage { entries: vec![used(None, 1, 10, 1), used(Some("vision"), 1, 0, 2)] };
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), usage);
    }

    #[test]
    fn an_account_without_shares_that_used_something_has_nothing() {
        let accounts = [account("guest", 0), account("vision", 1)];
        let entries = vec![used(Some("guest"), 1, 10, 1)];
        let fair = FairShare::new(&Usage { entries }, &accounts, 24, Time(10 * HOUR_MS));
        assert!(near(fair.factor(Some(&name("guest")), Uid(1)), 0.0));
        assert!(near(fair.factor(None, Uid(1)), 1.0));
    }
}
