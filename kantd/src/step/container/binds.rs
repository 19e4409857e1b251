//! The bind mounts of a container: devices and kernel file systems, the job's own directories, the
//! configured mounts, and those of the bundle. The runtime makes the mounts.

use super::image::Image;
use crate::config::Mount;
use crate::container_support::Containers;
use crate::step::dir::StepDir;
use crate::step::spec::StepSpec;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A bind mount whose source exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// Path on the node.
    pub source: PathBuf,
    /// Path in the container.
    pub target: PathBuf,
    pub read_only: bool,
    pub is_dir: bool,
}

/// Directories that hold an image's programs; a working directory among them is the image's.
const IMAGES_OWN: [&str; 9] =
    ["/", "/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"];

/// All bind mounts, parents before what is mounted below them.
pub fn container_binds(
    spec: &StepSpec,
    dir: &StepDir,
    offer: &Containers,
    image: &Image,
) -> Vec<Bind> {
    let same = |path: &Path, read_only| Bind {
        source: path.to_owned(),
        target: path.to_owned(),
        read_only,
        is_dir: true,
    };
    let mut all = vec![
        same(Path::new("/proc"), false),
        same(Path::new("/sys"), true),
        same(Path::new("/dev"), false),
    ];
    all.extend(spec.rules.private_dirs.iter().map(|dir| same(dir, false)));
    all.push(same(dir.path(), true));
    let work_dir = Path::new(&spec.launch.work_dir);
    if !IMAGES_OWN.iter().any(|own| work_dir == Path::new(own)) {
        all.push(same(work_dir, false));
    }
    if let Some(prolog) = &spec.rules.task_prolog {
        all.push(Bind { is_dir: false, ..same(prolog, true) });
    }
    let gpus = offer.gpu_mounts.iter().filter(|_| !spec.gpus.is_empty());
    all.extend(offer.mounts.iter().chain(gpus).flat_map(expand_mount));
    let of_machine = ["/proc", "/sys", "/dev"];
    let is_free = |bind: &&Bind| {
        bind.target.is_absolute()
            && bind.target != Path::new("/")
            && !of_machine.iter().any(|dir| bind.target.starts_with(dir))
    };
    all.extend(image.binds.iter().filter(is_free).cloned());
    without_redundant(all)
}

/// Drops all but the last mount on each target, and mounts that a parent's mount includes.
fn without_redundant(all: Vec<Bind>) -> Vec<Bind> {
    let is_last = |at: usize| !all[at + 1..].iter().any(|later| later.target == all[at].target);
    let kept: Vec<&Bind> =
        all.iter().enumerate().filter(|(at, _)| is_last(*at)).map(|(_, bind)| bind).collect();
    let comes_along = |bind: &Bind| {
        let above = |other: &&Bind| {
            other.target != bind.target
                && bind.target.starts_with(&other.target)
                && other.source == other.target
                && !other.read_only
        };
        bind.source == bind.target && !bind.read_only && kept.iter().any(above)
    };
    let mut binds: Vec<Bind> =
        kept.iter().filter(|bind| !comes_along(bind)).map(|bind| (*bind).clone()).collect();
    binds.sort_by_key(|bind| bind.target.components().count());
    binds
}

/// The existing paths that a configured mount names; its last component may be a pattern.
fn expand_mount(mount: &Mount) -> Vec<Bind> {
    let bind = |source: PathBuf, target: PathBuf| {
        let is_dir = source.metadata().ok()?.is_dir();
        Some(Bind { source, target, read_only: mount.read_only, is_dir })
    };
    let name = mount.source.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let (Some(dir), true) = (mount.source.parent(), name.contains('*')) else {
        return bind(mount.source.clone(), mount.target.clone()).into_iter().collect();
    };
    let to = mount.target.parent().unwrap_or(&mount.target);
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|found| matches_pattern(name, found)).collect();
    names.sort();
    names.into_iter().filter_map(|name| bind(dir.join(&name), to.join(&name))).collect()
}

/// Whether a name matches a pattern in which each `*` stands for any characters.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    loop {
        if matches_pattern(rest, left) {
            return true;
        }
        let mut letters = left.chars();
        if letters.next().is_none() {
            return false;
        }
        left = letters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(source: &str, target: &str) -> Bind {
        let (source, target) = (PathBuf::from(source), PathBuf::from(target));
        Bind { source, target, read_only: false, is_dir: true }
    }

    #[test]
    fn parents_are_mounted_first_and_include_what_is_below_them() {
        let all = vec![
            bind("/home/ada/run", "/home/ada/run"),
            bind("/x", "/data/in"),
            bind("/home", "/home"),
            bind("/data", "/data"),
            bind("/data/v2", "/data"),
        ];
        let targets: Vec<String> = without_redundant(all)
            .iter()
            .map(|bind| format!("{} {}", bind.source.display(), bind.target.display()))
            .collect();
        assert_eq!(targets, ["/home /home", "/data/v2 /data", "/x /data/in"]);
    }

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, name, expected) in [
            ("libcuda.so*", "libcuda.so", true),
            ("libcuda.so*", "libcuda.so.535.1", true),
            ("libnvidia-*.so*", "libnvidia-ml.so.1", true),
            ("libnvidia-*.so*", "libnvidia-ml.a", false),
            ("hosts", "hosts", true),
            ("hosts", "hosts2", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn only_existing_paths_are_mounted() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["liba.so.1", "liba.so.2", "libb.so"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let read_only = true;
        let (source, target) = (dir.path().join("liba.so*"), PathBuf::from("/lib/x*"));
        let found = expand_mount(&Mount { source, target, read_only });
        let targets: Vec<_> = found.iter().map(|bind| bind.target.clone()).collect();
        assert_eq!(targets, [Path::new("/lib/liba.so.1"), Path::new("/lib/liba.so.2")]);
        let gone = PathBuf::from("/nonexistent/x");
        assert_eq!(expand_mount(&Mount { source: gone.clone(), target: gone, read_only }), []);
    }
}
