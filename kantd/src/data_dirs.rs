//! The data that this node has: the names of what is in certain directories, such as caches of
//! models and data sets.

use common::id::DataName;
use common::node::DATA_PER_NODE_MAX;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;

/// The names in ascending order; `None`: they are not known yet, or no directory was named.
pub type DataNames = watch::Receiver<Option<Vec<DataName>>>;

/// The time between two readings of the directories.
const PERIOD: Duration = Duration::from_secs(30);

/// Reads the directories again and again, until no receiver is left. It does so on a thread of its
/// own, since a file system may not answer.
#[must_use]
pub fn watch(dirs: Vec<PathBuf>) -> DataNames {
    if dirs.is_empty() {
        return watch::channel(None).1;
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
    if names.len() > DATA_PER_NODE_MAX {
        names.pop_last();
        errors.insert(format!(
            "only the first {DATA_PER_NODE_MAX} names of `data_dirs` are reported"
        ));
    }
    (names.into_iter().collect(), errors)
}

/// Adds the names in a directory, except hidden ones and those that no job can ask for. Keeps one
/// name more than are reported, however many files there are.
fn read_dir(dir: &Path, names: &mut BTreeSet<DataName>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_str().filter(|name| !name.starts_with('.'));
        names.extend(name.and_then(|name| DataName::new(name).ok()));
        if names.len() > DATA_PER_NODE_MAX + 1 {
            names.pop_last();
        }
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
        for number in 0..DATA_PER_NODE_MAX + 5 {
            fs::write(dir.path().join(format!("d{number}")), "").unwrap();
        }
        let (names, errors) = read(&[dir.path().to_owned()]);
        assert_eq!((names.len(), errors.len()), (DATA_PER_NODE_MAX, 1));
    }

    #[tokio::test]
    async fn a_node_with_such_directories_soon_knows_its_data() {
        assert_eq!(*watch(Vec::new()).borrow(), None);
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("llama3")).unwrap();
        let mut names = watch(vec![dir.path().to_owned()]);
        let known = names.wait_for(Option::is_some).await.unwrap().clone();
        assert_eq!(known, Some(vec!["llama3".parse().unwrap()]));
    }
}
