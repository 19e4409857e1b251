//! The small texts of a machine file: PCI addresses, number lists, made-up uuids.

use serde::Deserialize;
use std::fmt;

/// Where a device sits on the PCI bus. Function numbers other than 0 are kept, not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct PciAddress {
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub function: u32,
}

/// As NVML writes it: eight digits of domain, upper case.
impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:08X}:{bus:02X}:{device:02X}.{function}")
    }
}

impl PciAddress {
    /// Reads `0000:1b:00.0` in any case and with any width of the domain.
    pub fn parse(text: &str) -> Option<Self> {
        let (front, function) = text.split_once('.')?;
        let mut parts = front.split(':');
        let mut hex = || u32::from_str_radix(parts.next()?, 16).ok();
        let (domain, bus, device) = (hex()?, hex()?, hex()?);
        let function = u32::from_str_radix(function, 16).ok()?;
        let fits = bus < 256 && device < 32 && function < 8;
        (fits && parts.next().is_none()).then_some(Self { domain, bus, device, function })
    }
}

impl TryFrom<String> for PciAddress {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no PCI address like 0000:1b:00.0"))
    }
}

/// Numbers written as the kernel writes CPU lists: `0-3,8`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct NumberList(pub Vec<u32>);

impl TryFrom<String> for NumberList {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let bad = || format!("`{text}` is no list of CPUs like 0-3,8");
        let mut numbers = Vec::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u32 = first.trim().parse().map_err(|_| bad())?;
            let last: u32 = last.trim().parse().map_err(|_| bad())?;
            if first > last || last > 65_535 {
                return Err(bad());
            }
            numbers.extend(first..=last);
        }
        Ok(Self(numbers))
    }
}

/// A uuid that is always the same for the same seed (FNV-1a twice, the second over the reverse).
pub fn uuid(seed: &str) -> String {
    let hash = |bytes: &mut dyn Iterator<Item = u8>| {
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        })
    };
    let (a, b) = (hash(&mut seed.bytes()), hash(&mut seed.bytes().rev()));
    let (a, b) = (format!("{a:016x}"), format!("{b:016x}"));
    format!("{}-{}-{}-{}-{}", &a[..8], &a[8..12], &a[12..], &b[..4], &b[4..])
}
