//! The kinds of values that options of a submission take, read from text.
//! Never judges a request as a whole; `common::job::check` does.

use common::gpu::GpuKind;
use common::hostlist::{self, HostlistError};
use common::id::NodeName;
use common::job::Launch;
use common::job::check::COUNT_MAX;
use common::unit::Gpus;
use std::str::FromStr;

/// A text that is no value of its option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a count.
    #[error("write a whole number from 1 to {COUNT_MAX}")]
    Count,
    /// A range of node counts.
    #[error("a range of nodes is not supported in this release: write one number")]
    NodeRange,
    /// Not a number of GPUs.
    #[error("write a number of GPUs (2), or a kind and a number (h100:2)")]
    Gpus,
    /// Several kinds at once.
    #[error("several kinds of GPU in one job are not supported in this release: name one")]
    GpuKinds,
    /// Not GPUs.
    #[error("only GPUs are asked for this way: write gpu:2 or gpu:h100:2")]
    Gres,
    /// Not a way to launch.
    #[error("write once, per-node or per-task")]
    Launch,
}

/// Reads a count from 1 to [`COUNT_MAX`].
///
/// # Errors
/// [`ValueError::Count`].
pub fn read_count(text: &str) -> Result<u32, ValueError> {
    let count = text.trim().parse().map_err(|_| ValueError::Count)?;
    if (1..=COUNT_MAX).contains(&count) { Ok(count) } else { Err(ValueError::Count) }
}

/// Reads `--nodes`: a count, or Slurm's range when both ends are the same.
///
/// # Errors
/// [`ValueError::Count`], [`ValueError::NodeRange`].
pub fn read_nodes(text: &str) -> Result<u32, ValueError> {
    match text.split_once('-') {
        Some((least, most)) if !least.is_empty() => {
            let (least, most) = (read_count(least)?, read_count(most)?);
            if least == most { Ok(least) } else { Err(ValueError::NodeRange) }
        }
        _ => read_count(text),
    }
}

/// Reads `--launch`.
///
/// # Errors
/// [`ValueError::Launch`].
pub fn read_launch(text: &str) -> Result<Launch, ValueError> {
    match text {
        "once" => Ok(Launch::Once),
        "per-node" => Ok(Launch::PerNode),
        "per-task" => Ok(Launch::PerTask),
        _ => Err(ValueError::Launch),
    }
}

/// A number of GPUs, of one kind if one is named: `2`, `h100:2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuCount {
    /// Only of this kind.
    pub kind: Option<GpuKind>,
    /// How many.
    pub count: Gpus,
}

impl FromStr for GpuCount {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.contains(',') {
            return Err(ValueError::GpuKinds);
        }
        let (kind, count) = match text.rsplit_once(':') {
            None => (None, text),
            Some((kind, count)) => (Some(read_kind(kind)?), count),
        };
        let count = read_count(count).map_err(|_| ValueError::Gpus)?;
        Ok(Self { kind, count: Gpus(count) })
    }
}

fn read_kind(text: &str) -> Result<GpuKind, ValueError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(plain) {
        return Err(ValueError::Gpus);
    }
    Ok(GpuKind(text.to_ascii_lowercase()))
}

/// Slurm's way to ask for GPUs on each node: `gpu`, `gpu:2`, `gpu:h100:2`, `none`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gres(pub Option<GpuCount>);

impl FromStr for Gres {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let plain = text.strip_prefix("gres/").or_else(|| text.strip_prefix("gres:"));
        match plain.unwrap_or(text).split_once(':') {
            None if text.eq_ignore_ascii_case("none") => Ok(Self(None)),
            None if plain.unwrap_or(text) == "gpu" => Ok(Self(Some("1".parse()?))),
            Some(("gpu", count)) => {
                // `gpu:h100` is one of that kind.
                let one = !count.is_empty() && count.parse::<i64>().is_err();
                let one = one && !count.contains([':', ',']);
                let count = if one { format!("{count}:1") } else { count.to_owned() };
                count.parse().map(|gpus| Self(Some(gpus)))
            }
            _ => Err(ValueError::Gres),
        }
    }
}

/// Many nodes in one word, `g[001-004],login`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts(pub Vec<NodeName>);

impl FromStr for Hosts {
    type Err = HostlistError;
    fn from_str(text: &str) -> Result<Self, HostlistError> {
        hostlist::expand(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(kind: Option<&str>, count: u32) -> GpuCount {
        GpuCount { kind: kind.map(|k| GpuKind(k.to_owned())), count: Gpus(count) }
    }

    #[test]
    fn gpus_are_read_with_and_without_a_kind() {
        assert_eq!("2".parse(), Ok(gpus(None, 2)));
        assert_eq!("H100:8".parse(), Ok(gpus(Some("h100"), 8)));
        for text in ["", "0", "-1", "h100:", ":2", "h100:x", "a b:1", "h100:2:3"] {
            assert!(text.parse::<GpuCount>().is_err(), "{text}");
        }
        assert_eq!("a100:1,h100:2".parse::<GpuCount>(), Err(ValueError::GpuKinds));
    }

    #[test]
    fn gres_is_read_as_slurm_writes_it() {
        for (text, expected) in [
            ("gpu", Some(gpus(None, 1))),
            ("gpu:2", Some(gpus(None, 2))),
            ("gpu:h100:2", Some(gpus(Some("h100"), 2))),
            ("gpu:h100", Some(gpus(Some("h100"), 1))),
            ("gres/gpu:4", Some(gpus(None, 4))),
            ("none", None),
        ] {
            assert_eq!(text.parse(), Ok(Gres(expected)), "{text}");
        }
        for text in ["", "gpu:", "gpu:-1", "gpu:0", "nic:1", "gpu:2,nic:1", "gpu::2"] {
            assert!(text.parse::<Gres>().is_err(), "{text}");
        }
    }

    #[test]
    fn node_counts_take_a_range_only_of_one_number() {
        assert_eq!(read_nodes("2"), Ok(2));
        assert_eq!(read_nodes("2-2"), Ok(2));
        assert_eq!(read_nodes("2-4"), Err(ValueError::NodeRange));
        for text in ["-3", "0", "x", "", "-", "1-", "1000001", "4294967296"] {
            assert_eq!(read_nodes(text), Err(ValueError::Count), "{text}");
        }
    }
}
