//! GPU options: a number of GPUs, of one or of alternative kinds, or shares of GPUs.

use super::counts::{ValueError, read_count};
use crate::gpu::GpuKind;
use crate::gpu_parts::{GpuParts, PartSize};
use crate::resource::GpuRequest;
use crate::unit::{GpuMilli, Gpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A number of GPUs, optionally with kinds: `2`, `h100:2`, `h100|a100:2`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuCount {
    /// The accepted kinds in ascending order; empty for any.
    pub kinds: Vec<GpuKind>,
    pub count: Gpus,
}

impl FromStr for GpuCount {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (kinds, count) = split_kinds(text)?;
        if count.contains('.') || matches!(read_amount(count), Ok(GpuAmount::Parts(_))) {
            return Err(ValueError::GpuShareHere);
        }
        let count = read_count(count).map_err(|_| ValueError::Gpus)?;
        Ok(Self { kinds, count: Gpus(count) })
    }
}

/// A number of GPUs, or shares of GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GpuAmount {
    Whole(Gpus),
    /// The same share of each of several GPUs.
    Parts(GpuParts),
}

/// The value of `--gpus`: `2`, `h100:2`, `h100|a100:2`, `0.5`, `a100:0.25`, `2x0.5`, `20G`,
/// `a100:4x20G`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpusValue {
    /// The accepted kinds in ascending order; empty for any.
    pub kinds: Vec<GpuKind>,
    pub amount: GpuAmount,
}

impl FromStr for GpusValue {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (kinds, amount) = split_kinds(text)?;
        Ok(Self { kinds, amount: read_amount(amount)? })
    }
}

fn read_amount(text: &str) -> Result<GpuAmount, ValueError> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let of_several = text.split_once('x').filter(|(devices, _)| is_number(devices));
    let Some((devices, part)) = of_several else { return read_part(text) };
    let devices = Gpus(read_count(devices).map_err(|_| ValueError::Gpus)?);
    match read_part(part)? {
        GpuAmount::Parts(GpuParts { each, .. }) => Ok(GpuAmount::Parts(GpuParts { devices, each })),
        // `2x4` would be eight GPUs, not shares.
        GpuAmount::Whole(_) => Err(ValueError::GpuShare),
    }
}

/// A share of one GPU, or several whole ones.
fn read_part(text: &str) -> Result<GpuAmount, ValueError> {
    if let Some((whole, decimals)) = text.split_once('.') {
        return read_share(whole, decimals).ok_or(ValueError::GpuShare);
    }
    // A number with a unit is GPU memory.
    if text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(char::is_alphabetic) {
        let memory = text.parse().map_err(|_| ValueError::GpuShare)?;
        let each = PartSize::Memory(memory);
        return Ok(GpuAmount::Parts(GpuParts { devices: Gpus(1), each }));
    }
    Ok(GpuAmount::Whole(Gpus(read_count(text).map_err(|_| ValueError::Gpus)?)))
}

/// A decimal number: `0.5` as 500 thousandths, `2.0` as a whole number.
fn read_share(whole: &str, decimals: &str) -> Option<GpuAmount> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || !(1..=3).contains(&decimals.len()) {
        return None;
    }
    let share: u32 = format!("{decimals:0<3}").parse().ok()?;
    match (whole, share) {
        ("" | "0", 0) => None,
        ("" | "0", share) => Some(GpuAmount::Parts(GpuParts::of_one(GpuMilli(share)))),
        (whole, 0) => Some(GpuAmount::Whole(Gpus(read_count(whole).ok()?))),
        _ => None,
    }
}

/// The kinds before the last colon, and the rest after it.
fn split_kinds(text: &str) -> Result<(Vec<GpuKind>, &str), ValueError> {
    if text.contains(',') {
        return Err(ValueError::GpuKinds);
    }
    match text.rsplit_once(':') {
        None => Ok((Vec::new(), text)),
        Some((kinds, count)) => Ok((read_kinds(kinds)?, count)),
    }
}

/// Reads `h100|a100`, without duplicates and in any order.
///
/// # Errors
/// [`ValueError::Gpus`].
pub fn read_kinds(text: &str) -> Result<Vec<GpuKind>, ValueError> {
    let mut kinds = text.split('|').map(read_kind).collect::<Result<Vec<_>, _>>()?;
    kinds.sort();
    kinds.dedup();
    Ok(kinds)
}

fn read_kind(text: &str) -> Result<GpuKind, ValueError> {
    // MIG devices have names such as `h100-1g.10gb+me`.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    if text.is_empty() || !text.chars().all(plain) {
        return Err(ValueError::Gpus);
    }
    Ok(GpuKind(text.to_ascii_lowercase()))
}

/// Kinds as they are read: `h100|a100`; `any` for none.
pub(super) fn join_kinds(kinds: &[GpuKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.0.as_str()).collect();
    if names.is_empty() { "any".to_owned() } else { names.join("|") }
}

/// The kinds before a count: `h100|a100:`; empty for any.
fn kinds_prefix(kinds: &[GpuKind]) -> String {
    if kinds.is_empty() { String::new() } else { format!("{}:", join_kinds(kinds)) }
}

impl fmt::Display for GpuCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", kinds_prefix(&self.kinds), self.count)
    }
}

impl fmt::Display for GpusValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&kinds_prefix(&self.kinds))?;
        match self.amount {
            GpuAmount::Whole(gpus) => gpus.fmt(f),
            GpuAmount::Parts(parts) => parts.fmt(f),
        }
    }
}

impl fmt::Display for Gres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(gpus) => write!(f, "gpu:{gpus}"),
            None => f.write_str("none"),
        }
    }
}

/// Slurm's option for GPUs on each node: `gpu`, `gpu:2`, `gpu:h100:2`, `none`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gres(pub Option<GpuCount>);

impl FromStr for Gres {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let plain = text.strip_prefix("gres/").or_else(|| text.strip_prefix("gres:"));
        match plain.unwrap_or(text).split_once(':') {
            None if text.eq_ignore_ascii_case("none") => Ok(Self(None)),
            None if plain.unwrap_or(text) == "gpu" => Ok(Self(Some("1".parse()?))),
            Some(("gpu", count)) => {
                // `gpu:h100` means one GPU of that kind.
                let one = !count.is_empty() && count.parse::<f64>().is_err();
                let one = one && !count.contains([':', ',']);
                let count = if one { format!("{count}:1") } else { count.to_owned() };
                count.parse().map(|gpus| Self(Some(gpus)))
            }
            _ => Err(ValueError::Gres),
        }
    }
}

/// The request for `--gpus`.
#[must_use]
pub const fn to_request(amount: GpuAmount) -> GpuRequest {
    match amount {
        GpuAmount::Whole(gpus) => GpuRequest::Total(gpus),
        GpuAmount::Parts(parts) => GpuRequest::Parts(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpus(kinds: &[&str], count: u32) -> GpuCount {
        let kinds = kinds.iter().map(|kind| GpuKind((*kind).to_owned())).collect();
        GpuCount { kinds, count: Gpus(count) }
    }

    #[test]
    fn gpus_are_read_with_and_without_kinds() {
        assert_eq!("2".parse(), Ok(gpus(&[], 2)));
        assert_eq!("H100:8".parse(), Ok(gpus(&["h100"], 8)));
        assert_eq!("h100|A100|h100:8".parse(), Ok(gpus(&["a100", "h100"], 8)));
        assert_eq!("h100-1g.10gb+me:2".parse(), Ok(gpus(&["h100-1g.10gb+me"], 2)));
        for text in ["", "0", "-1", "h100:", ":2", "h100:x", "a b:1", "h100:2:3", "a|:1", "|:1"] {
            assert!(text.parse::<GpuCount>().is_err(), "{text}");
        }
        assert_eq!("a100:1,h100:2".parse::<GpuCount>(), Err(ValueError::GpuKinds));
    }

    #[test]
    fn gpu_shares_are_accepted_for_the_whole_job_only() {
        let share = |milli| Ok(GpuAmount::Parts(GpuParts::of_one(GpuMilli(milli))));
        let read = |text: &str| text.parse::<GpusValue>().map(|ask| ask.amount);
        assert_eq!(
            (read("0.5"), read(".25"), read("a100:0.125")),
            (share(500), share(250), share(125))
        );
        assert_eq!(read("2.0"), Ok(GpuAmount::Whole(Gpus(2))));
        for text in ["0.0", "1.5", "0.", ".", "0.0005", "-0.5", "0.x", "1e3.0"] {
            assert_eq!(read(text), Err(ValueError::GpuShare), "{text}");
        }
        assert_eq!("0.5".parse::<GpuCount>(), Err(ValueError::GpuShareHere));
        assert_eq!("gpu:0.5".parse::<Gres>(), Err(ValueError::GpuShareHere));
    }

    #[test]
    fn shares_can_be_of_several_gpus_or_given_as_memory() {
        let read = |text: &str| text.parse::<GpusValue>().map(|ask| ask.amount);
        let parts = |devices, each| Ok(GpuAmount::Parts(GpuParts { devices: Gpus(devices), each }));
        let memory = PartSize::Memory("20G".parse().unwrap());
        assert_eq!(read("2x0.5"), parts(2, PartSize::Milli(GpuMilli(500))));
        assert_eq!((read("20G"), read("a100:20GiB")), (parts(1, memory), parts(1, memory)));
        assert_eq!(read("h100|a100:4x20480M"), parts(4, memory));
        for text in ["0.5", "2x0.125", "20G", "3x1536M", "20479M", "7B"] {
            let Ok(GpuAmount::Parts(parts)) = read(text) else { panic!("{text}") };
            assert_eq!(parts.to_string(), text);
        }
        for text in ["2x4", "2x1.5", "2x20Q", "20Q", "x0.5"] {
            assert_eq!(read(text), Err(ValueError::GpuShare), "{text}");
        }
        for text in ["0x0.5", "2x", "2xx20G", "G", "-20G"] {
            assert_eq!(read(text), Err(ValueError::Gpus), "{text}");
        }
        assert_eq!("20G".parse::<GpuCount>(), Err(ValueError::GpuShareHere));
        assert_eq!("h100:2x20G".parse::<GpuCount>(), Err(ValueError::GpuShareHere));
        assert_eq!("h100".parse::<GpuCount>(), Err(ValueError::Gpus));
    }

    #[test]
    fn gres_is_read_in_the_syntax_of_slurm() {
        for (text, expected) in [
            ("gpu", Some(gpus(&[], 1))),
            ("gpu:2", Some(gpus(&[], 2))),
            ("gpu:h100:2", Some(gpus(&["h100"], 2))),
            ("gpu:h100", Some(gpus(&["h100"], 1))),
            ("gres/gpu:4", Some(gpus(&[], 4))),
            ("none", None),
        ] {
            assert_eq!(text.parse(), Ok(Gres(expected)), "{text}");
        }
        for text in ["", "gpu:", "gpu:-1", "gpu:0", "nic:1", "gpu:2,nic:1", "gpu::2"] {
            assert!(text.parse::<Gres>().is_err(), "{text}");
        }
    }
}
