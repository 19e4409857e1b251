//! A number of seconds that has no fixed default: `"auto"`, or the number.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

const AUTO: &str = "auto";

/// `None` is written `"auto"`: kant derives the number from other keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AutoSeconds(pub Option<u64>);

impl Serialize for AutoSeconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(seconds) => to.serialize_u64(seconds),
            None => to.serialize_str(AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for AutoSeconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = AutoSeconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of seconds, or {AUTO:?}")
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<AutoSeconds, E> {
        Ok(AutoSeconds(Some(seconds)))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<AutoSeconds, E> {
        let seconds = u64::try_from(seconds);
        seconds
            .map(|seconds| AutoSeconds(Some(seconds)))
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Other("a negative number"), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AutoSeconds, E> {
        match text {
            AUTO => Ok(AutoSeconds(None)),
            other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Table {
        after: AutoSeconds,
    }

    #[test]
    fn numbers_and_the_word_read_back_and_other_values_are_refused() {
        for after in [None, Some(0), Some(260)].map(AutoSeconds) {
            let text = toml::to_string(&Table { after }).unwrap();
            assert_eq!(toml::from_str::<Table>(&text).unwrap(), Table { after });
        }
        for value in ["\"soon\"", "-1", "true"] {
            let error = toml::from_str::<Table>(&format!("after = {value}")).unwrap_err();
            assert!(error.to_string().contains("or \"auto\""), "{error}");
        }
    }
}
