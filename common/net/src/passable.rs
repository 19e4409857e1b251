//! The creation of directories that every user may enter, by a daemon with a restrictive umask.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

const MODE: u32 = 0o755;

/// Creates a directory and its missing parents, all with mode 0755 whatever the umask is. Existing
/// directories do not change.
///
/// # Errors
/// The system's error.
pub fn make_passable_dir(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), make_passable_dir)?;
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(MODE)),
        // Another process created it first.
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_directories_are_passable_and_existing_ones_unchanged() {
        let home = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::set_permissions(home.path(), Permissions::from_mode(0o700)).unwrap();
        let below = home.path().join("a/b");
        make_passable_dir(&below).unwrap();
        make_passable_dir(&below).unwrap();
        assert_eq!((mode(&below), mode(&home.path().join("a"))), (0o755, 0o755));
        assert_eq!(mode(home.path()), 0o700);
        fs::write(home.path().join("file"), "").unwrap();
        assert!(make_passable_dir(&home.path().join("file")).is_err());
    }
}
