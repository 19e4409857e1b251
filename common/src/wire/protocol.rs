//! Versions of the protocols between daemons. Each side names the versions that it speaks, and both
//! use the newest that they share, so that two releases in a row can work together.

use std::fmt;

/// The versions of a protocol that a build speaks: all from `oldest` to `newest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocols {
    pub oldest: u32,
    pub newest: u32,
}

impl Protocols {
    /// This version and the one before, which a release speaks so that it can follow the last one.
    #[must_use]
    pub const fn with_previous(newest: u32) -> Self {
        Self { oldest: if newest > 1 { newest - 1 } else { newest }, newest }
    }

    /// One version and no other.
    #[must_use]
    pub const fn only(version: u32) -> Self {
        Self { oldest: version, newest: version }
    }

    /// The versions of a sender that names its newest one, and its oldest one if that is another.
    #[must_use]
    pub const fn from_announced(newest: u32, oldest: Option<u32>) -> Self {
        match oldest {
            Some(oldest) => Self { oldest, newest },
            None => Self::only(newest),
        }
    }

    /// The oldest version as a sender names it.
    #[must_use]
    pub fn announced_oldest(self) -> Option<u32> {
        (self.oldest != self.newest).then_some(self.oldest)
    }

    /// The newest version that both sides speak.
    #[must_use]
    pub fn newest_common(self, theirs: Self) -> Option<u32> {
        let newest = self.newest.min(theirs.newest);
        (newest >= self.oldest.max(theirs.oldest)).then_some(newest)
    }
}

impl fmt::Display for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.oldest == self.newest {
            true => write!(f, "{}", self.newest),
            false => write!(f, "{} to {}", self.oldest, self.newest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_speaks_the_version_before_its_own() {
        assert_eq!(Protocols::with_previous(1), Protocols::only(1));
        assert_eq!(Protocols::with_previous(3), Protocols { oldest: 2, newest: 3 });
    }

    #[test]
    fn the_newest_shared_version_is_used() {
        let from = |oldest, newest| Protocols { oldest, newest };
        for (ours, theirs, shared) in [
            (from(1, 1), from(1, 1), Some(1)),
            (from(1, 2), from(1, 1), Some(1)),
            (from(1, 2), from(2, 3), Some(2)),
            (from(1, 3), from(1, 2), Some(2)),
            (from(1, 1), from(2, 2), None),
            (from(1, 2), from(3, 4), None),
            // What no build says of itself.
            (from(1, 2), from(2, 1), None),
        ] {
            assert_eq!(ours.newest_common(theirs), shared, "{ours}, {theirs}");
            assert_eq!(theirs.newest_common(ours), shared, "{theirs}, {ours}");
            assert_eq!(Protocols::from_announced(ours.newest, ours.announced_oldest()), ours);
        }
    }
}
