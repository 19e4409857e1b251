//! The words of a scenario line: plain ones in order, `name=value` pairs, and flags.
//! [`Words::check_empty`] reports words that were not read.

use common::hostlist;
use common::id::NodeName;
use std::collections::BTreeSet;
use std::str::FromStr;

/// The words of a line that were not read yet.
#[derive(Default, Clone)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// Reads a line up to a `#`.
    pub(super) fn new(line: &str) -> Self {
        let line = line.split('#').next().unwrap_or_default();
        Self(line.split_whitespace().map(str::to_owned).collect())
    }

    /// Adds those words of another line whose names this one lacks.
    pub(super) fn add_missing(&mut self, other: &Self) {
        let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
        let own: BTreeSet<String> = self.0.iter().map(name).collect();
        self.0.extend(other.0.iter().filter(|word| !own.contains(&name(word))).cloned());
    }

    /// Splits the words at each `:` that stands alone.
    pub(super) fn split(self) -> Vec<Self> {
        self.0.split(|word| word == ":").map(|words| Self(words.to_vec())).collect()
    }

    /// The first word, if there is one.
    pub(super) fn verb(&mut self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// The next plain word.
    pub(super) fn take_plain<T: FromStr<Err: ToString>>(
        &mut self,
        what: &str,
    ) -> Result<T, String> {
        let word = self.verb().ok_or_else(|| format!("{what} is missing"))?;
        word.parse().map_err(|error: T::Err| error.to_string())
    }

    /// The next plain word, as a node's name.
    pub(super) fn node(&mut self) -> Result<NodeName, String> {
        self.take_plain("a node name")
    }

    /// The value of `name=value`, if there is one.
    pub(super) fn value<T: FromStr<Err: ToString>>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, String> {
        let is_it = |word: &String| word.split_once('=').is_some_and(|(before, _)| before == name);
        let Some(place) = self.0.iter().position(is_it) else { return Ok(None) };
        let word = self.0.remove(place);
        let value = &word[name.len() + 1..];
        value.parse().map(Some).map_err(|error: T::Err| format!("{name}: {}", error.to_string()))
    }

    /// The nodes of `name=g[1-4]`; none if the line does not have it.
    pub(super) fn nodes(&mut self, name: &str) -> Result<Vec<NodeName>, String> {
        let list = self.value::<String>(name)?.map(|list| hostlist::expand(&list)).transpose();
        list.map(Option::unwrap_or_default).map_err(|error| error.to_string())
    }

    /// Whether the line has this word.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        let place = self.0.iter().position(|word| word == name);
        place.map(|place| self.0.remove(place)).is_some()
    }

    /// All remaining words.
    pub(super) fn rest(&mut self) -> String {
        std::mem::take(&mut self.0).join(" ")
    }

    /// Fails if words remain.
    pub(super) fn check_empty(&self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some(word) => Err(format!("`{word}` means nothing here")),
        }
    }
}
