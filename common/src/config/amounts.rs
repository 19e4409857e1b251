//! Amounts as a table has them, `quota = { h100 = 64, cpus = 1000, memory = "4T" }`: any key except
//! `gpus`, `cpus` and `memory` is a kind of GPU.

use crate::gpu::GpuKind;
use crate::policy::Amounts;
use crate::unit::{Bytes, Cpus, Gpus};
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Amounts in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AmountsTable(pub Amounts);

/// Likely misspellings of `cpus` and `memory`, with the correct key.
const NO_KINDS: &[(&str, &str)] = &[
    ("cpu", "cpus"),
    ("cores", "cpus"),
    ("gpu", "gpus"),
    ("any", "gpus"),
    ("mem", "memory"),
    ("ram", "memory"),
];

impl Serialize for AmountsTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let amounts = &self.0;
        let mut map = serializer.serialize_map(None)?;
        for (kind, count) in &amounts.gpus {
            map.serialize_entry(&kind.0, count)?;
        }
        if let Some(gpus) = amounts.gpus_any {
            map.serialize_entry("gpus", &gpus)?;
        }
        if let Some(cpus) = amounts.cpus {
            map.serialize_entry("cpus", &cpus)?;
        }
        if let Some(memory) = amounts.memory {
            map.serialize_entry("memory", &exact_memory_text(memory))?;
        }
        map.end()
    }
}

/// In the largest unit that says it exactly, so that it reads back.
fn exact_memory_text(memory: Bytes) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K"), (0, "B")];
    let whole = |(shift, _): &&(u32, &str)| memory.0.trailing_zeros() >= *shift;
    let (shift, unit) = units.iter().find(whole).copied().unwrap_or((0, "B"));
    format!("{}{unit}", memory.0 >> shift)
}

impl<'de> Deserialize<'de> for AmountsTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = AmountsTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table like { h100 = 64, gpus = 128, cpus = 1000, memory = \"4T\" }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AmountsTable, A::Error> {
        let mut amounts = Amounts::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "gpus" => amounts.gpus_any = Some(Gpus(map.next_value()?)),
                "cpus" => amounts.cpus = Some(Cpus(map.next_value()?)),
                "memory" => amounts.memory = Some(map.next_value::<Memory>()?.0),
                _ => {
                    let kind = parse_gpu_kind(&key).map_err(A::Error::custom)?;
                    amounts.gpus.insert(kind, Gpus(map.next_value()?));
                }
            }
        }
        Ok(AmountsTable(amounts))
    }
}

fn parse_gpu_kind(key: &str) -> Result<GpuKind, String> {
    if let Some((_, meant)) = NO_KINDS.iter().find(|(word, _)| *word == key) {
        return Err(format!("`{key}` is no kind of GPU: write `{meant}`"));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    // As MIG devices are called: `"h100-1g.10gb+me" = 2`.
    let in_mig = |c: char| plain(c) || matches!(c, '-' | '.' | '+');
    let kind = GpuKind(key.to_owned());
    let is_kind = key.chars().all(plain) || (kind.is_mig() && key.chars().all(in_mig));
    if key.is_empty() || !is_kind {
        return Err(format!(
            "`{key}` is no kind of GPU: write `gpus`, `cpus`, `memory`, or a kind as \
             `kantctl nodes` shows it, like `h100`"
        ));
    }
    Ok(kind)
}

/// Memory with its unit, `"4T"`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Memory(Bytes);

impl TryFrom<String> for Memory {
    type Error = crate::unit::BytesError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        quota: AmountsTable,
    }

    fn read(text: &str) -> Result<Amounts, String> {
        toml::from_str::<Holder>(text).map(|h| h.quota.0).map_err(|e| e.to_string())
    }

    #[test]
    fn a_key_that_is_no_resource_is_a_kind_of_gpu() {
        let text = "quota = { h100 = 64, titan = 2, gpus = 128, cpus = 1000, memory = \"4T\" }";
        let amounts = read(text).unwrap();
        let kinds =
            [(GpuKind("h100".to_owned()), Gpus(64)), (GpuKind("titan".to_owned()), Gpus(2))];
        assert_eq!(amounts.gpus, BTreeMap::from(kinds));
        assert_eq!((amounts.gpus_any, amounts.cpus), (Some(Gpus(128)), Some(Cpus(1000))));
        assert_eq!(amounts.memory, Some(Bytes(4 << 40)));
    }

    #[test]
    fn what_is_written_reads_back() {
        for memory in [Bytes(0), Bytes(7), Bytes(3 << 40), Bytes::from_mib(1536)] {
            let amounts =
                Amounts { memory: Some(memory), cpus: Some(Cpus(4)), ..Amounts::default() };
            let text = toml::to_string(&Holder { quota: AmountsTable(amounts.clone()) }).unwrap();
            assert_eq!(read(&text), Ok(amounts), "{text}");
        }
    }

    #[test]
    fn parts_of_a_gpu_are_a_kind_in_quotes() {
        let amounts = read("quota = { h100 = 8, \"h100-1g.10gb+me\" = 2 }").unwrap();
        assert_eq!(amounts.gpus[&GpuKind("h100-1g.10gb+me".to_owned())], Gpus(2));
    }

    #[test]
    fn near_misses_are_refused_with_the_line_and_the_right_word() {
        for (text, word) in [
            ("quota = { cpu = 4 }", "write `cpus`"),
            ("quota = { mem = \"4T\" }", "write `memory`"),
            ("quota = { H100 = 4 }", "`H100` is no kind"),
            ("quota = { gpu_minutes = 4 }", "`gpu_minutes` is no kind"),
            ("quota = { \"h100-sxm\" = 4 }", "`h100-sxm` is no kind"),
            ("quota = { h100 = -4 }", "-4"),
            ("quota = { memory = \"lots\" }", "`lots` is not an amount of memory"),
            ("quota = 64", "a table like"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word) && error.contains("line 1"), "{text}: {error}");
        }
    }
}
