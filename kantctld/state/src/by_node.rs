//! A map by node. Each share of a job is found in several of them when it starts and when it ends,
//! so a value is found by the hash of its node's name. It is stored as a map.

use common::id::NodeName;
use common::node_names::NodeNames;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A value for each of some nodes. None is ever removed.
#[derive(Debug, Clone)]
pub(crate) struct ByNode<V> {
    names: NodeNames,
    /// In the order in which they were inserted.
    all: Vec<(NodeName, V)>,
    /// The positions in `all`.
    by_name: BTreeMap<NodeName, u32>,
    /// The position of the last value that was changed. A command mostly changes it several times.
    last: usize,
}

impl<V> ByNode<V> {
    fn find(&self, name: &NodeName) -> Option<usize> {
        self.names.find(name, |at| &self.all[at as usize].0).map(|at| at as usize)
    }

    pub fn get(&self, name: &NodeName) -> Option<&V> {
        self.find(name).map(|at| &self.all[at].1)
    }

    pub fn get_mut(&mut self, name: &NodeName) -> Option<&mut V> {
        if !self.all.get(self.last).is_some_and(|(last, _)| last.is_copy_of(name)) {
            self.last = self.find(name)?;
        }
        self.all.get_mut(self.last).map(|(_, value)| value)
    }

    pub fn contains_key(&self, name: &NodeName) -> bool {
        self.find(name).is_some()
    }

    pub fn insert(&mut self, name: &NodeName, value: V) {
        match self.find(name) {
            Some(at) => self.all[at].1 = value,
            None => self.push(name, value),
        }
    }

    fn push(&mut self, name: &NodeName, value: V) {
        self.by_name.insert(name.clone(), self.names.len());
        self.all.push((name.clone(), value));
        self.names.add(name);
    }

    /// The value of a node, which is the default if it had none.
    pub fn get_or_default(&mut self, name: &NodeName) -> &mut V
    where
        V: Default,
    {
        let at = self.find(name).unwrap_or_else(|| {
            self.push(name, V::default());
            self.all.len() - 1
        });
        &mut self.all[at].1
    }

    /// All values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeName, &V)> {
        self.by_name.iter().map(|(name, at)| (name, &self.all[*at as usize].1))
    }

    /// The value of the last node before this name.
    pub fn before(&self, name: &NodeName) -> Option<&V> {
        let (_, at) = self.by_name.range::<NodeName, _>(..name).next_back()?;
        Some(&self.all[*at as usize].1)
    }
}

impl<V> Default for ByNode<V> {
    fn default() -> Self {
        let (names, all, by_name) = (NodeNames::default(), Vec::new(), BTreeMap::new());
        Self { names, all, by_name, last: 0 }
    }
}

impl<V: PartialEq> PartialEq for ByNode<V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<V: Serialize> Serialize for ByNode<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ByNode<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Self::default();
        for (name, value) in BTreeMap::deserialize(deserializer)? {
            all.insert(&name, value);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_listed_by_name_and_stored_as_a_map() {
        let name = |text: &str| NodeName::new(text).unwrap();
        let (mut all, mut map) = (ByNode::default(), BTreeMap::new());
        for (value, text) in ["c", "a", "b", "a"].into_iter().enumerate() {
            all.insert(&name(text), value);
            map.insert(name(text), value);
        }
        assert!(all.iter().eq(&map));
        assert_eq!((all.get(&name("a")), all.get(&name("d"))), (Some(&3), None));
        assert_eq!((all.before(&name("a")), all.before(&name("c"))), (None, Some(&2)));
        *all.get_or_default(&name("d")) += 5;
        map.insert(name("d"), 5);
        let stored = rmp_serde::to_vec_named(&all).unwrap();
        assert_eq!(stored, rmp_serde::to_vec_named(&map).unwrap());
        assert_eq!(rmp_serde::from_slice::<ByNode<usize>>(&stored).unwrap(), all);
    }
}
