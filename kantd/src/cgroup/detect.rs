//! Detection of the available cgroup support at kantd's start, by making a cgroup. Only the root
//! cgroup stays afterwards.

use super::mounts::{self, Mounts};
use super::{Cgroup, CgroupError, CgroupParent, Kind, Limits, device_program, files, v1, v2};
use common::config::CgroupMode;
use std::path::Path;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    pub parent: CgroupParent,
    /// What cannot be enforced, a sentence each.
    pub missing: Vec<String>,
}

/// Detects the cgroup support. `root` is `cgroup_root` of the configuration.
///
/// # Errors
/// With [`CgroupMode::Required`], if cgroups cannot be used; and for an invalid `root`.
pub fn detect(mode: CgroupMode, root: &str) -> Result<Detected, CgroupError> {
    files::cgroup_path(root, "probe")?;
    if mode == CgroupMode::Off {
        return Ok(detected_without_cgroups(root, "they are turned off (cgroup = \"off\")"));
    }
    match (probe(root), mode) {
        (Ok(detected), _) => Ok(detected),
        (Err(error), CgroupMode::Required) => Err(CgroupError::Required(error.to_string())),
        (Err(error), _) => Ok(detected_without_cgroups(root, &error.to_string())),
    }
}

fn detected_without_cgroups(root: &str, why: &str) -> Detected {
    let sentence = format!(
        "no cgroups: {why}; jobs are tracked by their process tree and not confined to their CPUs, \
         memory and GPUs"
    );
    let parent = CgroupParent { kind: Kind::None, root: root.to_owned() };
    Detected { parent, missing: vec![sentence] }
}

fn probe(root: &str) -> Result<Detected, CgroupError> {
    let mounts = mounts::read()?;
    let path = files::cgroup_path(root, &format!("probe-{}", std::process::id()))?;
    let kind = kind_of(&mounts)?;
    let missing = match kind {
        Kind::V2 => probe_v2(&mounts, &path),
        _ => probe_v1(&mounts, &path),
    }?;
    Ok(Detected { parent: CgroupParent { kind, root: root.to_owned() }, missing })
}

/// The unified hierarchy if it has the memory controller; else v1 if it has any controller (hybrid
/// hosts have both); else v2.
fn kind_of(mounts: &Mounts) -> Result<Kind, CgroupError> {
    let offered = match &mounts.v2 {
        Some(mount) => files::read(&mount.join("cgroup.controllers")).unwrap_or_default(),
        None => String::new(),
    };
    if offered.split(' ').any(|word| word == "memory") {
        return Ok(Kind::V2);
    }
    if v1::CONTROLLERS.iter().any(|(name, _)| mounts.v1.contains_key(*name)) {
        return Ok(Kind::V1);
    }
    mounts.v2.as_ref().map(|_| Kind::V2).ok_or(CgroupError::NotMounted("v1 or v2"))
}

fn probe_v1(mounts: &Mounts, path: &Path) -> Result<Vec<String>, CgroupError> {
    let group = v1::Group::new(mounts, path);
    with_group(&group, || {
        let missing = group.missing_controllers();
        if missing.len() == v1::CONTROLLERS.len() {
            let mount = mounts.v1.values().next().cloned().unwrap_or_default();
            let source = std::io::Error::from_raw_os_error(libc::EACCES);
            return Err(CgroupError::Make { path: mount.join(path), source });
        }
        Ok(missing.iter().map(|(name, use_)| missing_sentence(name, use_)).collect())
    })
}

fn probe_v2(mounts: &Mounts, path: &Path) -> Result<Vec<String>, CgroupError> {
    let group = v2::Group::new(mounts, path)?;
    with_group(&group, || {
        let mut missing: Vec<String> = group
            .missing_controllers()
            .iter()
            .map(|(name, use_)| missing_sentence(name, use_))
            .collect();
        let dir = mounts.v2.clone().unwrap_or_default().join(path);
        if let Err(error) = device_program::deny_devices(&dir, &Limits::default()) {
            missing.push(format!("access to other jobs' GPUs is not denied: {error}"));
        }
        Ok(missing)
    })
}

fn missing_sentence(controller: &str, use_: &str) -> String {
    format!("jobs are not {use_}: no {controller} cgroup can be made")
}

/// Makes a cgroup, calls `probe`, and removes the cgroup.
fn with_group<T>(
    group: &dyn Cgroup,
    probe: impl FnOnce() -> Result<T, CgroupError>,
) -> Result<T, CgroupError> {
    let seen =
        group.create(&Limits::default()).and_then(|()| group.entry_files()).and_then(|_| probe());
    let removed = super::remove(group, Duration::from_secs(2));
    let seen = seen?;
    removed.map(|()| seen)
}

#[cfg(test)]
mod tests;
