//! The file with the cluster key. While the key is replaced there are two: certificates are issued
//! with one, and those of both are trusted.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::key::{ClusterKey, HEADER_START, KeyError};
use crate::private_file::write_private;
use crate::trusted::check_trusted_parents;

const HEADER_NOTE: &str = "(secret: mode 0600, on controllers only)";
const OTHER: &str = "other";
const GENERATION: &str = "generation";
/// Far above any real key file, so that a wrong path cannot fill the memory.
const FILE_BYTES_MAX: u64 = 4096;

/// The keys of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterKeys {
    /// The step of the replacements of the key that these keys follow: counts from 0.
    pub generation: u32,
    /// Certificates are issued with it.
    pub issuing: ClusterKey,
    /// Certificates of its authority are trusted as well.
    pub other: Option<ClusterKey>,
}

impl ClusterKeys {
    /// The only key of a cluster, which was never replaced.
    #[must_use]
    pub const fn new(issuing: ClusterKey) -> Self {
        Self { generation: 0, issuing, other: None }
    }

    /// Reads a key file; refuses one that users other than its owner can access.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let read_error = |source| KeyError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(read_error)?;
        // The open file is checked, not the path, which may lead to another file by now.
        let metadata = file.metadata().map_err(read_error)?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyError::OpenToOthers { path: path.to_owned(), mode });
        }
        let owner = metadata.uid();
        if !may_own(owner, nix::unistd::geteuid().as_raw()) {
            return Err(KeyError::ForeignOwner { path: path.to_owned(), owner });
        }
        check_trusted_parents("cluster key", path)?;
        let mut text = String::new();
        match file.take(FILE_BYTES_MAX).read_to_string(&mut text) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => text.clear(),
            Err(error) => return Err(read_error(error)),
        }
        parse(&text).ok_or_else(|| KeyError::NotAKey { path: path.to_owned() })
    }

    /// Writes a new file with mode 0600; an existing file is not changed.
    ///
    /// # Errors
    /// [`KeyError::Exists`], [`KeyError::Write`].
    pub fn create_file(&self, path: &Path) -> Result<(), KeyError> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(
                |source| match source.kind() {
                    io::ErrorKind::AlreadyExists => KeyError::Exists { path: path.to_owned() },
                    _ => KeyError::Write { path: path.to_owned(), source },
                },
            )?;
        file.write_all(self.text().as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|source| KeyError::Write { path: path.to_owned(), source })
    }

    /// Writes these keys in place of those that are there. They are on disk when this returns.
    ///
    /// # Errors
    /// [`KeyError::Write`].
    pub fn overwrite_file(&self, path: &Path) -> Result<(), KeyError> {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        write_private(dir.unwrap_or(Path::new(".")), path, &self.text())
            .map_err(|source| KeyError::Write { path: path.to_owned(), source })
    }

    fn text(&self) -> String {
        let mut text = format!("{HEADER_START} {HEADER_NOTE}\n{}\n", self.issuing.secret());
        if let Some(other) = &self.other {
            text += &format!("{OTHER} {}\n", other.secret());
        }
        if self.generation > 0 {
            text += &format!("{GENERATION} {}\n", self.generation);
        }
        text
    }
}

/// On a host with both daemons the key belongs to the controller's user, and kantd reads it as
/// root. The owner of the file controls the cluster in any case.
fn may_own(owner: u32, reader: u32) -> bool {
    owner == 0 || owner == reader || reader == 0
}

fn parse(text: &str) -> Option<ClusterKeys> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.next()?.starts_with(HEADER_START).then_some(())?;
    let mut keys = ClusterKeys::new(ClusterKey::from_secret(lines.next()?)?);
    let mut named = |name: &str| {
        let rest = lines.peek()?.strip_prefix(name)?.strip_prefix(' ')?;
        lines.next();
        Some(rest)
    };
    if let Some(secret) = named(OTHER) {
        keys.other = Some(ClusterKey::from_secret(secret)?);
    }
    if let Some(number) = named(GENERATION) {
        keys.generation = number.parse().ok()?;
    }
    lines.next().is_none().then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn saved() -> (tempfile::TempDir, PathBuf, ClusterKeys) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cluster.key");
        let keys = ClusterKeys::new(ClusterKey::generate().unwrap());
        keys.create_file(&path).unwrap();
        (dir, path, keys)
    }

    #[test]
    fn saved_keys_read_back_the_same_and_are_private() {
        let (_dir, path, keys) = saved();
        assert_eq!(ClusterKeys::load(&path).unwrap(), keys);
        let other = Some(ClusterKey::generate().unwrap());
        for keys in [
            ClusterKeys { generation: 1, other: other.clone(), ..keys.clone() },
            ClusterKeys { other, ..keys.clone() },
            ClusterKeys { generation: 3, ..keys },
        ] {
            keys.overwrite_file(&path).unwrap();
            assert_eq!(ClusterKeys::load(&path).unwrap(), keys);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_read_only_key_is_fine_and_one_open_to_others_is_refused() {
        let (_dir, path, _) = saved();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        ClusterKeys::load(&path).unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = ClusterKeys::load(&path).unwrap_err();
            assert!(matches!(error, KeyError::OpenToOthers { mode: m, .. } if m == mode));
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn root_reads_the_key_that_the_controllers_user_made() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root to give a file away");
            return;
        }
        let (_dir, path, _) = saved();
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        assert!(ClusterKeys::load(&path).is_ok(), "root takes the controller's own file");
    }

    #[test]
    fn a_key_must_belong_to_root_or_to_its_reader_but_root_reads_any() {
        assert!(may_own(0, 500) && may_own(500, 500) && may_own(0, 0) && may_own(500, 0));
        assert!(!may_own(501, 500));
    }

    #[test]
    fn creating_never_overwrites_a_key() {
        let (_dir, path, keys) = saved();
        let error =
            ClusterKeys::new(ClusterKey::generate().unwrap()).create_file(&path).unwrap_err();
        assert!(matches!(error, KeyError::Exists { .. }), "{error}");
        assert_eq!(ClusterKeys::load(&path).unwrap(), keys);
    }

    #[test]
    fn a_missing_key_says_where_to_get_one() {
        let error = ClusterKeys::load(Path::new("/nonexistent/cluster.key")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/cluster.key"), "{error}");
        assert!(error.to_string().contains("kantctld join"), "{error}");
    }

    #[test]
    fn broken_key_files_are_refused_without_panic() {
        let (_dir, path, keys) = saved();
        let good = fs::read(&path).unwrap();
        let digits = keys.issuing.secret();
        let header = HEADER_START;
        let cases: [Vec<u8>; 10] = [
            Vec::new(),
            b"\xff\xfe\x00".to_vec(),
            good[..good.len() - 2].to_vec(),
            [&good[..], b"more\n"].concat(),
            [&good[..], b"other ab\n"].concat(),
            [&good[..], b"generation x\n"].concat(),
            [&good[..], format!("generation 1\nother {digits}\n").as_bytes()].concat(),
            digits.clone().into_bytes(),
            format!("{header}\n{}zz\n", &digits[2..]).into_bytes(),
            format!("{header}\n{}\u{e4}\n", &digits[2..]).into_bytes(),
        ];
        for case in cases {
            fs::write(&path, &case).unwrap();
            let error = ClusterKeys::load(&path).unwrap_err();
            assert!(matches!(error, KeyError::NotAKey { .. }), "{case:?}: {error}");
        }
    }
}
