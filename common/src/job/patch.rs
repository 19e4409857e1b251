//! Changes to a job's request, made by `kantctl update` or assumed by `kantctl explain --what-if`.

use super::attributes::{Attribute, Changeable, FromValue, NodeCount, Removed, TimeLimit, Value};
use super::spec::Ask;
use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The maximum length of a change's text in a job's timeline, in bytes.
const SUMMARY_BYTES_MAX: usize = 160;

/// New values of attributes; `None` removes one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Patch(BTreeMap<Attribute, Option<Value>>);

/// `{"time": 7200000, "qos": null}`: each value as its attribute's kind.
impl<'de> Deserialize<'de> for Patch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PatchVisitor)
    }
}

struct PatchVisitor;

impl<'de> Visitor<'de> for PatchVisitor {
    type Value = Patch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("changes of a job by attribute")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Patch, A::Error> {
        let mut changes = BTreeMap::new();
        while let Some(attribute) = map.next_key::<Attribute>()? {
            changes.insert(attribute, map.next_value_seed(attribute.row().kind)?);
        }
        Ok(Patch(changes))
    }
}

/// A change that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    #[error("it cannot be changed")]
    Fixed,
    #[error("it, or an alternative of it, is changed twice: leave one out")]
    Twice,
    #[error("it cannot be removed: give a value")]
    Kept,
    #[error("a range of nodes must be given as tasks: ntasks=1-4")]
    Range,
    #[error("a time limit cannot be removed: write a time")]
    Unlimited,
}

impl Patch {
    /// With one more change that a user asks for; without a value, the attribute is removed.
    ///
    /// # Errors
    /// [`ChangeError`] for one that the table of attributes does not allow, or that another change
    /// contradicts.
    pub fn try_with(self, attribute: Attribute, value: Option<Value>) -> Result<Self, ChangeError> {
        let row = attribute.row();
        if row.changeable == Changeable::Never {
            return Err(ChangeError::Fixed);
        }
        if self.has(attribute) || attribute.alternatives().any(|other| self.has(other)) {
            return Err(ChangeError::Twice);
        }
        match value {
            None if row.removed == Removed::Never => Err(ChangeError::Kept),
            None => Ok(self.with_removed(attribute)),
            Some(Value::NodeCount(NodeCount { least: Some(_), .. })) => Err(ChangeError::Range),
            Some(Value::TimeLimit(TimeLimit(None))) => Err(ChangeError::Unlimited),
            Some(value) => Ok(self.with(attribute, value)),
        }
    }

    /// With one more change. An earlier change of the attribute is replaced.
    #[must_use]
    pub fn with(mut self, attribute: Attribute, value: impl Into<Value>) -> Self {
        self.0.insert(attribute, Some(value.into()));
        self
    }

    /// With an attribute removed from the request.
    #[must_use]
    pub fn with_removed(mut self, attribute: Attribute) -> Self {
        self.0.insert(attribute, None);
        self
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does it change this attribute?
    #[must_use]
    pub fn has(&self, attribute: Attribute) -> bool {
        self.0.contains_key(&attribute)
    }

    /// The new value of an attribute, if it is of this type.
    #[must_use]
    pub fn value<T: FromValue>(&self, attribute: Attribute) -> Option<&T> {
        self.0.get(&attribute)?.as_ref().and_then(T::from_value)
    }

    /// The changed attributes.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> + '_ {
        self.0.keys().copied()
    }

    /// The request with the changes applied.
    #[must_use]
    pub fn apply_to(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        for (attribute, value) in &self.0 {
            ask.set(*attribute, value.as_ref());
        }
        ask
    }

    /// The changed attributes, each with its new value; `None`: it is removed.
    pub fn changes(&self) -> impl Iterator<Item = (Attribute, Option<&Value>)> {
        self.0.iter().map(|(attribute, value)| (*attribute, value.as_ref()))
    }

    /// Are all changes allowed for a job that has nodes?
    #[must_use]
    pub fn is_allowed_after_start(&self) -> bool {
        self.attributes().all(|attribute| attribute.row().changeable == Changeable::Started)
    }

    /// Does it change only the number of array tasks that run at once?
    #[must_use]
    pub fn is_only_array_limit(&self) -> bool {
        self.attributes().all(|attribute| attribute == Attribute::ArrayLimit)
    }

    /// The change as options, truncated if long, because each task of an array keeps it and a list
    /// of nodes may have thousands of names.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut words = self.to_string();
        if words.len() > SUMMARY_BYTES_MAX {
            words.truncate(words.floor_char_boundary(SUMMARY_BYTES_MAX - '…'.len_utf8()));
            words.push('…');
        }
        words
    }
}

/// The options of `kantctl update` that express the change.
impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (attribute, value)) in self.0.iter().enumerate() {
            let space = if place == 0 { "" } else { " " };
            match value {
                Some(value) => write!(f, "{space}{attribute}={value}")?,
                None => {
                    let removed = match attribute.row().removed {
                        Removed::Never | Removed::ByNone => "none",
                        Removed::ByEmpty => "",
                        Removed::ByAny => "any",
                    };
                    write!(f, "{space}{attribute}={removed}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::attributes::TimeLimit;
    use super::super::attributes::{GpuAmount, GpuCount, GpusValue, Hosts, NodeCount, TaskCount};
    use super::*;
    use crate::gpu::GpuKind;
    use crate::id::{NodeName, QosName, QueueName};
    use crate::job::{ArraySpec, Constraint, MailEvents};
    use crate::resource::GpuRequest;
    use crate::time::{Span, Time};
    use crate::topology::{Level, Nearness};
    use crate::unit::{Bytes, Gpus, Nodes, Tasks};

    fn ask() -> Ask {
        let mut ask = Ask { time_limit: Some(Span::from_minutes(60)), ..Ask::default() };
        ask.request.nodes = Some(Nodes(2));
        ask.request.tasks = Tasks(8);
        ask.request.gpus = Some(GpuRequest::PerNode(Gpus(8)));
        ask.request.gpu_kind = Some(GpuKind("h100".to_owned()));
        ask
    }

    fn nodes(most: u32) -> Patch {
        Patch::default().with(Attribute::Nodes, NodeCount { most, least: None })
    }

    fn tasks(most: u32, least: Option<u32>) -> TaskCount {
        TaskCount { most: Tasks(most), least: least.map(Tasks) }
    }

    fn time(minutes: u64) -> TimeLimit {
        TimeLimit(Some(Span::from_minutes(minutes)))
    }

    #[test]
    fn an_empty_patch_changes_nothing() {
        assert_eq!(Patch::default().apply_to(&ask()), ask());
    }

    #[test]
    fn tasks_follow_nodes_unless_they_are_named() {
        assert_eq!(nodes(4).apply_to(&ask()).request.tasks, Tasks(16));
        assert_eq!(nodes(4).apply_to(&Ask::default()).request.tasks, Tasks(4));
        let request = nodes(4).with(Attribute::Ntasks, tasks(8, Some(4))).apply_to(&ask()).request;
        assert_eq!((request.tasks, request.tasks_min), (Tasks(8), Some(Tasks(4))));
    }

    #[test]
    fn a_job_with_a_fixed_size_does_not_grow() {
        let mut ask = ask();
        (ask.request.tasks_min, ask.request.grow) = (Some(Tasks(4)), true);
        assert!(!nodes(4).apply_to(&ask).request.grow);
        let ranged = Patch::default().with(Attribute::Ntasks, tasks(16, Some(4)));
        assert!(ranged.apply_to(&ask).request.grow);
        assert!(Patch::default().with(Attribute::Nice, 5).apply_to(&ask).request.grow);
    }

    #[test]
    fn times_and_reservations_are_set_and_removed() {
        let dated = Patch::default().with(Attribute::Deadline, Time(7)).apply_to(&ask());
        assert_eq!(dated.deadline, Some(Time(7)));
        assert_eq!(
            Patch::default().with_removed(Attribute::Deadline).apply_to(&dated).deadline,
            None
        );
        let alone = Patch::default().with(Attribute::ArrayLimit, 3_u32);
        assert!(alone.is_only_array_limit());
        let both = alone.clone().with(Attribute::Nice, 1);
        assert!(!both.is_only_array_limit());
        let array = |text: &str| Ask { array: Some(text.parse::<ArraySpec>().unwrap()), ..ask() };
        assert_eq!(alone.apply_to(&array("0-9")), array("0-9%3"));
        assert_eq!(alone.apply_to(&ask()), ask(), "no array");
        let any = Patch::default().with_removed(Attribute::ArrayLimit);
        assert_eq!(any.apply_to(&array("0-9%3")), array("0-9"));
    }

    #[test]
    fn nodes_and_names_change_and_only_names_and_times_of_running_jobs() {
        let node = |name: &str| NodeName::new(name).unwrap();
        let place = Patch::default()
            .with(Attribute::Constraint, "a100&ib".parse::<Constraint>().unwrap())
            .with(Attribute::Exclude, Hosts(vec![node("g7")]))
            .with(Attribute::Nice, 5);
        let moved = place.apply_to(&ask());
        assert_eq!(moved.request.not_nodes, [node("g7")]);
        assert!(moved.request.constraint.is_some() && moved.nice == 5);
        let back = Patch::default()
            .with_removed(Attribute::Constraint)
            .with_removed(Attribute::Exclude)
            .with(Attribute::Nice, 0);
        assert_eq!(back.apply_to(&moved), ask());
        let words = Patch::default()
            .with(Attribute::JobName, "b".to_owned())
            .with(Attribute::Comment, "why".to_owned())
            .with(Attribute::Time, time(5));
        let mail = |on: &str| {
            Patch::default().with(Attribute::MailType, on.parse::<MailEvents>().unwrap())
        };
        let letters = mail("END").apply_to(&ask());
        assert!(mail("END").is_allowed_after_start() && letters.mail.is_some());
        assert_eq!(mail("NONE").apply_to(&letters), ask(), "nothing is left to be kept");
        let named = words.apply_to(&ask());
        assert_eq!((named.name.as_str(), named.comment.as_deref()), ("b", Some("why")));
        assert!(words.is_allowed_after_start() && !place.is_allowed_after_start());
    }

    #[test]
    fn gpus_keep_their_kind_and_go_with_it() {
        let total = GpusValue { kinds: Vec::new(), amount: GpuAmount::Whole(Gpus(4)) };
        let fewer = Patch::default().with(Attribute::Gpus, total);
        let request = fewer.apply_to(&ask()).request;
        assert_eq!(request.gpus, Some(GpuRequest::Total(Gpus(4))));
        assert_eq!(request.gpu_kind, Some(GpuKind("h100".to_owned())));
        let any = fewer.with_removed(Attribute::GpuKind);
        assert_eq!(any.apply_to(&ask()).request.gpu_kind, None);
        let request = Patch::default().with_removed(Attribute::Gpus).apply_to(&ask()).request;
        assert_eq!((request.gpus, request.gpu_kind), (None, None));
    }

    #[test]
    fn a_patch_crosses_the_wire() {
        let patch = Patch::default()
            .with_removed(Attribute::Near)
            .with(Attribute::Qos, QosName::new("high").unwrap())
            .with(Attribute::Ntasks, tasks(8, None));
        let text = serde_json::to_string(&patch).unwrap();
        assert_eq!(text, r#"{"qos":"high","ntasks":{"most":8,"least":null},"near":null}"#);
        assert_eq!(serde_json::from_str::<Patch>(&text).unwrap(), patch);
        let bad = serde_json::from_str::<Patch>(r#"{"nice":"much"}"#).unwrap_err().to_string();
        assert!(bad.contains("expected i32"), "{bad}");
        assert!(serde_json::from_str::<Patch>(r#"{"colour":1}"#).is_err());
    }

    #[test]
    fn a_change_reads_as_the_command_that_made_it() {
        let patch = Patch::default()
            .with(Attribute::Time, time(90))
            .with(Attribute::Nodes, NodeCount { most: 2, least: None })
            .with(Attribute::Ntasks, tasks(8, Some(4)))
            .with(Attribute::GpusPerNode, GpuCount { kinds: Vec::new(), count: Gpus(8) })
            .with_removed(Attribute::GpuKind)
            .with(Attribute::Mem, Bytes::from_mib(1024))
            .with(Attribute::Queue, QueueName::new("debug").unwrap())
            .with_removed(Attribute::Qos)
            .with_removed(Attribute::Comment)
            .with(Attribute::Near, Nearness { level: Level::Leaf, required: true })
            .with(Attribute::ArrayLimit, 4_u32);
        assert_eq!(
            patch.to_string(),
            "--qos=none --comment= --nodes=2 --ntasks=4-8 --mem=1G --gpus-per-node=8 \
             --gpu-kind=any --queue=debug --time=01:30:00 --near=leaf:required --array-limit=4"
        );
        assert_eq!(Patch::default().to_string(), "");
    }

    #[test]
    fn the_summary_of_a_change_is_short() {
        let short = Patch::default().with(Attribute::Time, time(90));
        assert_eq!(short.summary(), "--time=01:30:00");
        let node = |number: u32| NodeName::new(format!("rack-{}-{number}", number % 7)).unwrap();
        for hosts in [(0..10_000).map(node).collect(), vec![node(1)]] {
            let comment = "ü".repeat(500);
            let summary = Patch::default()
                .with(Attribute::Exclude, Hosts(hosts))
                .with(Attribute::Comment, comment)
                .summary();
            assert!(summary.len() <= SUMMARY_BYTES_MAX, "{} bytes", summary.len());
            assert!(summary.starts_with("--comment=ü"), "{summary}");
            assert!(summary.ends_with('…'), "{summary}");
        }
    }

    #[test]
    fn a_change_is_checked_by_the_table() {
        let change = |attribute, value| Patch::default().try_with(attribute, value);
        let range = NodeCount { most: 4, least: Some(1) };
        for (attribute, value, expected) in [
            (Attribute::Output, Some(Value::Text("x".to_owned())), ChangeError::Fixed),
            (Attribute::Nice, None, ChangeError::Kept),
            (Attribute::Nodes, Some(range.into()), ChangeError::Range),
            (Attribute::Time, Some(TimeLimit(None).into()), ChangeError::Unlimited),
        ] {
            assert_eq!(change(attribute, value), Err(expected), "{attribute}");
        }
        let removed = change(Attribute::Dependency, None).unwrap();
        assert_eq!(removed, Patch::default().with_removed(Attribute::Dependency));
        let nodes = Value::from(NodeCount { most: 4, least: None });
        let changed = removed.try_with(Attribute::Nodes, Some(nodes)).unwrap();
        assert_eq!(changed.try_with(Attribute::Dependency, None), Err(ChangeError::Twice));
        let gpus = change(Attribute::Gpus, None).unwrap();
        assert_eq!(gpus.try_with(Attribute::GpusPerNode, None), Err(ChangeError::Twice));
    }
}
