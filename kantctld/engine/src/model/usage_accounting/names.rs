//! Accounts and QoS by number. Accounts are never forgotten: a limit for each account of a queue
//! also applies to accounts that the policy does not list.

use super::claim::{AccountIndex, QosIndex};
use common::id::{AccountName, QosName};
use common::policy::Policy;
use std::collections::BTreeMap;

/// The names that claims are booked under.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Names {
    accounts: Vec<AccountName>,
    account_index: BTreeMap<AccountName, AccountIndex>,
    qos: Vec<QosName>,
}

impl Names {
    /// The names of a policy.
    pub fn new(policy: &Policy) -> Self {
        let mut qos: Vec<QosName> = policy.qos.iter().map(|qos| qos.name.clone()).collect();
        qos.sort_unstable();
        qos.dedup();
        let mut names = Self { qos, ..Self::default() };
        for account in &policy.accounts {
            names.learn(&account.name);
        }
        names
    }

    /// The number of an account, assigned if it is new.
    pub fn learn(&mut self, account: &AccountName) -> AccountIndex {
        if let Some(index) = self.account(account) {
            return index;
        }
        let index = AccountIndex(self.accounts.len());
        self.accounts.push(account.clone());
        self.account_index.insert(account.clone(), index);
        index
    }

    pub fn account(&self, account: &AccountName) -> Option<AccountIndex> {
        self.account_index.get(account).copied()
    }

    pub fn account_name(&self, account: AccountIndex) -> &AccountName {
        &self.accounts[account.0]
    }

    pub fn qos(&self, qos: &QosName) -> Option<QosIndex> {
        self.qos.binary_search(qos).ok().map(QosIndex)
    }

    pub fn qos_name(&self, qos: QosIndex) -> &QosName {
        &self.qos[qos.0]
    }

    pub fn qos_count(&self) -> usize {
        self.qos.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_keeps_its_number() {
        let name = |text: &str| AccountName::new(text).unwrap();
        let mut names = Names::default();
        let (a, b) = (names.learn(&name("b")), names.learn(&name("a")));
        assert_ne!(a, b);
        assert_eq!((names.learn(&name("b")), names.account(&name("a"))), (a, Some(b)));
        assert_eq!(names.account_name(b), &name("a"));
    }
}
