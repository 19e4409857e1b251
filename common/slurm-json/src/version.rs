//! The versions of Slurm's JSON that are served.
//! Source: the OpenAPI documents of Slurm's releases 22.05 (0.0.38) and 23.11 (0.0.40) to 26.05
//! (0.0.45).

use std::fmt;
use std::str::FromStr;

/// A version of Slurm's JSON, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Plain numbers and words, and the last version without states of numbers.
    V38,
    V40,
    V41,
    V42,
    V43,
    V44,
    V45,
}

/// A row of the table of versions: its name, and the release of Slurm that brought it.
const NAMES: [(Version, &str, [u32; 3]); 7] = [
    (Version::V38, "v0.0.38", [22, 5, 8]),
    (Version::V40, "v0.0.40", [23, 11, 0]),
    (Version::V41, "v0.0.41", [24, 5, 0]),
    (Version::V42, "v0.0.42", [24, 11, 0]),
    (Version::V43, "v0.0.43", [25, 5, 0]),
    (Version::V44, "v0.0.44", [25, 11, 0]),
    (Version::V45, "v0.0.45", [26, 5, 0]),
];

impl Version {
    /// All versions, the oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(version, ..)| *version)
    }

    /// Whether it is 0.0.38, with plain numbers and words.
    #[must_use]
    pub fn is_plain(self) -> bool {
        self == Self::V38
    }

    /// The release of Slurm that brought the version: major, minor, micro.
    #[must_use]
    pub fn release(self) -> [u32; 3] {
        self.row().2
    }

    fn row(self) -> &'static (Self, &'static str, [u32; 3]) {
        // A test shows that the table is complete and in order.
        &NAMES[self as usize]
    }
}

/// `v0.0.40`, as in paths.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().1)
    }
}

/// The text names no version that is served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no version `{0}` here: write one of {all}",
    all = Version::all().map(|version| version.to_string()).collect::<Vec<_>>().join(", ")
)]
pub struct UnknownVersion(String);

impl FromStr for Version {
    type Err = UnknownVersion;
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let named = NAMES.iter().find(|(_, name, _)| *name == text);
        named.map(|(version, ..)| *version).ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_row() {
        for (place, version) in Version::all().enumerate() {
            assert_eq!(version as usize, place);
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        let unknown = "v0.0.39".parse::<Version>().unwrap_err().to_string();
        assert!(unknown.contains("`v0.0.39`") && unknown.contains("v0.0.40, v0.0.41"), "{unknown}");
    }
}
