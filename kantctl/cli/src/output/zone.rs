//! The time zone of shown times, looked up when the first time is shown, since most answers have
//! none.

use jiff::tz::TimeZone;
use std::ops::Deref;
use std::sync::LazyLock;

/// The rules of the system's time zone (man 5 localtime).
const LOCAL: &str = "/etc/localtime";

/// The zone of this process: TZ, or the host's.
static SYSTEM: LazyLock<TimeZone> = LazyLock::new(|| {
    // The library looks a zone up by name among all names. That takes a hundred system calls, as
    // long as the rest of a submit, and the name is never shown.
    let own = || TimeZone::tzif("local", &std::fs::read(LOCAL).ok()?).ok();
    let named = std::env::var_os("TZ").is_some();
    if named { None } else { own() }.unwrap_or_else(TimeZone::system)
});

#[derive(Debug, Clone, Default)]
pub struct Zone(Option<TimeZone>);

impl Zone {
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }
}

impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Self {
        Self(Some(zone))
    }
}

impl Deref for Zone {
    type Target = TimeZone;
    fn deref(&self) -> &TimeZone {
        self.0.as_ref().unwrap_or_else(|| &SYSTEM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn the_hosts_rules_are_those_of_its_named_zone() {
        let by_name = TimeZone::system();
        for seconds in [0, 1_700_000_000, 1_720_000_000, 4_000_000_000] {
            let at = Timestamp::from_second(seconds).unwrap();
            let offset = |zone: &TimeZone| zone.to_offset(at);
            assert_eq!(offset(&Zone::system()), offset(&by_name), "{at}");
        }
        assert_eq!(offset_of(&Zone::from(TimeZone::UTC)), 0);
    }

    fn offset_of(zone: &TimeZone) -> i32 {
        zone.to_offset(Timestamp::UNIX_EPOCH).seconds()
    }
}
