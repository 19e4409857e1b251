//! The streams of a step for clients that attach to it. The output of its tasks goes from the
//! client that runs the step (srun) to the step ledger on the job's first node, and from there to
//! the attached clients; their input goes the other way. Data flows only while a client is
//! attached. A slow client does not delay the step: it loses data, and receives the number of bytes
//! lost.

use crate::id::TaskNumber;
use crate::job::{ExitStatus, SignalNumber};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The state of a step's streams, reported by the client that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepStreams {
    /// It assumes that a client is attached, and sends the tasks' output.
    pub listened: bool,
    /// Whether it accepts input from attached clients.
    pub input: StepInput,
}

/// Whether a step accepts input from attached clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepInput {
    /// It is forwarded.
    Passed,
    /// Not now: too much is in transit.
    Full,
    /// Never: no task reads, or the input of all tasks has ended.
    Unread,
}

/// Output of a step's tasks: whole frames, as the launcher of the tasks writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepPiece {
    /// Its offset in the step's whole output.
    pub from: u64,
    pub bytes: Octets,
}

impl StepPiece {
    /// The offset after it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.from.saturating_add(self.bytes.0.len() as u64)
    }
}

/// Input for a step's tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepSpeech {
    /// The sender, chosen at random.
    pub speaker: TaskNumber,
    /// Its offset in all that the sender sent: a repeated piece has no effect.
    pub from: u64,
    /// The rank of one task; `None`: all tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    pub bytes: Octets,
}

/// The messages for the client that holds a step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StepHeard {
    /// Signals since the last answer.
    pub signals: Vec<SignalNumber>,
    pub listened: bool,
    /// Input for its tasks, in order.
    pub speech: Vec<StepSpeech>,
}

/// The messages for an attached client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StepSaid {
    /// In ascending order, possibly with gaps.
    pub pieces: Vec<StepPiece>,
    /// The step has ended, and no output follows.
    pub is_over: bool,
    /// The exit, if the client that ran it reported one.
    pub exit: Option<ExitStatus>,
}

/// Bytes, mostly text, in JSON: each byte is the character with its number.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema)]
pub struct Octets(#[schemars(with = "String")] pub Vec<u8>);

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.iter().map(|byte| char::from(*byte)).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = text.chars().map(|letter| u8::try_from(letter).ok()).collect::<Option<_>>();
        let wrong = "characters up to U+00FF, one for each byte";
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
