//! Sizes as Slurm's commands write them.

use common::unit::Bytes;

/// The unit that sizes are shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// The largest unit of whose half the size is a multiple.
    #[default]
    Fitting,
    /// This unit: `K`, `M`, `G` or `T`.
    In(char),
    /// The unit that Slurm stores: `M` for requested and allocated sizes, bytes for measured ones.
    Native,
}

impl Unit {
    #[must_use]
    pub const fn from_no_convert(no_convert: bool) -> Self {
        if no_convert { Self::Native } else { Self::Fitting }
    }
}

/// `8G`, `1500M`, as Slurm writes sizes.
#[must_use]
pub fn format_size(bytes: Bytes, unit: Unit) -> String {
    let kib = bytes.0 / 1024;
    let scales = [('K', 1_u64), ('M', 1024), ('G', 1 << 20), ('T', 1 << 30)];
    let fits = |scale: &&(char, u64)| match unit {
        Unit::In(letter) => scale.0 == letter.to_ascii_uppercase(),
        Unit::Native => scale.0 == 'M',
        // Halves are written as a fraction (1.50G); anything finer uses a smaller unit.
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

/// A measured size: in bytes for [`Unit::Native`], otherwise in whole KiB or a larger unit.
#[must_use]
pub fn format_measured(bytes: Bytes, unit: Unit) -> String {
    match unit {
        Unit::Native => bytes.0.to_string(),
        _ => format_size(bytes, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_slurm_writes_them() {
        const B: Bytes = Bytes(1_234_567);
        let shown = |mib, unit| format_size(Bytes::from_mib(mib), unit);
        assert_eq!(shown(8192, Unit::Fitting), "8G");
        assert_eq!(shown(1500, Unit::Fitting), "1500M");
        assert_eq!(shown(1536, Unit::Fitting), "1.50G");
        assert_eq!(
            (shown(8192, Unit::Native).as_str(), format_measured(B, Unit::Native).as_str()),
            ("8192M", "1234567")
        );
        assert_eq!(format_measured(B, Unit::Fitting), "1205K");
        assert_eq!(shown(1536, Unit::In('G')), "1.50G");
        assert_eq!(shown(2, Unit::In('K')), "2048K");
        assert_eq!(
            (shown(0, Unit::Fitting).as_str(), shown(0, Unit::In('M')).as_str()),
            ("0", "0")
        );
    }
}
