//! Reading and writing the kernel's small files, with errors that name file and value.
//! Never interprets what they hold.

use super::CgroupError;
use nix::unistd::Pid;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

/// The relative path of a group below the root group, which must be plain names.
pub fn below(root: &str, id: &str) -> Result<PathBuf, CgroupError> {
    let path = Path::new(root);
    let plain = path.components().all(|c| matches!(c, Component::Normal(_)));
    if root.is_empty() || !plain {
        return Err(CgroupError::Root(root.to_owned()));
    }
    Ok(path.join(id))
}

/// A whole file, without the space around it.
pub fn read(path: &Path) -> Result<String, CgroupError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(source) => Err(CgroupError::Read { path: path.to_owned(), source }),
    }
}

/// A file that holds one number; `None` if it is not there or holds something else.
pub fn read_number(path: &Path) -> Option<u64> {
    read(path).ok()?.parse().ok()
}

/// The number after a word, in a file of lines `word number`.
pub fn read_keyed_number(path: &Path, key: &str) -> Option<u64> {
    let text = read(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.find(|(k, _)| *k == key)?.1.trim().parse().ok()
}

/// Writes a value in one system call, as the kernel wants it.
pub fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    let failed =
        |source| CgroupError::Write { path: path.to_owned(), value: value.to_owned(), source };
    let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
    file.write_all(value.as_bytes()).map_err(failed)
}

/// Opens a file for a later write.
pub fn open_to_write(path: &Path) -> Result<OwnedFd, CgroupError> {
    let file = OpenOptions::new().write(true).open(path);
    file.map(OwnedFd::from).map_err(|source| CgroupError::Read { path: path.to_owned(), source })
}

/// Makes one group; one that is there already is as good. Anybody may look into it, whatever the
/// umask says: runtimes inside a job read their own limits.
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

/// A group and all groups below it, the lowest first. Groups that vanish meanwhile are left out.
pub fn tree(path: &Path) -> Vec<PathBuf> {
    let mut groups = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            groups.extend(tree(&entry.path()));
        }
    }
    groups.push(path.to_owned());
    groups
}

/// Removes a group and all below it; one that is not there is as good as removed.
pub fn remove_tree(path: &Path) -> Result<(), CgroupError> {
    for group in tree(path) {
        match fs::remove_dir(&group) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(CgroupError::Remove { path: group, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The processes of a group and of all below it, from their `cgroup.procs`.
pub fn processes(path: &Path) -> Result<Vec<Pid>, CgroupError> {
    let mut pids = Vec::new();
    for group in tree(path) {
        let file = group.join("cgroup.procs");
        match fs::read_to_string(&file) {
            Ok(text) => {
                // 0 stands for a process outside our pid namespace: not ours to signal.
                let numbers = text.lines().filter_map(|l| l.parse().ok()).filter(|n| *n > 0);
                pids.extend(numbers.map(Pid::from_raw));
            }
            // ENODEV: the group was removed while its file was open.
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
        assert_eq!(below("kant", "7.1").unwrap(), Path::new("kant/7.1"));
        assert_eq!(below("site/kant", "7.1").unwrap(), Path::new("site/kant/7.1"));
        for root in ["", "/kant", "..", "a/../..", "."] {
            assert!(below(root, "7.1").is_err(), "{root}");
        }
    }
}
