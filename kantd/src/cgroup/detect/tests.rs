//! Detection on the machine that runs the tests. Needs root.

use super::*;
use nix::unistd::Uid;

fn mounts_with(v1: &[&str], v2: bool) -> Mounts {
    Mounts {
        v1: v1.iter().map(|name| ((*name).to_owned(), "/nowhere".into())).collect(),
        v2: v2.then(|| "/nowhere".into()),
    }
}

#[test]
fn hybrid_hosts_are_v1_and_a_host_without_cgroups_is_an_error() {
    assert_eq!(kind_of(&mounts_with(&["memory"], true)).unwrap(), Kind::V1);
    assert_eq!(kind_of(&mounts_with(&["name=systemd"], true)).unwrap(), Kind::V2);
    assert!(kind_of(&mounts_with(&[], false)).is_err());
}

#[test]
fn turned_off_cgroups_are_reported_with_the_consequences() {
    let detected = detect(CgroupMode::Off, "kant").unwrap();
    assert_eq!(detected.parent.kind, Kind::None);
    assert!(detected.missing[0].contains("not confined to their CPUs"), "{detected:?}");
}

#[test]
fn a_root_that_is_not_a_plain_name_is_refused() {
    let error = detect(CgroupMode::Auto, "../kant").unwrap_err().to_string();
    assert!(error.contains("cgroup_root"), "{error}");
}

#[test]
fn root_finds_cgroups_and_leaves_no_probe() {
    if !Uid::effective().is_root() {
        println!("skipped: making cgroups needs root");
        return;
    }
    let root = format!("kant-detect-{}", std::process::id());
    let detected = detect(CgroupMode::Required, &root).unwrap();
    let mounts = mounts::read().unwrap();
    let points = mounts.v1.values().chain(mounts.v2.as_ref());
    let ours: Vec<_> = points.map(|mount| mount.join(&root)).filter(|dir| dir.is_dir()).collect();
    assert!(!ours.is_empty());
    for dir in ours {
        // Succeeds only if no probe is left inside.
        std::fs::remove_dir(&dir).unwrap();
    }
    assert_ne!(detected.parent.kind, Kind::None);
}
