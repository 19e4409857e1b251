//! libFuzzer over one target: the one that `KANT_FUZZ_TARGET` names. Without, it lists all with the
//! directories of their seeds.
#![no_main]

use fuzz_targets::{TARGETS, Target, find};
use std::sync::OnceLock;

fn target() -> &'static Target {
    static TARGET: OnceLock<&'static Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = std::env::var("KANT_FUZZ_TARGET").unwrap_or_default();
        find(&name).unwrap_or_else(|| panic!("KANT_FUZZ_TARGET names no target: `{name}`"))
    })
}

/// Prints the targets, and ends the process.
fn list() {
    for target in TARGETS {
        println!("{} {}", target.name, target.seeds.join(" "));
    }
    std::process::exit(0);
}

libfuzzer_sys::fuzz_target!(
    init: {
        if std::env::var_os("KANT_FUZZ_TARGET").is_none() {
            list();
        }
    },
    |bytes: &[u8]| (target().run)(bytes)
);
