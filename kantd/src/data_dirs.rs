//! The data that this node has: the names of what is in certain directories, such as caches of
//! models and data sets.

use common::id::DataName;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;

/// The names in ascending order; `None` before they are known.
pub type DataNames = watch::Receiver<Option<Vec<DataName>>>;

/// The time between two readings of the directories.
const PERIOD: Duration = Duration::from_secs(30);

/// The number of names at most, so that a directory with many files costs no more.
const NAMES_MAX: usize = 1000;

/// Reads the directories again and again, until no receiver is left. It does so on a thread of its
/// own, since a file system may not answer.
#[must_use]
pub fn watch(dirs: Vec<PathBuf>) -> DataNames {
    if dirs.is_empty() {
        return watch::channel(Some(Vec::new())).1;
    }
    let (published, names) = watch::channel(None);
    let thread = std::thread::Builder::new().name("data-dirs".to_owned());
    let started = thread.spawn(move || follow(&dirs, &published));
    if let Err(error) = started {
        tracing::error!(%error, "failed to start a thread that reads `data_dirs`");
    }
    names
}

fn follow(dirs: &[PathBuf], published: &watch::Sender<Option<Vec<DataName>>>) {
    let mut known_errors = BTreeSet::new();
    while !published.is_closed() {
        let (names, errors) = read(dirs);
        for error in errors.difference(&known_errors) {
            tracing::warn!("{error}");
        }
        known_errors = errors;
        published.send_if_modified(|before| {
            let is_new = before.as_ref() != Some(&names);
            if is_new {
                *before = Some(names);
            }
            is_new
        });
        std::thread::sleep(PERIOD);
    }
}

/// The first names, and what went wrong.
fn read(dirs: &[PathBuf]) -> (Vec<DataName>, BTreeSet<String>) {
    let (mut names, mut errors) = (BTreeSet::new(), BTreeSet::new());
    for dir in dirs {
        if let Err(error) = read_dir(dir, &mut names) {
            errors.insert(format!("failed to read {} of `data_dirs`: {error}", dir.display()));
        }
    }
    if names.len() > NAMES_MAX {
        errors.insert(format!(
            "`data_dirs` has {} names; only the first {NAMES_MAX} are reported",
            names.len()
        ));
    }
    (names.into_iter().take(NAMES_MAX).collect(), errors)
}

/// Adds the names in a directory, except hidden ones and those that no job can ask for.
fn read_dir(dir: &Path, names: &mut BTreeSet<DataName>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_str().filter(|name| !name.starts_with('.'));
        names.extend(name.and_then(|name| DataName::new(name).ok()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_visible_entries_that_a_job_can_ask_for() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(one.path().join("llama3")).unwrap();
        fs::write(two.path().join("imagenet.tar"), "").unwrap();
        for left_out in [".llama4", "two words"] {
            fs::create_dir(two.path().join(left_out)).unwrap();
        }
        let missing = one.path().join("missing");
        let dirs = [one.path().to_owned(), two.path().to_owned(), missing.clone()];
        let (names, errors) = read(&dirs);
        assert_eq!(names, ["imagenet.tar", "llama3"].map(|name| name.parse().unwrap()));
        let errors: Vec<String> = errors.into_iter().collect();
        assert_eq!(errors.len(), 1);
        assert!(errors[0].contains(&missing.display().to_string()), "{errors:?}");
    }

    #[test]
    fn the_number_of_names_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=NAMES_MAX {
            fs::write(dir.path().join(format!("d{number}")), "").unwrap();
        }
        let (names, errors) = read(&[dir.path().to_owned()]);
        assert_eq!((names.len(), errors.len()), (NAMES_MAX, 1));
    }

    #[tokio::test]
    async fn a_node_without_such_directories_has_no_data_and_others_know_it_soon() {
        assert_eq!(*watch(Vec::new()).borrow(), Some(Vec::new()));
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("llama3")).unwrap();
        let mut names = watch(vec![dir.path().to_owned()]);
        let known = names.wait_for(Option::is_some).await.unwrap().clone();
        assert_eq!(known, Some(vec!["llama3".parse().unwrap()]));
    }
}
