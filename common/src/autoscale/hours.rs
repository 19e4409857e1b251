//! Times of the week with other bounds than the policy's own.

use super::unit::Replicas;
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const MINUTES_OF_DAY: u16 = 24 * 60;
const DAY_NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A day of the week: 0 is Monday, 6 is Sunday.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Weekday(u8);

impl Weekday {
    /// The day that is this many days after Monday; of more than 6 the rest after whole weeks.
    #[must_use]
    pub const fn after_monday(days: u64) -> Self {
        Self((days % 7) as u8)
    }

    const fn previous(self) -> Self {
        Self((self.0 + 6) % 7)
    }
}

/// A minute of the day: `08:30` is 510. `24:00` is the end of the day.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Minute(u16);

impl Minute {
    /// The minute with this number; of more than a day the rest after whole days.
    #[must_use]
    pub const fn of_day(minutes: u64) -> Self {
        Self((minutes % MINUTES_OF_DAY as u64) as u16)
    }
}

/// The local time of the cluster, which the caller derives from its time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalTime {
    pub weekday: Weekday,
    pub minute: Minute,
}

impl LocalTime {
    /// The local time of a cluster that keeps UTC.
    #[must_use]
    pub const fn utc(time: Time) -> Self {
        let minutes = time.0 / 60_000;
        // The epoch was a Thursday.
        let weekday = Weekday::after_monday(minutes / MINUTES_OF_DAY as u64 + 3);
        Self { weekday, minute: Minute::of_day(minutes) }
    }
}

/// Days of the week: `mon-fri`, `sat,sun`, `fri-mon`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Days(u8);

impl Days {
    pub const ALL: Self = Self(0b111_1111);

    #[must_use]
    pub const fn contains(self, day: Weekday) -> bool {
        self.0 & (1 << day.0) != 0
    }
}

impl Default for Days {
    fn default() -> Self {
        Self::ALL
    }
}

/// Bounds at certain hours. They apply in addition to the policy's own: the highest minimum and
/// the lowest maximum of those in effect count, and the policy's bounds are never exceeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hours {
    /// The first minute, `08:00`.
    pub from: Minute,
    /// The minute after the last. At or before `from`: on the next day.
    pub to: Minute,
    /// The days on which the hours begin.
    #[serde(default, skip_serializing_if = "crate::serde_skip::is_default")]
    pub days: Days,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Replicas>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Replicas>,
}

impl Hours {
    #[must_use]
    pub const fn contains(&self, now: LocalTime) -> bool {
        let today = self.days.contains(now.weekday);
        if self.from.0 < self.to.0 {
            return today && self.from.0 <= now.minute.0 && now.minute.0 < self.to.0;
        }
        today && self.from.0 <= now.minute.0
            || self.days.contains(now.weekday.previous()) && now.minute.0 < self.to.0
    }
}

/// `08:00-20:00 mon-fri`
impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{} {}", self.from, self.to, self.days)
    }
}

/// The text is not a time of the day or a list of days.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    #[error("`{0}` is not a time of the day: write hours and minutes, from 00:00 to 24:00")]
    Minute(String),
    #[error(
        "`{0}` is not a list of days: write mon, tue, wed, thu, fri, sat, sun, separated by \
         commas, or a range (mon-fri)"
    )]
    Days(String),
}

impl FromStr for Minute {
    type Err = HoursError;
    fn from_str(text: &str) -> Result<Self, HoursError> {
        let number = |part: &str, digits: usize| -> Option<u16> {
            let is_plain = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| part.parse().ok()).flatten()
        };
        let read = || {
            let (hours, minutes) = text.split_once(':')?;
            let minutes = number(minutes, 2).filter(|minutes| *minutes < 60)?;
            let sum = number(hours, 2)? * 60 + minutes;
            (sum <= MINUTES_OF_DAY).then_some(Self(sum))
        };
        read().ok_or_else(|| HoursError::Minute(text.to_owned()))
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl FromStr for Days {
    type Err = HoursError;
    fn from_str(text: &str) -> Result<Self, HoursError> {
        let bad = || HoursError::Days(text.to_owned());
        let day =
            |name: &str| DAY_NAMES.iter().position(|known| *known == name.trim()).ok_or_else(bad);
        let mut days = 0;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (mut at, last) = (day(first)?, day(last)?);
            days |= 1 << at;
            while at != last {
                at = (at + 1) % DAY_NAMES.len();
                days |= 1 << at;
            }
        }
        Ok(Self(days))
    }
}

/// Runs of three days or more as a range: `mon-fri`, `sat,sun`.
impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_in = |day: &usize| self.0 & (1 << day) != 0;
        let mut parts = Vec::new();
        let mut at = 0;
        while at < DAY_NAMES.len() {
            let length = (at..DAY_NAMES.len()).take_while(is_in).count();
            match length {
                0 => at += 1,
                1 | 2 => parts.extend(DAY_NAMES[at..at + length].iter().map(ToString::to_string)),
                _ => parts.push(format!("{}-{}", DAY_NAMES[at], DAY_NAMES[at + length - 1])),
            }
            at += length;
        }
        f.write_str(&parts.join(","))
    }
}

macro_rules! text_form {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = HoursError;
            fn try_from(text: String) -> Result<Self, HoursError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    )*};
}
text_form!(Minute, Days);

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(from: &str, to: &str, days: &str) -> Hours {
        let minute = |text: &str| text.parse().unwrap();
        let days = days.parse().unwrap();
        Hours { from: minute(from), to: minute(to), days, min: None, max: None }
    }

    fn local(day: &str, minute: &str) -> LocalTime {
        let at = DAY_NAMES.iter().position(|name| *name == day).unwrap();
        let weekday = Weekday::after_monday(at as u64);
        LocalTime { weekday, minute: minute.parse().unwrap() }
    }

    #[test]
    fn hours_of_working_days_begin_and_end() {
        let hours = hours("08:00", "20:00", "mon-fri");
        for (day, minute, inside) in [
            ("mon", "07:59", false),
            ("mon", "08:00", true),
            ("fri", "19:59", true),
            ("fri", "20:00", false),
            ("sat", "12:00", false),
        ] {
            assert_eq!(hours.contains(local(day, minute)), inside, "{day} {minute}");
        }
    }

    #[test]
    fn hours_past_midnight_belong_to_the_day_on_which_they_begin() {
        let hours = hours("22:00", "06:00", "fri");
        for (day, minute, inside) in [
            ("fri", "05:00", false),
            ("fri", "22:00", true),
            ("sat", "05:59", true),
            ("sat", "06:00", false),
            ("sat", "22:00", false),
        ] {
            assert_eq!(hours.contains(local(day, minute)), inside, "{day} {minute}");
        }
    }

    #[test]
    fn equal_times_mean_the_whole_day() {
        let hours = hours("00:00", "24:00", "sun");
        assert!(hours.contains(local("sun", "23:59")) && !hours.contains(local("mon", "00:00")));
        let from_noon = self::hours("12:00", "12:00", "sun");
        assert!(from_noon.contains(local("mon", "11:59")));
        assert!(!from_noon.contains(local("mon", "12:00")));
    }

    #[test]
    fn days_are_written_as_they_are_read() {
        for (text, shown) in [
            ("mon-fri", "mon-fri"),
            ("sat,sun", "sat,sun"),
            ("fri-mon", "mon,fri-sun"),
            ("mon-sun", "mon-sun"),
            ("wed", "wed"),
        ] {
            assert_eq!(text.parse::<Days>().unwrap().to_string(), shown, "{text}");
        }
        for text in ["", "mon-", "monday", "mon fri", "1"] {
            let error = text.parse::<Days>().unwrap_err().to_string();
            assert!(error.contains("is not a list of days"), "{error}");
        }
        for text in ["8:00", "24:01", "12:60", "noon", "-1:00", "+1:00"] {
            let error = text.parse::<Minute>().unwrap_err().to_string();
            assert!(error.contains("is not a time of the day"), "{error}");
        }
    }

    #[test]
    fn the_local_time_of_utc_knows_its_weekday() {
        // 2023-11-14 was a Tuesday.
        let time = Time(1_700_000_000_000);
        assert_eq!(LocalTime::utc(time), local("tue", "22:13"));
    }
}
