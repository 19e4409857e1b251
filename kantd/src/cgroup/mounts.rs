//! Mount points of the cgroup hierarchies, from /proc/self/mountinfo (man 5 proc).

use super::{CgroupError, files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mounts {
    /// v1: the mount point of each controller (`memory`, `cpuset`, ...).
    pub v1: BTreeMap<String, PathBuf>,
    /// The mount point of cgroup2.
    pub v2: Option<PathBuf>,
}

/// Reads the mounts of this process.
pub fn read() -> Result<Mounts, CgroupError> {
    files::read(Path::new("/proc/self/mountinfo")).map(|text| parse(&text))
}

/// The hierarchies in mountinfo; the first mount of each counts.
fn parse(text: &str) -> Mounts {
    let mut mounts = Mounts::default();
    for line in text.lines() {
        let Some((head, tail)) = line.split_once(" - ") else { continue };
        let Some(point) = head.split(' ').nth(4) else { continue };
        let point = PathBuf::from(unescape(point));
        let mut tail = tail.split(' ');
        match (tail.next(), tail.nth(1)) {
            (Some("cgroup2"), _) => {
                mounts.v2.get_or_insert(point);
            }
            (Some("cgroup"), Some(options)) => {
                for option in options.split(',') {
                    mounts.v1.entry(option.to_owned()).or_insert_with(|| point.clone());
                }
            }
            _ => {}
        }
    }
    mounts
}

/// Decodes `\040` and the like, which stand for blanks in a mount point.
fn unescape(point: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(point.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_hosts_have_both_kinds() {
        let mounts = parse(
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
             32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /sys/fs/cg\\040x rw,relatime shared:9 - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n\
             42 31 0:39 / /mnt/again rw - cgroup2 cgroup2 rw\nnonsense\n",
        );
        assert_eq!(mounts.v2.unwrap(), Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(mounts.v1["cpuacct"], Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(mounts.v1["memory"], Path::new("/sys/fs/cg x"));
        assert!(!mounts.v1.contains_key("pids"));
    }
}
