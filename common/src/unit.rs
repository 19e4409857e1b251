//! Amounts with their unit in the type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize,
            Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            pub const ZERO: Self = Self(0);

            /// The difference, at least zero.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }

            /// The product, at most the largest amount.
            #[must_use]
            pub const fn times(self, count: u32) -> Self {
                #[allow(clippy::cast_lossless)]
                Self(self.0.saturating_mul(count as $inner))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        /// Saturates at zero: the invariants detect a ledger that would go below.
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                amounts.fold(Self::ZERO, Add::add)
            }
        }
    };
}

amount!(Bytes, u64);
amount!(
    /// Logical CPUs (hardware threads).
    Cpus, u32
);
amount!(Gpus, u32);
amount!(
    /// Thousandths of a GPU; 1000 is a whole GPU.
    GpuMilli, u32
);
amount!(Nodes, u32);
amount!(
    /// Tasks (ranks) of one job.
    Tasks, u32
);

macro_rules! show_count {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
show_count!(Cpus, GpuMilli, Gpus, Nodes, Tasks);

impl GpuMilli {
    /// A whole GPU.
    pub const WHOLE: Self = Self(1000);
}

impl Bytes {
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

/// The largest binary unit that shows the amount with at most one decimal: `512M`, `1.5G`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1u64 << 40, 'T'), (1 << 30, 'G'), (1 << 20, 'M'), (1 << 10, 'K')];
        let text = match units.iter().find(|(size, _)| self.0 >= *size) {
            None => format!("{}B", self.0),
            Some((size, unit)) => {
                let tenths = u128::from(self.0) * 10 / u128::from(*size);
                match tenths % 10 {
                    0 => format!("{}{unit}", tenths / 10),
                    tenth => format!("{}.{tenth}{unit}", tenths / 10),
                }
            }
        };
        f.pad(&text)
    }
}

/// The text is not an amount of memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount of memory: write mebibytes (4096) or a number with K, M, G or T")]
pub struct BytesError(pub String);

/// Slurm's form of `--mem`: a plain number is mebibytes; K, M, G, T (and KB, MiB, ...) are binary
/// units.
impl FromStr for Bytes {
    type Err = BytesError;
    fn from_str(text: &str) -> Result<Self, BytesError> {
        let bad = || BytesError(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = trimmed[..digits].parse().map_err(|_| bad())?;
        let unit = trimmed[digits..].to_ascii_uppercase();
        let factor: u64 = match unit.trim_end_matches('B').trim_end_matches('I') {
            "" if unit.is_empty() => 1 << 20,
            "" if unit == "B" => 1,
            "K" => 1 << 10,
            "M" => 1 << 20,
            "G" => 1 << 30,
            "T" => 1 << 40,
            _ => return Err(bad()),
        };
        number.checked_mul(factor).map(Bytes).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_slurm_reads_it() {
        for (text, bytes) in [
            ("4096", 4096 << 20),
            ("4G", 4 << 30),
            ("512M", 512 << 20),
            ("1T", 1 << 40),
            ("2GiB", 2 << 30),
            ("100KB", 100 << 10),
            ("7B", 7),
            ("0", 0),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "4X", "99999999999T", "18446744073709551616"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn memory_is_shown_short() {
        assert_eq!(Bytes(1536 << 20).to_string(), "1.5G");
        assert_eq!(Bytes::from_mib(512).to_string(), "512M");
        assert_eq!(Bytes(12).to_string(), "12B");
    }
}
