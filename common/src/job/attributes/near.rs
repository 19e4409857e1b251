//! Nearness of a job's nodes in the network: kant's `--near`, and Slurm's `--switches`.

use crate::topology::{Level, Nearness};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NearError {
    #[error(
        "write nvlink-domain, leaf, spine or superspine; add :required to make the job wait for \
         such nodes (leaf:required)"
    )]
    Level,
    #[error("only one leaf switch can be requested: write 1, or use --near=spine for more")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Switches {
    /// Whether a maximum waiting time is given, which kant ignores.
    pub timed: bool,
}

impl Switches {
    /// One leaf group, or the nearest alternative.
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
    fn displayed_values_can_be_parsed() {
        for text in ["nvlink-domain", "leaf:required", "spine", "superspine:required"] {
            assert_eq!(read_near(text).map(|near| near.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn slurm_switches_mean_one_leaf() {
        assert_eq!("1".parse(), Ok(Switches { timed: false }));
        assert_eq!("1@60".parse(), Ok(Switches { timed: true }));
        for text in ["", "0", "2", "2@10", "x", "@10"] {
            assert_eq!(text.parse::<Switches>(), Err(NearError::Switches), "{text}");
        }
    }
}
