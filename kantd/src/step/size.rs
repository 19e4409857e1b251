//! What a job has since it was given another size, left in its step's directory: for the
//! supervisor, and for the book of its steps. Never older than what was left before.

use super::dir::{self, StepDir};
use common::wire::node::Resized;
use std::fs;
use std::io::{self, Write};

/// Leaves it, whole or not at all; false: one as new was there. Not for a power cut: the job does
/// not outlive that. One at a time.
pub fn leave(dir: &StepDir, resized: &Resized) -> io::Result<bool> {
    if read(dir)?.is_some_and(|known| known.number >= resized.number) {
        return Ok(false);
    }
    let draft = dir.size().with_extension("new");
    let mut file = dir::private().create(true).truncate(true).open(&draft)?;
    file.write_all(&serde_json::to_vec(resized)?)?;
    fs::rename(&draft, dir.size())?;
    Ok(true)
}

/// What was left last; `None`: its size is that of its order.
pub fn read(dir: &StepDir) -> io::Result<Option<Resized>> {
    match fs::read(dir.size()) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stays_whatever_comes_late() {
        let home = tempfile::tempdir().unwrap();
        let dir = StepDir::at(home.path());
        let allocation = crate::step::example_order("g1").launch.allocation;
        let resized = |number| Resized {
            number,
            allocation: allocation.clone(),
            addresses: Vec::new(),
            signal: None,
        };
        assert_eq!(read(&dir).unwrap(), None);
        assert!(leave(&dir, &resized(2)).unwrap());
        assert!(!leave(&dir, &resized(1)).unwrap() && !leave(&dir, &resized(2)).unwrap());
        assert_eq!(read(&dir).unwrap(), Some(resized(2)));
        assert!(leave(&dir, &resized(3)).unwrap());
        assert_eq!(read(&dir).unwrap().unwrap().number, 3);
    }
}
