//! How near a job's nodes are to each other: kant's `--near`, and Slurm's `--switches`.
//! Never knows the topology.

use common::topology::{Level, Nearness};
use std::str::FromStr;

/// A text that names no nearness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NearError {
    #[error(
        "write nvlink-domain, leaf, spine or superspine; with :required after it the job waits for \
         it (leaf:required)"
    )]
    Level,
    /// More than one switch, or none.
    #[error("only one leaf switch can be asked for: write 1, or --near=spine for more of them")]
    Switches,
}

/// Reads `--near`: `leaf`, `leaf:preferred`, `nvlink-domain:required`.
///
/// # Errors
/// [`NearError::Level`].
pub fn read_near(text: &str) -> Result<Nearness, NearError> {
    let (level, required) = match text.split_once(':') {
        None | Some((_, "preferred")) => (text.split(':').next().unwrap_or_default(), false),
        Some((level, "required")) => (level, true),
        Some(_) => return Err(NearError::Level),
    };
    let level = match level {
        "nvlink-domain" | "nvlink" => Level::NvlinkDomain,
        "leaf" => Level::Leaf,
        "spine" => Level::Spine,
        "superspine" => Level::Superspine,
        _ => return Err(NearError::Level),
    };
    Ok(Nearness { level, required })
}

/// Slurm's `--switches=1[@TIME]` (man sbatch): one leaf switch, preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// It names how long to wait for that, which kant does not.
    pub timed: bool,
}

impl Switches {
    /// What it asks for: one leaf, or what comes nearest to it.
    pub const NEAR: Nearness = Nearness { level: Level::Leaf, required: false };
}

impl FromStr for Switches {
    type Err = NearError;
    fn from_str(text: &str) -> Result<Self, NearError> {
        let (count, timed) = match text.split_once('@') {
            None => (text, false),
            Some((count, _)) => (count, true),
        };
        if count.trim() == "1" { Ok(Self { timed }) } else { Err(NearError::Switches) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_preferred_unless_it_is_required() {
        for (text, level, required) in [
            ("leaf", Level::Leaf, false),
            ("leaf:preferred", Level::Leaf, false),
            ("leaf:required", Level::Leaf, true),
            ("nvlink:required", Level::NvlinkDomain, true),
            ("spine", Level::Spine, false),
            ("superspine:required", Level::Superspine, true),
        ] {
            assert_eq!(read_near(text), Ok(Nearness { level, required }), "{text}");
        }
        for text in ["", "rack", "leaf:", "leaf:must", ":required", "leaf:required:x", "Leaf "] {
            assert_eq!(read_near(text), Err(NearError::Level), "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_again() {
        for text in ["nvlink-domain", "leaf:required", "spine", "superspine:required"] {
            assert_eq!(read_near(text).map(|near| near.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn slurms_switches_mean_one_leaf() {
        assert_eq!("1".parse(), Ok(Switches { timed: false }));
        assert_eq!("1@60".parse(), Ok(Switches { timed: true }));
        for text in ["", "0", "2", "2@10", "x", "@10"] {
            assert_eq!(text.parse::<Switches>(), Err(NearError::Switches), "{text}");
        }
    }
}
