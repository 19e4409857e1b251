//! Amounts that autoscaling counts in. They are fixed-point numbers in thousandths: a decision is
//! then exact and the same on every machine, and a policy or a state with such amounts can be
//! compared for equality. In text they are plain decimal numbers.

use schemars::JsonSchema;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The largest amount that is read, a thousand million. It keeps products of three amounts within
/// 128 bits.
const AMOUNT_MAX: f64 = 1e9;

/// The largest amount, in thousandths. A larger one is written as this one, because what is in the
/// log must be read again; decisions have none.
pub const THOUSANDTHS_MAX: u64 = 1_000_000_000_000;

/// Replicas of one role of a service.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Replicas(pub u32);

impl Replicas {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(1);

    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads a decimal number from 0 to [`AMOUNT_MAX`], in thousandths.
#[derive(Clone, Copy)]
struct ThousandthsVisitor;

impl Visitor<'_> for ThousandthsVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number from 0 to {AMOUNT_MAX}")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        let thousandths = value.checked_mul(1000).filter(|_| value as f64 <= AMOUNT_MAX);
        thousandths.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        let whole = u64::try_from(value);
        self.visit_u64(whole.map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))?)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        f64_to_thousandths(value).ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
    }
}

/// The number in thousandths, rounded to the nearest.
fn f64_to_thousandths(value: f64) -> Option<u64> {
    (0.0..=AMOUNT_MAX).contains(&value).then(|| (value * 1000.0).round() as u64)
}

/// A number of thousandths as a decimal number without trailing zeros: `8.4`.
pub(super) fn show(thousandths: u64) -> String {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

macro_rules! decimal {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema,
        )]
        pub struct $name(#[schemars(with = "f64")] pub u64);

        impl $name {
            pub const ZERO: Self = Self(0);

            /// A whole number.
            #[must_use]
            pub const fn whole(number: u32) -> Self {
                Self(number as u64 * 1000)
            }

            /// A measured number, rounded to thousandths. `None` if it is not a number from 0 to a
            /// thousand million.
            #[must_use]
            pub fn from_f64(number: f64) -> Option<Self> {
                f64_to_thousandths(number).map(Self)
            }

            #[must_use]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(self.0.min(THOUSANDTHS_MAX) as f64 / 1000.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(ThousandthsVisitor).map(Self)
            }
        }

        /// Without trailing zeros: `8.4`.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&show(self.0))
            }
        }
    };
}

decimal!(
    /// Requests that are in progress or wait, in thousandths: a mean need not be whole.
    Requests
);
decimal!(
    /// Requests per second, in thousandths.
    RequestRate
);
decimal!(
    /// A part of a whole, or a factor, in thousandths: 0.7 is 700.
    Fraction
);
decimal!(
    /// A latency in microseconds. In text it is a number of milliseconds.
    Latency
);
decimal!(
    /// Tokens, in thousandths: a mean for each request need not be whole.
    Tokens
);
decimal!(
    /// Tokens per second, in thousandths.
    TokenRate
);
decimal!(
    /// A value of any metric for one replica, in thousandths of the metric's unit.
    Level
);

impl Fraction {
    pub const WHOLE: Self = Self(1000);

    /// For sentences: `70 %`.
    #[must_use]
    pub fn percent(self) -> String {
        format!("{} %", show(self.0.saturating_mul(100)))
    }
}

/// The steps for which a replica's batch can still run before its memory is full, in thousandths.
/// Negative: the waiting request at the head of the queue does not fit.
///
/// Source: Sun et al., "Llumnix: Dynamic Scheduling for Large Language Model Serving" (OSDI 2024).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema)]
pub struct Freeness(#[schemars(with = "f64")] pub i64);

impl Freeness {
    /// Of a replica that is being drained: its virtual usage is infinite.
    pub const DRAINING: Self = Self(i64::MIN);

    #[must_use]
    pub const fn from_whole(steps: i32) -> Self {
        Self(steps as i64 * 1000)
    }
}

impl Serialize for Freeness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let most = THOUSANDTHS_MAX.cast_signed();
        serializer.serialize_f64(self.0.clamp(-most, most) as f64 / 1000.0)
    }
}

impl<'de> Deserialize<'de> for Freeness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        let size = f64_to_thousandths(number.abs()).and_then(|size| i64::try_from(size).ok());
        let error = || D::Error::invalid_value(Unexpected::Float(number), &ThousandthsVisitor);
        Ok(Self(if number < 0.0 { -size.ok_or_else(error)? } else { size.ok_or_else(error)? }))
    }
}

impl fmt::Display for Freeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        f.pad(&format!("{sign}{}", show(self.0.unsigned_abs())))
    }
}

/// Spans as a number of seconds, for fields whose name ends in `_seconds`.
pub mod seconds {
    use super::{Deserializer, Serializer, THOUSANDTHS_MAX, ThousandthsVisitor};
    use crate::time::Span;

    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        let milliseconds = span.0.min(THOUSANDTHS_MAX);
        if milliseconds.is_multiple_of(1000) {
            return serializer.serialize_u64(milliseconds / 1000);
        }
        serializer.serialize_f64(milliseconds as f64 / 1000.0)
    }

    /// # Errors
    /// The value is not a number of seconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        deserializer.deserialize_any(ThousandthsVisitor).map(Span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_decimal_numbers_in_text() {
        for (text, amount) in [("0.7", 700), ("2", 2000), ("2.0", 2000), ("0.0004", 0)] {
            assert_eq!(serde_json::from_str::<Requests>(text).unwrap(), Requests(amount), "{text}");
        }
        assert_eq!(serde_json::to_string(&Fraction(700)).unwrap(), "0.7");
        assert_eq!(Requests(8400).to_string(), "8.4");
        assert_eq!(Requests::whole(120).to_string(), "120");
        assert_eq!(Fraction(705).percent(), "70.5 %");
        assert_eq!(Freeness(-1250).to_string(), "-1.25");
        assert_eq!(serde_json::from_str::<Freeness>("-1.25").unwrap(), Freeness(-1250));
        assert_eq!(serde_json::from_str::<Freeness>("10").unwrap(), Freeness::from_whole(10));
    }

    #[test]
    fn every_amount_that_is_written_is_read_again() {
        for (amount, read) in [
            (0, 0),
            (1, 1),
            (999_999_999_999, 999_999_999_999),
            (THOUSANDTHS_MAX, THOUSANDTHS_MAX),
            (THOUSANDTHS_MAX + 1, THOUSANDTHS_MAX),
            (u64::MAX, THOUSANDTHS_MAX),
        ] {
            let text = serde_json::to_string(&Requests(amount)).unwrap();
            assert_eq!(serde_json::from_str::<Requests>(&text).unwrap(), Requests(read), "{text}");
        }
        let most = THOUSANDTHS_MAX.cast_signed();
        for (freeness, read) in
            [(Freeness::DRAINING, -most), (Freeness(i64::MAX), most), (Freeness(-1), -1)]
        {
            let text = serde_json::to_string(&freeness).unwrap();
            assert_eq!(serde_json::from_str::<Freeness>(&text).unwrap(), Freeness(read), "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["-1", "-0.5", "1e10", "10000000000", "\"2\""] {
            let error = serde_json::from_str::<Requests>(text).unwrap_err().to_string();
            assert!(error.contains("a number from 0 to 1000000000"), "{text}: {error}");
        }
        assert_eq!(Requests::from_f64(f64::NAN), None);
        assert_eq!(Requests::from_f64(f64::INFINITY), None);
        assert_eq!(Requests::from_f64(1.5), Some(Requests(1500)));
    }
}
