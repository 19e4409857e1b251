//! The elements of a record by index: a single job is stored in place, the tasks of an array in
//! chunks that copies of the state share. Most records have one element, for which a map would take
//! the room of eleven. An array of a hundred thousand tasks must not be copied because one task
//! changed.

use super::Element;
use common::id::ArrayIndex;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::slice;
use std::sync::Arc;

type Index = Option<ArrayIndex>;
type Task = (Index, Element);

const JOB: &Index = &None;

/// The number of tasks in a chunk. After the state was copied, the first change of a task copies
/// only its chunk and not the whole array.
const CHUNK_TASKS: usize = 256;

/// A single job under `None`, or the tasks of an array. Serialized as a map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Elements {
    job: Option<Element>,
    /// In ascending order. All chunks but the last are full. Tasks are never added or removed.
    tasks: Vec<Arc<Vec<Task>>>,
}

/// Iterates over elements with their indices, in ascending order.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    job: Option<&'a Element>,
    chunk: slice::Iter<'a, Task>,
    chunks: slice::Iter<'a, Arc<Vec<Task>>>,
    left: usize,
}

impl Elements {
    /// The only element of a job that is no array.
    #[must_use]
    pub const fn from_single(element: Element) -> Self {
        Self { job: Some(element), tasks: Vec::new() }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        let full = self.tasks.len().saturating_sub(1) * CHUNK_TASKS;
        usize::from(self.job.is_some()) + full + self.tasks.last().map_or(0, |last| last.len())
    }

    /// Never true for the elements of a record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[must_use]
    pub fn get(&self, index: &Index) -> Option<&Element> {
        if index.is_none() {
            return self.job.as_ref();
        }
        let (chunk, place) = self.place(index)?;
        Some(&self.tasks[chunk][place].1)
    }

    pub fn get_mut(&mut self, index: &Index) -> Option<&mut Element> {
        if index.is_none() {
            return self.job.as_mut();
        }
        let (chunk, place) = self.place(index)?;
        Some(&mut Arc::make_mut(&mut self.tasks[chunk])[place].1)
    }

    /// The chunk of a task, and the position in it.
    fn place(&self, index: &Index) -> Option<(usize, usize)> {
        if let Some(place) = self.place_without_gaps(*index) {
            return Some(place);
        }
        let chunk = self.chunk_of(index);
        let tasks = self.tasks.get(chunk)?;
        let place = tasks.binary_search_by(|(other, _)| other.cmp(index)).ok()?;
        Some((chunk, place))
    }

    /// Where a task is if no index before it is left out, as in most arrays; `None` if it is not
    /// there. A search would read a dozen chunks.
    fn place_without_gaps(&self, index: Index) -> Option<(usize, usize)> {
        let (first, _) = self.tasks.first()?.first()?;
        let place = index?.0.checked_sub((*first)?.0)? as usize;
        let (chunk, place) = (place / CHUNK_TASKS, place % CHUNK_TASKS);
        let (found, _) = self.tasks.get(chunk)?.get(place)?;
        (*found == index).then_some((chunk, place))
    }

    /// The first chunk that holds this index or a later one.
    fn chunk_of(&self, index: &Index) -> usize {
        self.tasks.partition_point(|chunk| chunk.last().is_some_and(|(last, _)| last < index))
    }

    #[must_use]
    pub fn contains_key(&self, index: &Index) -> bool {
        self.get(index).is_some()
    }

    /// All elements with their indices, in ascending order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        let (job, chunk) = (self.job.as_ref(), [].iter());
        Iter { job, chunk, chunks: self.tasks.iter(), left: self.len() }
    }

    /// All indices, in ascending order.
    pub fn keys(&self) -> impl Iterator<Item = &Index> + Clone {
        self.iter().map(|(index, _)| index)
    }

    /// The indices of the tasks from `first` to `last`, in ascending order. The cost grows only
    /// with the number of tasks in the range.
    pub fn within(&self, first: ArrayIndex, last: ArrayIndex) -> impl Iterator<Item = Index> + '_ {
        let (first, last) = (Some(first), Some(last));
        let chunks = self.tasks[self.chunk_of(&first)..].iter();
        let indices = chunks.flat_map(|chunk| chunk.iter()).map(|(index, _)| *index);
        indices.skip_while(move |index| *index < first).take_while(move |index| *index <= last)
    }

    /// All elements, in ascending order of their indices.
    pub fn values(&self) -> impl Iterator<Item = &Element> + Clone {
        self.iter().map(|(_, element)| element)
    }

    #[must_use]
    pub fn first_key_value(&self) -> Option<(&Index, &Element)> {
        self.iter().next()
    }

    #[must_use]
    pub fn last_key_value(&self) -> Option<(&Index, &Element)> {
        let last = self.tasks.last().and_then(|chunk| chunk.last());
        last.map(|(index, task)| (index, task)).or_else(|| self.job.as_ref().map(|job| (JOB, job)))
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Index, &'a Element);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        if let Some(job) = self.job.take() {
            return Some((JOB, job));
        }
        loop {
            match self.chunk.next() {
                Some((index, task)) => return Some((index, task)),
                None => self.chunk = self.chunks.next()?.iter(),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
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
        let mut tasks: BTreeMap<Index, Element> = all.into_iter().collect();
        let job = tasks.remove(JOB);
        let mut tasks = tasks.into_iter();
        let chunk = || {
            let chunk: Vec<Task> = tasks.by_ref().take(CHUNK_TASKS).collect();
            (!chunk.is_empty()).then(|| Arc::new(chunk))
        };
        let tasks = std::iter::from_fn(chunk).collect();
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

/// Deserializes elements in any order.
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
        let many = (0..CHUNK_TASKS as u32 * 2 + 1).map(|place| task(place * 2)).collect();
        let one = vec![(None, Element::new(true))];
        for all in [one, vec![task(3), task(1)], many, vec![]] {
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

    #[test]
    fn the_tasks_within_two_indices_are_those_of_a_map() {
        let indices = (0..CHUNK_TASKS as u32 * 3).map(|place| Some(ArrayIndex(place * 2)));
        let map: BTreeMap<Index, Element> =
            indices.map(|index| (index, Element::new(false))).collect();
        let elements: Elements = map.clone().into_iter().collect();
        for (first, last) in [(0, 0), (1, 1), (3, 511), (510, 514), (1000, 9999), (9999, 9999)] {
            let (first, last) = (ArrayIndex(first), ArrayIndex(last));
            let expected = map.range(Some(first)..=Some(last)).map(|(index, _)| *index);
            assert!(elements.within(first, last).eq(expected), "{first} to {last}");
        }
    }

    #[test]
    fn one_task_of_many_is_changed_and_the_copy_shares_all_but_its_chunk() {
        let tasks = (0..CHUNK_TASKS as u32 * 4).map(|i| (Some(ArrayIndex(i)), Element::new(false)));
        let mut elements: Elements = tasks.collect();
        let copy = elements.clone();
        let index = Some(ArrayIndex(CHUNK_TASKS as u32 + 1));
        elements.get_mut(&index).unwrap().held = true;
        assert!(!copy[&index].held, "the copy is as it was");
        let shared = elements.tasks.iter().zip(&copy.tasks).filter(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(shared.count(), 3);
    }
}
