//! The elements of a record, by their index: the job itself in place, tasks of an array in a map.
//! Most records have one element, and a map of one takes the room of eleven.

use super::Element;
use common::id::ArrayIndex;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::iter::Chain;
use std::option;

type Index = Option<ArrayIndex>;

const JOB: &Index = &None;

/// A job under `None`, or the tasks of an array. Reads and is written down as a map of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elements {
    job: Option<Element>,
    tasks: BTreeMap<Index, Element>,
}

/// Of elements with their indices, in the indices' order.
pub type Iter<'a> =
    Chain<option::IntoIter<(&'a Index, &'a Element)>, btree_map::Iter<'a, Index, Element>>;

impl Elements {
    /// The only one of a job that is no array.
    #[must_use]
    pub const fn one(element: Element) -> Self {
        Self { job: Some(element), tasks: BTreeMap::new() }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.job.is_some()) + self.tasks.len()
    }

    /// None at all, which no record has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one of this index.
    #[must_use]
    pub fn get(&self, index: &Index) -> Option<&Element> {
        if index.is_none() { self.job.as_ref() } else { self.tasks.get(index) }
    }

    /// The one of this index, to be changed.
    pub fn get_mut(&mut self, index: &Index) -> Option<&mut Element> {
        if index.is_none() { self.job.as_mut() } else { self.tasks.get_mut(index) }
    }

    /// Is there one of this index?
    #[must_use]
    pub fn contains_key(&self, index: &Index) -> bool {
        self.get(index).is_some()
    }

    /// All, with their indices.
    pub fn iter(&self) -> Iter<'_> {
        self.job.as_ref().map(|job| (JOB, job)).into_iter().chain(&self.tasks)
    }

    /// Their indices, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Index> + Clone {
        self.iter().map(|(index, _)| index)
    }

    /// All, in order of their indices.
    pub fn values(&self) -> impl Iterator<Item = &Element> + Clone {
        self.iter().map(|(_, element)| element)
    }

    /// The first, with its index.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&Index, &Element)> {
        self.iter().next()
    }

    /// The last, with its index.
    #[must_use]
    pub fn last_key_value(&self) -> Option<(&Index, &Element)> {
        let last = self.tasks.last_key_value();
        last.or_else(|| self.job.as_ref().map(|job| (JOB, job)))
    }
}

impl<'a> IntoIterator for &'a Elements {
    type Item = (&'a Index, &'a Element);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl FromIterator<(Index, Element)> for Elements {
    fn from_iter<T: IntoIterator<Item = (Index, Element)>>(all: T) -> Self {
        let mut job = None;
        // Never in the map, not even for a moment: one that was emptied keeps its room.
        let task = |(index, element): (Index, Element)| match index {
            Some(_) => Some((index, element)),
            None => {
                job = Some(element);
                None
            }
        };
        let tasks = all.into_iter().filter_map(task).collect();
        Self { job, tasks }
    }
}

impl std::ops::Index<&Index> for Elements {
    type Output = Element;

    fn index(&self, index: &Index) -> &Element {
        self.get(index).expect("an element of this index")
    }
}

impl Serialize for Elements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(All)
    }
}

/// Reads them as they come.
struct All;

impl<'de> Visitor<'de> for All {
    type Value = Elements;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("elements by their indices")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Elements, M::Error> {
        std::iter::from_fn(|| map.next_entry().transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_read_and_are_written_as_a_map_of_them() {
        let task = |index| (Some(ArrayIndex(index)), Element::new(index == 3));
        for all in [vec![(None, Element::new(true))], vec![task(3), task(1)], vec![]] {
            let (elements, map): (Elements, BTreeMap<_, _>) =
                (all.iter().cloned().collect(), all.into_iter().collect());
            let bytes = rmp_serde::to_vec_named(&map).unwrap();
            assert_eq!(rmp_serde::to_vec_named(&elements).unwrap(), bytes);
            assert_eq!(rmp_serde::from_slice::<Elements>(&bytes).unwrap(), elements);
            assert!(elements.iter().eq(&map));
            assert_eq!(elements.len(), map.len());
            assert_eq!(elements.last_key_value(), map.last_key_value());
            assert_eq!(elements.first_key_value(), map.first_key_value());
            assert!(map.iter().all(|(index, element)| elements.get(index) == Some(element)));
            assert_eq!(elements.get(&Some(ArrayIndex(7))), None);
        }
    }
}
