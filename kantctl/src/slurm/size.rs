//! Sizes as Slurm's commands write them. Never of another unit than was asked.

use common::unit::Bytes;

/// How sizes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// As large as fits.
    #[default]
    Fitting,
    /// In this one: `K`, `M`, `G`, `T`.
    In(char),
    /// Each in the one it has in Slurm: what is asked for and given in `M`, what is measured in
    /// bytes.
    Own,
}

impl Unit {
    /// As `--noconvert` says.
    #[must_use]
    pub const fn of(no_convert: bool) -> Self {
        if no_convert { Self::Own } else { Self::Fitting }
    }
}

/// `8G`, `1500M`, as Slurm writes sizes.
#[must_use]
pub fn size(bytes: Bytes, unit: Unit) -> String {
    let kib = bytes.0 / 1024;
    let scales = [('K', 1_u64), ('M', 1024), ('G', 1 << 20), ('T', 1 << 30)];
    let fits = |scale: &&(char, u64)| match unit {
        Unit::In(letter) => scale.0 == letter.to_ascii_uppercase(),
        Unit::Own => scale.0 == 'M',
        // Halves are written, 1.50G, and nothing finer.
        Unit::Fitting => kib >= scale.1 && kib.is_multiple_of((scale.1 / 2).max(1)),
    };
    if kib == 0 {
        return "0".to_owned();
    }
    let (letter, scale) = scales.iter().rev().find(fits).unwrap_or(&scales[0]);
    let (whole, rest) = (kib / scale, kib % scale);
    if rest == 0 {
        return format!("{whole}{letter}");
    }
    format!("{whole}.{:02}{letter}", rest * 100 / scale)
}

/// The same of what was measured, in whole KiB unless bytes are asked for.
#[must_use]
pub fn measured(bytes: Bytes, unit: Unit) -> String {
    match unit {
        Unit::Own => bytes.0.to_string(),
        _ => size(bytes, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_slurms() {
        const B: Bytes = Bytes(1_234_567);
        let shown = |mib, unit| size(Bytes::from_mib(mib), unit);
        assert_eq!(shown(8192, Unit::Fitting), "8G");
        assert_eq!(shown(1500, Unit::Fitting), "1500M");
        assert_eq!(shown(1536, Unit::Fitting), "1.50G");
        assert_eq!(
            (shown(8192, Unit::Own).as_str(), measured(B, Unit::Own).as_str()),
            ("8192M", "1234567")
        );
        assert_eq!(measured(B, Unit::Fitting), "1205K");
        assert_eq!(shown(1536, Unit::In('G')), "1.50G");
        assert_eq!(shown(2, Unit::In('K')), "2048K");
        assert_eq!(
            (shown(0, Unit::Fitting).as_str(), shown(0, Unit::In('M')).as_str()),
            ("0", "0")
        );
    }
}
