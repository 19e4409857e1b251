//! The attributes that a user gives, before they become a request.

use super::{Attribute, FromValue, Hosts, NodeCount, TaskCount, Value};
use std::collections::BTreeMap;

/// Attributes with their values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given(BTreeMap<Attribute, Value>);

impl Given {
    /// Whether an attribute is given.
    #[must_use]
    pub fn has(&self, attribute: Attribute) -> bool {
        self.0.contains_key(&attribute)
    }

    /// The value of an attribute, if it is given.
    #[must_use]
    pub fn get<T: FromValue + Clone>(&self, attribute: Attribute) -> Option<T> {
        self.0.get(&attribute).and_then(T::from_value).cloned()
    }

    /// The value of an attribute of any kind, if it is given.
    #[must_use]
    pub fn value(&self, attribute: Attribute) -> Option<&Value> {
        self.0.get(&attribute)
    }

    /// The text of an attribute, if it is given.
    #[must_use]
    pub fn text(&self, attribute: Attribute) -> Option<String> {
        self.0.get(&attribute).map(ToString::to_string)
    }

    /// The value of `--nodes`.
    #[must_use]
    pub fn nodes(&self) -> Option<NodeCount> {
        self.get(Attribute::Nodes)
    }

    /// The value of `--ntasks`.
    #[must_use]
    pub fn tasks(&self) -> Option<TaskCount> {
        self.get(Attribute::Ntasks)
    }

    /// All attributes.
    pub fn values(&self) -> impl Iterator<Item = (Attribute, &Value)> {
        self.0.iter().map(|(attribute, value)| (*attribute, value))
    }

    /// Sets an attribute.
    pub fn set(&mut self, attribute: Attribute, value: impl Into<Value>) {
        self.0.insert(attribute, value.into());
    }

    /// Overrides the attributes `below`. Alternatives are overridden together.
    #[must_use]
    pub fn override_on(self, mut below: Self) -> Self {
        for attribute in self.0.keys() {
            attribute.alternatives().for_each(|other| drop(below.0.remove(&other)));
        }
        below.0.extend(self.0);
        below
    }

    /// Only the attributes that `is_wanted` selects.
    #[must_use]
    pub fn filtered(&self, is_wanted: impl Fn(Attribute) -> bool) -> Self {
        let wanted = self.0.iter().filter(|(attribute, _)| is_wanted(**attribute));
        Self(wanted.map(|(attribute, value)| (*attribute, value.clone())).collect())
    }

    /// In Slurm a job gets all nodes that it names; in kant they are the nodes it may use.
    #[must_use]
    pub fn with_all_named_nodes(mut self) -> Self {
        let named = self.get::<Hosts>(Attribute::Nodelist).map_or(0, |hosts| hosts.0.len());
        let tasks = self.tasks().map(|tasks| tasks.most.0);
        let enough = tasks.is_none_or(|tasks| tasks as usize >= named);
        if !self.has(Attribute::Nodes)
            && named > 1
            && enough
            && let Ok(most) = u32::try_from(named)
        {
            self.set(Attribute::Nodes, NodeCount { most, least: None });
        }
        self
    }
}
