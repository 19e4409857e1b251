//! Parses single values: decimal numbers to exact thousandths, counts, lists. Thousandths never
//! pass through floating point, so the same text gives the same number on any machine.

use super::CpuMilli;
use common::time::Span;
use std::str::FromStr;

/// The most digits before the point: as seconds, thirty thousand years.
const DIGITS_MAX: usize = 12;

/// What is wrong with a value. The caller adds its place.
pub type Problem = String;

/// A decimal number of seconds, as written and in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds {
    pub exact: f64,
    /// To the nearest millisecond, half up. Rounding preserves order, and adding a whole number of
    /// milliseconds before or after it gives the same result: a schedule computed from rounded
    /// submit times and whole-millisecond run times is the exact one, rounded.
    pub rounded: Span,
}

/// A time in seconds, at least zero.
pub fn seconds(text: &str) -> Result<Seconds, Problem> {
    let rounded = thousandths(text, "seconds")?;
    let exact = text.parse().map_err(|_| "is not a number: write seconds, like 90 or 12.5")?;
    Ok(Seconds { exact, rounded: Span(rounded) })
}

/// A decimal number in thousandths, rounded to nearest, half up.
pub fn thousandths(text: &str, unit: &str) -> Result<u64, Problem> {
    if text.starts_with('-') {
        return Err(format!("is negative: {unit} begin at 0"));
    }
    let not_a_number = || format!("is not a number: write {unit} in digits, like 90 or 12.5");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return Err(not_a_number());
    }
    if whole.len() > DIGITS_MAX {
        return Err(format!("is too large: at most {DIGITS_MAX} digits before the point"));
    }
    let whole: u64 = whole.parse().map_err(|_| not_a_number())?;
    let digit = |at: usize| fraction.as_bytes().get(at).map_or(0, |byte| u64::from(byte - b'0'));
    let round = u64::from(digit(3) >= 5);
    Ok(whole * 1000 + digit(0) * 100 + digit(1) * 10 + digit(2) + round)
}

pub fn count<N: FromStr>(text: &str, what: &str) -> Result<N, Problem> {
    if text.starts_with('-') {
        return Err(format!("is negative: {what} begin at 0"));
    }
    text.parse().map_err(|_| format!("is not a whole number: write {what} in digits, like 8"))
}

/// CPUs, which may have decimals.
pub fn cpus(text: &str) -> Result<CpuMilli, Problem> {
    let milli = thousandths(text, "CPUs")?;
    u32::try_from(milli).map(CpuMilli).map_err(|_| "is more CPUs than one node has".to_owned())
}

/// `None` for an empty field, otherwise what `read` returns.
pub fn optional<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, Problem>,
) -> Result<Option<T>, Problem> {
    if text.is_empty() { Ok(None) } else { read(text).map(Some) }
}

/// Thousandths as a decimal number without trailing zeros.
pub fn show_thousandths(thousandths: u64) -> String {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_rounded_from_their_digits_half_up() {
        for (text, expected) in [
            ("0", 0),
            ("4.709164", 4709),
            ("16.003927", 16_004),
            ("0.0005", 1),
            ("0.000499999", 0),
            ("1.9995", 2000),
            ("11.908", 11_908),
            ("999999999999", 999_999_999_999_000),
        ] {
            assert_eq!(thousandths(text, "seconds"), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_says_how_to_write_one() {
        for text in ["", "x", "1e5", "+1", ".5", "5.", "1.2.3", "NaN", "inf", "1,5", " 1"] {
            let problem = thousandths(text, "seconds").unwrap_err();
            assert!(problem.starts_with("is not a number: write seconds"), "{text}: {problem}");
        }
        assert!(thousandths("-3", "seconds").unwrap_err().starts_with("is negative"));
        assert!(thousandths("1000000000000", "s").unwrap_err().starts_with("is too large"));
        assert!(count::<u32>("1.5", "nodes").unwrap_err().starts_with("is not a whole number"));
        assert!(count::<u32>("-1", "nodes").unwrap_err().starts_with("is negative"));
    }

    proptest! {
        #[test]
        fn rounding_keeps_order_and_whole_milliseconds(
            a in 0u64..4_000_000_000_000, b in 0u64..4_000_000_000_000, run in 0u64..1_000_000_000,
        ) {
            let micros = |n: u64| format!("{}.{:06}", n / 1_000_000, n % 1_000_000);
            let read = |n: u64| thousandths(&micros(n), "seconds").unwrap();
            prop_assert!(read(a.min(b)) <= read(a.max(b)));
            prop_assert_eq!(read(a + run * 1000), read(a) + run);
        }

        #[test]
        fn thousandths_are_read_as_they_were_shown(n in 0u64..u64::from(u32::MAX)) {
            prop_assert_eq!(thousandths(&show_thousandths(n), "CPUs"), Ok(n));
        }
    }
}
