//! Access to the kernel's small cgroup files, with errors that name file and value.

use super::CgroupError;
use nix::unistd::Pid;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

/// The relative path of a cgroup below the root, which must consist of plain names.
pub fn cgroup_path(root: &str, id: &str) -> Result<PathBuf, CgroupError> {
    let path = Path::new(root);
    let plain = path.components().all(|c| matches!(c, Component::Normal(_)));
    if root.is_empty() || !plain {
        return Err(CgroupError::Root(root.to_owned()));
    }
    Ok(path.join(id))
}

/// The content of a file, trimmed.
pub fn read(path: &Path) -> Result<String, CgroupError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(source) => Err(CgroupError::Read { path: path.to_owned(), source }),
    }
}

/// The number in a file; `None` if the file is missing or holds something else.
pub fn read_number(path: &Path) -> Option<u64> {
    read(path).ok()?.parse().ok()
}

/// The number after a key, in a file of lines `key number`.
pub fn read_keyed_number(path: &Path, key: &str) -> Option<u64> {
    let text = read(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(k, _)| *k == key)?.1.trim().parse().ok()
}

/// Writes a value in one system call, as the kernel requires.
pub fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    let failed =
        |source| CgroupError::Write { path: path.to_owned(), value: value.to_owned(), source };
    let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    file.write_all(value.as_bytes()).map_err(failed)
}

pub fn open_to_write(path: &Path) -> Result<OwnedFd, CgroupError> {
    let file = OpenOptions::new().write(true).open(path);
    file.map(OwnedFd::from).map_err(|source| CgroupError::Read { path: path.to_owned(), source })
}

/// Makes a cgroup, unless it exists. All users may read it, whatever the umask: runtimes inside a
/// job read their own limits.
pub fn make(path: &Path) -> Result<(), CgroupError> {
    let made = fs::create_dir(path)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)));
    match made {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(CgroupError::Make { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// A cgroup and all cgroups below it, the deepest first. Those that vanish meanwhile are left out.
pub fn subtree(path: &Path) -> Vec<PathBuf> {
    let mut groups = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            groups.extend(subtree(&entry.path()));
        }
    }
    groups.push(path.to_owned());
    groups
}

/// Removes a cgroup and all below it, unless they are gone.
pub fn remove_tree(path: &Path) -> Result<(), CgroupError> {
    for group in subtree(path) {
        match fs::remove_dir(&group) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(CgroupError::Remove { path: group, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The processes of a cgroup and of all below it, from `cgroup.procs`.
pub fn processes(path: &Path) -> Result<Vec<Pid>, CgroupError> {
    let mut pids = Vec::new();
    for group in subtree(path) {
        let file = group.join("cgroup.procs");
        match fs::read_to_string(&file) {
            Ok(text) => {
                // 0 stands for a process outside our pid namespace, which cannot be signalled.
                let numbers = text.lines().filter_map(|l| l.parse().ok()).filter(|n| *n > 0);
                pids.extend(numbers.map(Pid::from_raw));
            }
            // ENODEV: the cgroup was removed while its file was open.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => {}
            Err(source) => return Err(CgroupError::Read { path: file, source }),
        }
    }
    Ok(pids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_make_a_root() {
        assert_eq!(cgroup_path("kant", "7.1").unwrap(), Path::new("kant/7.1"));
        assert_eq!(cgroup_path("site/kant", "7.1").unwrap(), Path::new("site/kant/7.1"));
        for root in ["", "/kant", "..", "a/../..", "."] {
            assert!(cgroup_path(root, "7.1").is_err(), "{root}");
        }
    }
}
