//! The streams of a step, for who attaches to it: what its tasks write from whoever runs the step
//! (srun) to the book of its job's first node, and from there to those that listen; what these
//! give to read goes the other way. Only while somebody listens. Never holds the step up: who is
//! too slow misses something, and is told how much.

use crate::id::TaskNumber;
use crate::job::{ExitStatus, SignalNumber};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What whoever runs a step says of its streams while it holds the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStreams {
    /// It believes that somebody listens, and sends what tasks write.
    pub listened: bool,
    /// What it does with what others give the tasks to read.
    pub input: StepInput,
}

/// What becomes of what others give a step to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepInput {
    /// It is passed on.
    Passed,
    /// Not now: there is much on the way.
    Full,
    /// Never: no task reads, or all that they read has ended.
    Unread,
}

/// Bytes of a step's tasks: whole frames, as the starter of tasks writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPiece {
    /// Their place among all that the step's tasks wrote.
    pub from: u64,
    /// The bytes.
    pub bytes: Octets,
}

impl StepPiece {
    /// The place after it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.from.saturating_add(self.bytes.0.len() as u64)
    }
}

/// Something that a step's tasks are to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSpeech {
    /// Who says it, chosen at random.
    pub speaker: TaskNumber,
    /// Its place among all that they said: a piece that comes again changes nothing.
    pub from: u64,
    /// For one task, by its rank; `None`: for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The bytes.
    pub bytes: Octets,
}

/// What whoever holds a step hears.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepHeard {
    /// Signals since the last time.
    pub signals: Vec<SignalNumber>,
    pub listened: bool,
    /// For its tasks to read, in order.
    pub speech: Vec<StepSpeech>,
}

/// What who listens hears.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StepSaid {
    /// Rising, though some may be missing between two.
    pub pieces: Vec<StepPiece>,
    /// After these there is no more: the step is over.
    pub is_over: bool,
    /// How it ended, if whoever ran it could say so.
    pub exit: Option<ExitStatus>,
}

/// Bytes that are mostly text, in messages that are JSON: each is the letter of its number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Octets(pub Vec<u8>);

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.iter().map(|byte| char::from(*byte)).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = text.chars().map(|letter| u8::try_from(letter).ok()).collect::<Option<_>>();
        let wrong = "letters up to U+00FF, one for each byte";
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom(format!("failed to read {wrong}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_passes_through_json_and_what_is_no_byte_is_refused() {
        let all = Octets((0..=255).collect());
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Octets>(&text).unwrap(), all);
        assert_eq!(serde_json::to_string(&Octets(b"loss 1\n".to_vec())).unwrap(), "\"loss 1\\n\"");
        assert!(serde_json::from_str::<Octets>("\"\u{100}\"").is_err());
    }
}
