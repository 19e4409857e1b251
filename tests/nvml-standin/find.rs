//! Where a test of any crate finds the stand-in library and its machines, and builds the library
//! if it is not built yet. Std only: include it with `#[path = ".../tests/nvml-standin/find.rs"]`.
//! It does not load the library.

#![allow(dead_code)] // Each test takes what it needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

/// The environment variable that names the machine file.
pub const VARIABLE: &str = "KANT_NVML_STANDIN";

/// The folder of this crate.
pub fn home() -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut homes = from.ancestors().map(|above| above.join("tests/nvml-standin"));
    homes.find(|home| home.join("find.rs").exists()).expect("built inside kant's workspace")
}

/// A machine that comes with the crate: `machine("dgx-h100")`.
pub fn machine(name: &str) -> PathBuf {
    home().join("machines").join(format!("{name}.toml"))
}

/// The library that cargo put beside this test or above it, built now if it is missing or older
/// than its sources.
pub fn library() -> PathBuf {
    let test = env::current_exe().expect("a test knows its own path");
    let deps = test.parent().expect("a test lies in a folder");
    let profile = if deps.ends_with("deps") { deps.parent().unwrap_or(deps) } else { deps };
    if let Some((when, library)) = newest(&[deps, profile])
        && when >= sources_changed(&home().join("src"))
    {
        return library;
    }
    build(profile);
    newest(&[deps, profile]).expect("cargo puts the library beside or above the test").1
}

/// The newest copy of the library in these folders, and when it was built.
fn newest(folders: &[&Path]) -> Option<(SystemTime, PathBuf)> {
    let copies = folders.iter().map(|folder| folder.join("libnvml_standin.so"));
    copies.filter_map(|copy| Some((changed(&copy)?, copy))).max()
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

fn sources_changed(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).expect("the sources are there").flatten();
    let times = entries.map(|entry| match entry.path() {
        path if path.is_dir() => sources_changed(&path),
        path => changed(&path).unwrap_or(SystemTime::UNIX_EPOCH),
    });
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn build(profile: &Path) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "nvml-standin", "--target-dir"]);
    command.arg(profile.parent().expect("a profile lies in the target folder"));
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let status = command.current_dir(home()).status().expect("cargo runs");
    assert!(status.success(), "cargo could not build nvml-standin: {status}");
}
