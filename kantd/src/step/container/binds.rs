//! What a container sees of its node: devices and kernel, the job's own directories, what the
//! node's configuration names, and what a bundle asks for. Never mounts anything; the runtime does.

use super::image::Image;
use crate::container::{Containers, Mount};
use crate::step::dir::StepDir;
use crate::step::order::StepOrder;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Something that is mounted, and is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// What, by the node's names.
    pub source: PathBuf,
    /// Where in the container.
    pub target: PathBuf,
    /// It cannot be changed there.
    pub read_only: bool,
    /// It is a directory.
    pub is_dir: bool,
}

/// Where programs of every image lie: a working directory there is the image's, not the node's.
const IMAGES_OWN: [&str; 9] =
    ["/", "/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"];

/// All that is mounted, what lies above others first.
pub fn all(order: &StepOrder, dir: &StepDir, offer: &Containers, image: &Image) -> Vec<Bind> {
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
    all.extend(order.rules.private_dirs.iter().map(|dir| same(dir, false)));
    all.push(same(dir.path(), true));
    let work_dir = Path::new(&order.launch.work_dir);
    if !IMAGES_OWN.iter().any(|own| work_dir == Path::new(own)) {
        all.push(same(work_dir, false));
    }
    if let Some(prolog) = &order.rules.task_prolog {
        all.push(Bind { is_dir: false, ..same(prolog, true) });
    }
    let gpus = offer.gpu_mounts.iter().filter(|_| !order.gpus.is_empty());
    all.extend(offer.mounts.iter().chain(gpus).flat_map(present));
    let of_machine = ["/proc", "/sys", "/dev"];
    let is_free = |bind: &&Bind| {
        bind.target.is_absolute()
            && bind.target != Path::new("/")
            && !of_machine.iter().any(|dir| bind.target.starts_with(dir))
    };
    all.extend(image.binds.iter().filter(is_free).cloned());
    sorted(all)
}

/// Each place once, the last word on it; nothing twice that comes along with what is above it.
fn sorted(all: Vec<Bind>) -> Vec<Bind> {
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

/// Of a mount of the configuration what is there.
fn present(mount: &Mount) -> Vec<Bind> {
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
    let mut names: Vec<String> = names.filter(|found| matches(name, found)).collect();
    names.sort();
    names.into_iter().filter_map(|name| bind(dir.join(&name), to.join(&name))).collect()
}

/// Is it a name of this pattern, in which each `*` stands for any letters?
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    loop {
        if matches(rest, left) {
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
    fn what_lies_above_is_mounted_first_and_brings_along_what_lies_in_it() {
        let all = vec![
            bind("/home/ada/run", "/home/ada/run"),
            bind("/x", "/data/in"),
            bind("/home", "/home"),
            bind("/data", "/data"),
            bind("/data/v2", "/data"),
        ];
        let targets: Vec<String> = sorted(all)
            .iter()
            .map(|bind| format!("{} {}", bind.source.display(), bind.target.display()))
            .collect();
        assert_eq!(targets, ["/home /home", "/data/v2 /data", "/x /data/in"]);
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, expected) in [
            ("libcuda.so*", "libcuda.so", true),
            ("libcuda.so*", "libcuda.so.535.1", true),
            ("libnvidia-*.so*", "libnvidia-ml.so.1", true),
            ("libnvidia-*.so*", "libnvidia-ml.a", false),
            ("hosts", "hosts", true),
            ("hosts", "hosts2", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn of_the_machine_only_what_is_there_is_mounted() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["liba.so.1", "liba.so.2", "libb.so"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let read_only = true;
        let (source, target) = (dir.path().join("liba.so*"), PathBuf::from("/lib/x*"));
        let found = present(&Mount { source, target, read_only });
        let targets: Vec<_> = found.iter().map(|bind| bind.target.clone()).collect();
        assert_eq!(targets, [Path::new("/lib/liba.so.1"), Path::new("/lib/liba.so.2")]);
        let gone = PathBuf::from("/nonexistent/x");
        assert_eq!(present(&Mount { source: gone.clone(), target: gone, read_only }), []);
    }
}
