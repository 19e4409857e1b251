//! The time zone that times are shown in, looked up when the first time is shown: most answers have
//! none. Never reads the names of all zones there are for that of this host.

use jiff::tz::TimeZone;
use std::ops::Deref;
use std::sync::LazyLock;

/// Where systems keep the rules of their zone (man 5 localtime).
const LOCAL: &str = "/etc/localtime";

/// Of this process: as TZ says, or the host.
static SYSTEM: LazyLock<TimeZone> = LazyLock::new(|| {
    // The library finds a zone by its name among all names, which takes a hundred system calls: as
    // long as all the rest of a submit. What a name adds to the rules, nobody is shown.
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
    fn the_hosts_own_rules_say_what_its_name_says() {
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
