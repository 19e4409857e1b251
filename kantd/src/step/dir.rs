//! A step's directory in the spool: names of its files, and how they are written atomically.

use super::removal;
use super::spec::StepSpec;
use common::id::{Attempt, AttemptId, TaskNumber};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Lets users reach their script through the spool without listing it.
const DIR_MODE: u32 = 0o711;

/// The directory of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDir(PathBuf);

impl StepDir {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory of an attempt.
    pub fn for_attempt(steps: &Path, id: AttemptId) -> Self {
        Self(steps.join(id.to_string()))
    }

    /// The attempt, from the directory's name; `None` for other names.
    pub fn id(&self) -> Option<AttemptId> {
        let (key, attempt) = self.0.file_name()?.to_str()?.rsplit_once('.')?;
        Some(AttemptId { key: key.parse().ok()?, attempt: Attempt(attempt.parse().ok()?) })
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The step's spec, as JSON.
    pub fn spec_path(&self) -> PathBuf {
        self.0.join("spec")
    }

    pub fn journal_path(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Locked while the supervisor lives.
    pub fn lock_path(&self) -> PathBuf {
        self.0.join("lock")
    }

    pub fn control_socket_path(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    pub fn script_path(&self) -> PathBuf {
        self.0.join("script")
    }

    /// The step's private directories, for root only; the job sees them through mounts.
    pub fn private_dir(&self) -> PathBuf {
        self.0.join("private")
    }

    /// The files of its containers.
    pub fn container_dir(&self) -> PathBuf {
        self.0.join("container")
    }

    /// The spec of a program to start in the step, as JSON, until the supervisor takes it.
    pub fn task_spec_path(&self, task: TaskNumber) -> PathBuf {
        self.0.join(format!("task-{task}"))
    }

    /// Files of such a program's standard output and error.
    pub fn task_output_paths(&self, task: TaskNumber) -> [PathBuf; 2] {
        ["out", "err"].map(|stream| self.0.join(format!("task-{task}.{stream}")))
    }

    /// The ledger of the job's steps, as JSON, on the job's first node.
    pub fn ledger_path(&self) -> PathBuf {
        self.0.join("steps")
    }

    /// The input of such a program.
    pub fn task_input_path(&self, task: TaskNumber) -> PathBuf {
        self.0.join(format!("task-{task}.in"))
    }

    /// The job's nodes, as host files for Open MPI and for Hydra (MPICH).
    pub fn host_file_paths(&self) -> [PathBuf; 2] {
        ["hosts", "hosts.hydra"].map(|name| self.0.join(name))
    }

    /// The allocation of a resized job, as JSON.
    pub fn size_path(&self) -> PathBuf {
        self.0.join("size")
    }

    /// Variables that describe the job's current size, as a shell script.
    pub fn environment_path(&self) -> PathBuf {
        self.0.join("environment")
    }

    /// Usage of its GPUs, as JSON.
    pub fn gpu_tally_path(&self) -> PathBuf {
        self.0.join("gpus")
    }

    pub fn log_path(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Makes the directory; false if it was there.
    pub fn make(&self) -> io::Result<bool> {
        match DirBuilder::new().mode(DIR_MODE).create(&self.0) {
            Ok(()) => set_traversable_mode(&self.0).map(|()| true),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Writes the spec, atomically while the machine is up. After a power failure a damaged spec
    /// without a journal is ignored, and one with a journal is a lost step ([`super::recovery`]).
    pub fn write_spec(&self, spec: &StepSpec) -> io::Result<()> {
        let text = serde_json::to_vec(spec)?;
        let draft = self.0.join("spec.new");
        let mut file = private_file_options().create(true).truncate(true).open(&draft)?;
        file.write_all(&text)?;
        fs::rename(&draft, self.spec_path())
    }

    pub fn read_spec(&self) -> io::Result<StepSpec> {
        Ok(serde_json::from_slice(&fs::read(self.spec_path())?)?)
    }

    /// Locks the directory for a supervisor or its successor; `None` if it is locked already. The
    /// lock lasts while the file, or a child's copy of it, is open.
    pub fn try_lock(&self) -> io::Result<Option<File>> {
        let file = private_file_options().create(true).truncate(false).open(self.lock_path())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes the directory, after a rename, so that a half-removed one is not taken for a step.
    pub fn remove(&self) -> io::Result<()> {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let gone = self.0.with_file_name(format!("{REMOVED_PREFIX}{name}"));
        match fs::rename(&self.0, &gone) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
            Ok(()) => removal::remove(&gone),
        }
    }
}

/// Prefix of directories that are being removed.
const REMOVED_PREFIX: &str = ".gone-";

/// The steps' directory of a spool.
pub fn steps_dir(spool: &Path) -> PathBuf {
    spool.join("steps")
}

/// Makes the spool and its steps' directory, traversable for users; returns the latter.
pub fn make_steps_dir(spool: &Path) -> io::Result<PathBuf> {
    let steps = steps_dir(spool);
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(&steps)?;
    set_traversable_mode(spool)?;
    set_traversable_mode(&steps)?;
    sync_dir(spool)?;
    Ok(steps)
}

/// The steps in the steps' directory. Finishes interrupted removals.
pub fn list_steps(steps: &Path) -> io::Result<Vec<StepDir>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(steps)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(REMOVED_PREFIX) {
            removal::remove(&entry.path())?;
        } else if entry.file_type()?.is_dir() {
            found.push(StepDir::at(entry.path()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Sets the mode whatever the umask.
fn set_traversable_mode(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(DIR_MODE))
}

/// Options for files that only root may read.
pub fn private_file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Makes the names in a directory durable.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_named_after_its_attempt() {
        for name in ["42.1", "42_7.3"] {
            let dir = StepDir::at(Path::new("/steps").join(name));
            let id = dir.id().unwrap();
            assert_eq!(StepDir::for_attempt(Path::new("/steps"), id), dir);
        }
        for name in ["42", "x.1", "42.x", ".gone-42.1", "42_7"] {
            assert_eq!(StepDir::at(Path::new("/steps").join(name)).id(), None, "{name}");
        }
    }

    #[test]
    fn a_half_removed_directory_is_no_step_and_is_removed() {
        let spool = tempfile::tempdir().unwrap();
        let steps = make_steps_dir(spool.path()).unwrap();
        fs::create_dir(steps.join(".gone-7.1")).unwrap();
        let step = StepDir::at(steps.join("8.1"));
        assert!(step.make().unwrap() && !step.make().unwrap());
        assert_eq!(list_steps(&steps).unwrap(), std::slice::from_ref(&step));
        assert!(!steps.join(".gone-7.1").exists());
        step.remove().unwrap();
        step.remove().unwrap();
        assert_eq!(list_steps(&steps).unwrap(), []);
    }

    #[test]
    fn one_lock_at_a_time() {
        let spool = tempfile::tempdir().unwrap();
        let step = StepDir::at(spool.path());
        let held = step.try_lock().unwrap();
        assert!(held.is_some() && step.try_lock().unwrap().is_none());
        drop(held);
        assert!(step.try_lock().unwrap().is_some());
    }
}
