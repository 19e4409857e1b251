//! The current size of a resized job, written to its step's directory for the supervisor and for
//! the ledger of its steps.

use super::dir::{self, StepDir};
use common::wire::node::Resized;
use std::fs;
use std::io::{self, Write};

/// Writes the size atomically; false if one at least as new was there. Not synced: the job does not
/// survive a power failure either. Callers must not run concurrently.
pub fn write(dir: &StepDir, resized: &Resized) -> io::Result<bool> {
    if read(dir)?.is_some_and(|known| known.number >= resized.number) {
        return Ok(false);
    }
    let draft = dir.size_path().with_extension("new");
    let mut file = dir::private_file_options().create(true).truncate(true).open(&draft)?;
    file.write_all(&serde_json::to_vec(resized)?)?;
    fs::rename(&draft, dir.size_path())?;
    Ok(true)
}

/// The last size written; `None` if the job was never resized.
pub fn read(dir: &StepDir) -> io::Result<Option<Resized>> {
    match fs::read(dir.size_path()) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_size_does_not_replace_a_newer_one() {
        let home = tempfile::tempdir().unwrap();
        let dir = StepDir::at(home.path());
        let allocation = crate::step::example_spec("g1").launch.allocation;
        let resized = |number| Resized {
            number,
            allocation: allocation.clone(),
            addresses: Vec::new(),
            signal: None,
        };
        assert_eq!(read(&dir).unwrap(), None);
        assert!(write(&dir, &resized(2)).unwrap());
        assert!(!write(&dir, &resized(1)).unwrap() && !write(&dir, &resized(2)).unwrap());
        assert_eq!(read(&dir).unwrap(), Some(resized(2)));
        assert!(write(&dir, &resized(3)).unwrap());
        assert_eq!(read(&dir).unwrap().unwrap().number, 3);
    }
}
