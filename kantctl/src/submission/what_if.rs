//! Changes of a job request, in the syntax of `kantctl submit`'s options: for `kantctl explain
//! --what-if 'time=2h gpus=4'` and for `kantctl update`.

mod attributes;

use super::begin::{BeginError, read_begin, read_deadline};
use super::gpus::to_request;
use super::gpus::{GpuCount, GpusValue, read_kinds};
use super::mail::read_address;
use super::near::read_near;
use super::shell_words::split;
use super::value::{NodeCount, TaskCount, read_count};
use common::job::{Patch, Replaced};
use common::resource::{GpuRequest, MemoryRequest};
use common::unit::{Cpus, Nodes};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

/// The keys that can be changed, as listed in messages.
const KEYS: &str = "time, gpus, gpus-per-node, gpu-kind, nodes, ntasks, cpus, mem, queue, qos, \
                    near, begin, deadline, dependency, reservation, array-limit, name, comment, \
                    account, nice, constraint, nodelist, exclude, mail-type, mail-user";

/// A text that changes nothing, or something that cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhatIfError {
    #[error("write the changes of the request: 'time=2h gpus=4' ({KEYS})")]
    Empty,
    #[error("`{0}` is not a change: write KEY=VALUE, with one of these keys: {KEYS}")]
    Shape(String),
    #[error("`{0}` cannot be changed: only {KEYS}")]
    Key(String),
    #[error("{0} is changed twice: leave one out")]
    Twice(String),
    #[error("{key}={value}: {why}")]
    Value { key: String, value: String, why: String },
}

/// A changed request, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhatIf {
    /// The text, with whitespace normalized.
    pub text: String,
    pub patch: Patch,
}

impl FromStr for WhatIf {
    type Err = WhatIfError;
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let words = split(text).map_err(|error| WhatIfError::Shape(error.to_string()))?;
        let (mut patch, mut seen) = (Patch::default(), BTreeSet::new());
        for word in &words {
            let shape = || WhatIfError::Shape(word.clone());
            let (key, value) = word.split_once('=').ok_or_else(shape)?;
            // The syntax of an option is accepted, too.
            let key = key.trim_start_matches("--");
            let what = change(&mut patch, key, value)?;
            if !seen.insert(what) {
                return Err(WhatIfError::Twice(key.to_owned()));
            }
        }
        if words.is_empty() {
            Err(WhatIfError::Empty)
        } else {
            Ok(Self { text: words.join(" "), patch })
        }
    }
}

/// The patch for these keys and values.
///
/// # Errors
/// [`WhatIfError::Value`].
pub fn patch_of<'a>(
    changes: impl Iterator<Item = (&'static str, &'a str)>,
) -> Result<Patch, WhatIfError> {
    let mut patch = Patch::default();
    for (key, value) in changes {
        change(&mut patch, key, value)?;
    }
    Ok(patch)
}

/// Adds one change to the patch, and returns the key of what it changes.
fn change(patch: &mut Patch, key: &str, value: &str) -> Result<&'static str, WhatIfError> {
    let bad =
        |why: String| WhatIfError::Value { key: key.to_owned(), value: value.to_owned(), why };
    match key {
        "time" => patch.time_limit = Some(read(value, bad)?),
        "gpus" if without(value) => patch.gpus = Some(Replaced::Without),
        "gpus" => {
            let GpusValue { kinds, amount } = read(value, bad)?;
            patch.gpus = Some(Replaced::With(to_request(amount)));
            patch.gpu_kinds = some_kinds(kinds).or(patch.gpu_kinds.take());
        }
        "gpus-per-node" => {
            let GpuCount { kinds, count } = read(value, bad)?;
            patch.gpus = Some(Replaced::With(GpuRequest::PerNode(count)));
            patch.gpu_kinds = some_kinds(kinds).or(patch.gpu_kinds.take());
            return Ok("gpus");
        }
        "gpu-kind" if value == "any" => patch.gpu_kinds = Some(Vec::new()),
        "gpu-kind" => patch.gpu_kinds = Some(read_kinds(value).map_err(|e| bad(e.to_string()))?),
        "nodes" => {
            let NodeCount { most, least } = read(value, bad)?;
            if least.is_some() {
                return Err(bad("a range must be given as tasks: ntasks=1-4".to_owned()));
            }
            patch.nodes = Some(Nodes(most));
        }
        "ntasks" => {
            let TaskCount { most, least } = read(value, bad)?;
            patch.tasks = Some((most, least));
        }
        "cpus" | "cpus-per-task" => {
            patch.cpus_per_task = Some(Cpus(read_count(value).map_err(|e| bad(e.to_string()))?));
            return Ok("cpus");
        }
        "mem" => patch.memory = Some(MemoryRequest::PerNode(read(value, bad)?)),
        "queue" | "partition" => {
            patch.queue = Some(read(value, bad)?);
            return Ok("queue");
        }
        "qos" if without(value) => patch.qos = Some(Replaced::Without),
        "qos" => patch.qos = Some(Replaced::With(read(value, bad)?)),
        "near" if without(value) => patch.near = Some(Replaced::Without),
        "near" => {
            let near = read_near(value).map_err(|error| bad(error.to_string()))?;
            patch.near = Some(Replaced::With(near));
        }
        "begin" | "deadline" | "dependency" | "reservation" | "array-limit" => {
            when(patch, key, value, bad)?;
        }
        "job-name" => {
            attributes::change(patch, "name", value, bad)?;
            return Ok("name");
        }
        "mail-type" => patch.mail_on = Some(read(value, bad)?),
        "mail-user" if value.is_empty() => patch.mail_to = Some(Replaced::Without),
        "mail-user" => {
            let to = read_address(value).map_err(|error| bad(error.to_string()))?;
            patch.mail_to = Some(Replaced::With(to));
        }
        "name" | "comment" | "account" | "nice" | "constraint" | "nodelist" | "exclude" => {
            attributes::change(patch, key, value, bad)?;
        }
        _ => return Err(WhatIfError::Key(key.to_owned())),
    }
    Ok(KEYS.split(", ").find(|known| *known == key).unwrap_or_default())
}

/// Adds a change of start, deadline, dependency, reservation or array limit.
fn when(
    patch: &mut Patch,
    key: &str,
    value: &str,
    bad: impl Fn(String) -> WhatIfError,
) -> Result<(), WhatIfError> {
    let at = |read: fn(&str) -> Result<_, _>| match without(value) {
        true => Ok(Replaced::Without),
        false => {
            read(value).map(Replaced::With).map_err(|error: BeginError| bad(error.to_string()))
        }
    };
    match key {
        "begin" => patch.begin_at = Some(at(read_begin)?),
        "deadline" => patch.deadline = Some(at(read_deadline)?),
        "dependency" if without(value) => patch.dependency = Some(Replaced::Without),
        "dependency" => patch.dependency = Some(Replaced::With(read(value, bad)?)),
        "reservation" if without(value) => patch.reservation = Some(Replaced::Without),
        "reservation" => patch.reservation = Some(Replaced::With(read(value, bad)?)),
        _ if without(value) => patch.array_limit = Some(Replaced::Without),
        _ => {
            let limit = read_count(value).map_err(|error| bad(error.to_string()))?;
            patch.array_limit = Some(Replaced::With(limit));
        }
    }
    Ok(())
}

fn some_kinds<K>(kinds: Vec<K>) -> Option<Vec<K>> {
    Some(kinds).filter(|kinds| !kinds.is_empty())
}

fn without(value: &str) -> bool {
    matches!(value, "none" | "0" | "")
}

fn read<T: FromStr>(value: &str, bad: impl Fn(String) -> WhatIfError) -> Result<T, WhatIfError>
where
    T::Err: Display,
{
    value.parse().map_err(|error: T::Err| bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::gpu::GpuKind;
    use common::gpu_parts::GpuParts;
    use common::time::Span;
    use common::topology::{Level, Nearness};
    use common::unit::{Bytes, GpuMilli, Gpus, Tasks};
    use proptest::prelude::*;

    fn patch(text: &str) -> Patch {
        text.parse::<WhatIf>().unwrap().patch
    }

    fn refused(text: &str) -> String {
        text.parse::<WhatIf>().unwrap_err().to_string()
    }

    #[test]
    fn every_key_accepts_the_values_of_its_option() {
        let read = patch("time=2h gpus=h100|a100:4 nodes=2 ntasks=2-8 cpus=4 mem=8G");
        let expected = Patch {
            time_limit: Some(Span::from_minutes(120)),
            gpus: Some(Replaced::With(GpuRequest::Total(Gpus(4)))),
            gpu_kinds: Some(vec![GpuKind("a100".to_owned()), GpuKind("h100".to_owned())]),
            nodes: Some(Nodes(2)),
            tasks: Some((Tasks(8), Some(Tasks(2)))),
            cpus_per_task: Some(Cpus(4)),
            memory: Some(MemoryRequest::PerNode(Bytes(8 << 30))),
            ..Patch::default()
        };
        assert_eq!(read, expected);
        let read = patch("--queue=gpu qos=high near=leaf:required gpus-per-node=8");
        assert_eq!(read.queue.unwrap().as_str(), "gpu");
        assert!(matches!(read.qos, Some(Replaced::With(qos)) if qos.as_str() == "high"));
        let leaf = Nearness { level: Level::Leaf, required: true };
        assert_eq!(read.near, Some(Replaced::With(leaf)));
        assert_eq!(read.gpus, Some(Replaced::With(GpuRequest::PerNode(Gpus(8)))));
        let half = patch("gpus=0.5").gpus;
        assert_eq!(half, Some(Replaced::With(GpuRequest::Parts(GpuParts::of_one(GpuMilli(500))))));
    }

    #[test]
    fn parts_of_a_request_can_be_removed() {
        let read = patch("mail-type=END,FAIL mail-user=ada@x");
        assert_eq!(read.mail_on.unwrap().to_string(), "END,FAIL");
        assert_eq!(read.mail_to, Some(Replaced::With("ada@x".to_owned())));
        assert_eq!(patch("mail-user=").mail_to, Some(Replaced::Without));
        assert!(refused("mail-user=-x").contains("not a mail address"));
        let read = patch("gpus=0 qos=none near=none");
        assert_eq!(read.gpus, Some(Replaced::Without));
        assert_eq!((read.qos, read.near), (Some(Replaced::Without), Some(Replaced::Without)));
        assert_eq!(patch("gpu-kind=any").gpu_kinds, Some(vec![]));
        let read = patch("begin=none deadline=none reservation=none array-limit=none");
        assert_eq!(
            (read.begin_at, read.deadline),
            (Some(Replaced::Without), Some(Replaced::Without))
        );
        assert_eq!(read.reservation, Some(Replaced::Without));
        assert_eq!(read.array_limit, Some(Replaced::Without));
        assert_eq!(patch("array-limit=4").array_limit, Some(Replaced::With(4)));
        assert!(matches!(patch("deadline=now+2hours").deadline, Some(Replaced::With(_))));
    }

    #[test]
    fn the_kind_is_kept_in_any_order_of_keys() {
        let kinds = Some(vec![GpuKind("h100".to_owned())]);
        assert_eq!(patch("gpu-kind=h100 gpus=4").gpu_kinds, kinds);
        assert_eq!(patch("gpus=4 gpu-kind=h100").gpu_kinds, kinds);
    }

    #[test]
    fn invalid_changes_are_refused_with_the_valid_forms() {
        for (text, word) in [
            ("", "'time=2h gpus=4'"),
            ("time", "KEY=VALUE"),
            ("colour=red", "`colour` cannot be changed: only time, gpus"),
            ("time=soon", "time=soon: `soon` is not a length of time"),
            ("gpus=4 gpus-per-node=2", "twice"),
            ("cpus=1 cpus-per-task=2", "twice"),
            ("near=rack", "leaf"),
            ("ntasks=8-2", "smaller one first"),
            ("queue=a/b", "valid queue name"),
            ("time='2h", "not closed"),
        ] {
            assert!(refused(text).contains(word), "{text}: {}", refused(text));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(([a-z-]{0,9}|gpus|near)=?\\PC{0,9} ?){0,4}") {
            let _ = text.parse::<WhatIf>();
        }
    }
}
