//! The map of the house: which crate may import which, and which are pure. The same map as in
//! docs/ARCHITECTURE.md, for the rules to read. Never a second map: a rule that needs one asks it.

/// A crate of the workspace.
pub struct Room {
    pub name: &'static str,
    pub folder: &'static str,
    /// Decides or remembers, and touches nothing outside itself.
    pub pure: bool,
    /// The crates of the workspace it may import; `None` for a crate outside the house (tests and
    /// tools), which may import any and which none may import.
    pub may_import: Option<&'static [&'static str]>,
}

/// Every crate. A new one is added here first.
pub const ROOMS: &[Room] = &[
    crate_room("common", "common", true, &[]),
    crate_room("engine", "kantctld/engine", true, &["common"]),
    crate_room("autoscale", "kantctld/autoscale", true, &["common"]),
    crate_room("state", "kantctld/state", true, &["common", "engine"]),
    crate_room(TEXTS, "kantctld/query", true, &["common", "engine", "state"]),
    crate_room("lead", "kantctld/lead", true, &["common", "engine", "autoscale", "state", TEXTS]),
    crate_room("page", "kantctld/page", true, &["common"]),
    crate_room("trace", "kantctld/trace", true, &["common", "state"]),
    crate_room("sim", "kantctld/sim", true, SIM_IMPORTS),
    crate_room("node", "kantd/node", true, &["common"]),
    crate_room("slurm-json", "common/slurm-json", true, &["common"]),
    crate_room("jwt", "common/jwt", false, &["common"]),
    crate_room("net", "common/net", false, &["common"]),
    crate_room("wal", "kantctld/wal", false, &[]),
    crate_room("replica", "kantctld/replica", false, &["common", "wal"]),
    crate_room("kant-sim", "kantctld/kant-sim", false, &["common", "trace", "sim"]),
    crate_room("kantctld", "kantctld", false, KANTCTLD_IMPORTS),
    crate_room("router", "kantd/router", false, &["common"]),
    crate_room("kantd", "kantd", false, &["common", "node", "net", "router"]),
    crate_room("cli", "kantctl/cli", false, &["common", "net"]),
    crate_room("slurm", "kantctl/slurm", false, &["common", "slurm-json", "cli"]),
    crate_room("kantctl", "kantctl", false, &["common", "net", "cli", "slurm"]),
    crate_outside_layers("bench", "tests/bench"),
    crate_outside_layers("e2e", "tests/e2e"),
    crate_outside_layers("fuzz-targets", "tests/fuzz-targets"),
    crate_outside_layers("nvml-standin", "tests/nvml-standin"),
    crate_outside_layers("storm", "tests/storm"),
    crate_outside_layers(KIT, "tests/testkit"),
    crate_outside_layers("xtask", "xtask"),
];

/// The crate of samples, which the tests of any crate may import.
pub const KIT: &str = "testkit";

/// The crate of views and sentences, which the tests of `state` import too: they compare what users
/// read.
pub const TEXTS: &str = "query";

const SIM_IMPORTS: &[&str] = &["common", "engine", "autoscale", "state", TEXTS, "lead", "trace"];

const KANTCTLD_IMPORTS: &[&str] = &[
    "common",
    "engine",
    "state",
    TEXTS,
    "lead",
    "page",
    "trace",
    "slurm-json",
    "jwt",
    "net",
    "wal",
    "replica",
];

const fn crate_room(
    name: &'static str,
    folder: &'static str,
    pure: bool,
    may_import: &'static [&'static str],
) -> Room {
    Room { name, folder, pure, may_import: Some(may_import) }
}

const fn crate_outside_layers(name: &'static str, folder: &'static str) -> Room {
    Room { name, folder, pure: false, may_import: None }
}

/// The crate of this name.
pub fn room_named(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

pub fn pure_rooms() -> impl Iterator<Item = &'static Room> {
    ROOMS.iter().filter(|room| room.pure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_crates_import_only_pure_crates() {
        for room in pure_rooms() {
            for name in room.may_import.expect("a pure crate is in the house") {
                assert!(room_named(name).is_some_and(|other| other.pure), "{} {name}", room.name);
            }
        }
    }

    #[test]
    fn arrows_never_turn_back() {
        for (index, room) in ROOMS.iter().enumerate() {
            for name in room.may_import.unwrap_or_default() {
                let imported = ROOMS.iter().position(|other| other.name == *name);
                assert!(imported.is_some_and(|other| other < index), "{} -> {name}", room.name);
            }
        }
    }
}
