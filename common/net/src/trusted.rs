//! The check that only root and the daemon's own user may change a file or a directory on its path.
//! Files that a daemon obeys or runs must not be writable by other users. The error names the
//! command that corrects the mode or owner.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User};
use thiserror::Error;

/// The kernel's limit (man 7 path_resolution).
const LINKS_MAX: u32 = 40;

/// Why a file is not trusted.
#[derive(Debug, Error)]
pub enum TrustError {
    /// Other users may write to the file or to a directory on its path.
    #[error(
        "failed to use {what} {}: users other than its owner may change {} (mode {mode:04o}): look \
         whether they did, then run `chmod go-w {}`",
        path.display(), culprit.display(), culprit.display()
    )]
    Writable {
        /// The daemon's use of the file.
        what: &'static str,
        path: PathBuf,
        /// The file itself, or a directory on its path.
        culprit: PathBuf,
        mode: u32,
    },
    /// The file or a directory on its path belongs to another user.
    #[error(
        "failed to use {what} {}: {} (mode {mode:04o}) belongs to uid {owner}, which is neither \
         root nor the user of this daemon: look what it holds, then run `chown root {}`",
        path.display(), culprit.display(), culprit.display()
    )]
    ForeignOwner { what: &'static str, path: PathBuf, culprit: PathBuf, mode: u32, owner: u32 },
    /// The system returned an error.
    #[error("failed to check who may change {what} {}", path.display())]
    Look {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl TrustError {
    /// Does the file not exist, so that no user could have changed it?
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Look { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Refuses a file or directory that a user other than root and this process's may change, directly
/// or through a directory on its path. `what` is the daemon's use of it, for the message.
///
/// # Errors
/// [`TrustError`], which names the change to make.
pub fn check_trusted(what: &'static str, path: &Path) -> Result<(), TrustError> {
    check_path_links(what, path, true)
}

/// The same for the directories on a file's path, without the file.
///
/// # Errors
/// [`TrustError`].
pub fn check_trusted_parents(what: &'static str, path: &Path) -> Result<(), TrustError> {
    check_path_links(what, path, false)
}

/// Resolves the path as the kernel does, link by link: each directory in which a name could be
/// replaced counts.
fn check_path_links(what: &'static str, path: &Path, with_file: bool) -> Result<(), TrustError> {
    let look = |source| TrustError::Look { what, path: path.to_owned(), source };
    let whole = std::path::absolute(path).map_err(look)?;
    let mut left = path_components(&whole);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    let root = fs::symlink_metadata(&at).map_err(look)?;
    check(what, path, &at, left.is_empty(), &root)?;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        let found = fs::symlink_metadata(&next).map_err(look)?;
        if found.is_symlink() {
            links += 1;
            if links > LINKS_MAX {
                return Err(look(io::Error::from_raw_os_error(nix::libc::ELOOP)));
            }
            check_owner(what, path, &next, &found)?;
            let target = fs::read_link(&next).map_err(look)?;
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            for name in path_components(&target).into_iter().rev() {
                left.push_front(name);
            }
            continue;
        }
        if with_file || !left.is_empty() {
            check(what, path, &next, left.is_empty(), &found)?;
        }
        at = next;
    }
    Ok(())
}

fn path_components(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn check(
    what: &'static str,
    path: &Path,
    culprit: &Path,
    is_last: bool,
    found: &Metadata,
) -> Result<(), TrustError> {
    check_owner(what, path, culprit, found)?;
    let mode = found.permissions().mode() & 0o7777;
    // A sticky directory on the path, such as /tmp: other users may add names there, but not
    // replace root's or ours. In the last directory, with our own files, they may not even add
    // names.
    let is_shared = !is_last && found.is_dir() && mode & 0o1000 != 0;
    let by_others = mode & 0o002 != 0;
    let by_group = mode & 0o020 != 0 && !is_private_group(found.uid(), found.gid());
    if !is_shared && (by_others || by_group) {
        let (path, culprit) = (path.to_owned(), culprit.to_owned());
        return Err(TrustError::Writable { what, path, culprit, mode });
    }
    Ok(())
}

fn check_owner(
    what: &'static str,
    path: &Path,
    culprit: &Path,
    found: &Metadata,
) -> Result<(), TrustError> {
    let owner = found.uid();
    if owner == 0 || owner == nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    let (path, culprit) = (path.to_owned(), culprit.to_owned());
    let mode = found.permissions().mode() & 0o7777;
    Err(TrustError::ForeignOwner { what, path, culprit, mode, owner })
}

/// Many systems give each user a group of the same name, and a umask that makes files writable by
/// it: that group has only this user. Root's own group does not count, because on some hosts it is
/// the group of administrators.
fn is_private_group(owner: u32, group: u32) -> bool {
    if group == 0 {
        return false;
    }
    let Ok(Some(user)) = User::from_uid(Uid::from_raw(owner)) else { return false };
    let Ok(Some(group)) = Group::from_gid(Gid::from_raw(group)) else { return false };
    user.gid == group.gid
        && user.name == group.name
        && group.mem.iter().all(|member| *member == user.name)
        && fs::read(ACCOUNTS)
            .is_ok_and(|accounts| !has_other_accounts(&accounts, &user.name, user.gid))
}

/// The host's own accounts (man 5 passwd). Accounts of a directory service are not listed there.
const ACCOUNTS: &str = "/etc/passwd";

/// Does another account have this group as its primary one? A group's list of members does not show
/// those.
fn has_other_accounts(accounts: &[u8], name: &str, group: Gid) -> bool {
    String::from_utf8_lossy(accounts).lines().any(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let of_group = fields.get(3).and_then(|gid| gid.parse().ok()).map(Gid::from_raw);
        of_group == Some(group) && fields.first() != Some(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A directory with a file in it, both with correct modes.
    fn made() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("dir");
        let file = dir.join("file");
        fs::create_dir(&dir).unwrap();
        fs::write(&file, "x").unwrap();
        set_mode(&dir, 0o755);
        set_mode(&file, 0o644);
        (home, dir, file)
    }

    fn refused(file: &Path) -> String {
        check_trusted("prolog", file).unwrap_err().to_string()
    }

    #[test]
    fn a_file_that_others_may_write_is_refused_with_its_mode_and_the_command() {
        let (_home, _dir, file) = made();
        check_trusted("prolog", &file).unwrap();
        for mode in [0o666, 0o646, 0o777] {
            set_mode(&file, mode);
            let said = refused(&file);
            for words in [format!("{mode:04o}"), format!("chmod go-w {}", file.display())] {
                assert!(said.contains(&words), "{said}");
            }
        }
    }

    #[test]
    fn a_directory_on_the_way_that_others_may_write_is_refused_unless_it_is_sticky() {
        let (home, dir, file) = made();
        for at in [&dir, home.path()] {
            set_mode(at, 0o777);
            assert!(refused(&file).contains(&format!("chmod go-w {}`", at.display())));
            assert!(check_trusted_parents("key", &file).is_err());
            set_mode(at, 0o1777);
            check_trusted("prolog", &file).unwrap();
            assert!(check_trusted("state_dir", at).is_err(), "others may add files to it");
            set_mode(at, 0o755);
        }
    }

    #[test]
    fn a_link_is_followed_and_its_own_directory_is_checked() {
        let (home, dir, file) = made();
        let link = home.path().join("link");
        symlink("dir/../dir/file", &link).unwrap();
        check_trusted("prolog", &link).unwrap();
        set_mode(&file, 0o666);
        assert!(refused(&link).contains("dir/file (mode 0666)"), "{}", refused(&link));
        set_mode(&file, 0o644);
        let open = home.path().join("open");
        fs::create_dir(&open).unwrap();
        set_mode(&open, 0o777);
        symlink(&file, open.join("link")).unwrap();
        assert!(refused(&open.join("link")).contains("open (mode 0777)"));
        check_trusted("prolog", &dir.join("file")).unwrap();
        symlink("round", home.path().join("round")).unwrap();
        assert!(check_trusted("prolog", &home.path().join("round")).is_err());
    }

    #[test]
    fn files_directories_and_links_of_other_users_are_refused() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root to give a file away");
            return;
        }
        let (home, dir, file) = made();
        let link = home.path().join("link");
        symlink(&file, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(12345), None).unwrap();
        assert!(refused(&link).contains("belongs to uid 12345"));
        for given in [&file, &dir] {
            chown(given, Some(12345), None).unwrap();
            assert!(refused(&file).contains(&format!("chown root {}", given.display())));
            chown(given, Some(0), None).unwrap();
        }
        // Root's group, a group with members, and an unknown group.
        for group in [0, 100, 12345] {
            chown(&file, None, Some(group)).unwrap();
            set_mode(&file, 0o664);
            assert!(check_trusted("prolog", &file).is_err(), "group {group}");
        }
    }

    #[test]
    fn a_group_is_private_only_if_no_other_account_has_it_as_its_first() {
        let gid = Gid::from_raw(1000);
        let accounts = |other: u32| {
            format!("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/:\nbob:x:1001:{other}::/:\n")
        };
        assert!(!has_other_accounts(accounts(1001).as_bytes(), "ada", gid));
        assert!(has_other_accounts(accounts(1000).as_bytes(), "ada", gid));
    }

    #[test]
    fn a_missing_file_is_reported_as_missing() {
        let error = check_trusted("prolog", Path::new("/nonexistent/prolog")).unwrap_err();
        assert!(error.is_missing(), "{error}");
        let (_home, _dir, file) = made();
        set_mode(&file, 0o666);
        assert!(!check_trusted("prolog", &file).unwrap_err().is_missing());
        check_trusted_parents("key", &file).unwrap();
    }
}
