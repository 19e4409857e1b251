//! A step's directory in the spool: which file is what, and how one is written so that nobody finds
//! half of it. Never interprets the files.

use super::order::StepOrder;
use super::removal;
use common::id::{Attempt, AttemptId, TaskNumber};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Users pass through the spool to their script, and list nothing.
const DIR_MODE: u32 = 0o711;

/// The directory of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDir(PathBuf);

impl StepDir {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Of an attempt, in the steps' directory.
    pub fn of(steps: &Path, id: AttemptId) -> Self {
        Self(steps.join(id.to_string()))
    }

    /// Whose directory it is, by its name; `None` for a name that is no attempt's.
    pub fn id(&self) -> Option<AttemptId> {
        let (key, attempt) = self.0.file_name()?.to_str()?.rsplit_once('.')?;
        Some(AttemptId { key: key.parse().ok()?, attempt: Attempt(attempt.parse().ok()?) })
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The order, as JSON; complete if it is there.
    pub fn order(&self) -> PathBuf {
        self.0.join("order")
    }

    pub fn journal(&self) -> PathBuf {
        self.0.join("journal")
    }

    /// Locked as long as the supervisor lives.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    pub fn control(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    pub fn script(&self) -> PathBuf {
        self.0.join("script")
    }

    /// The step's private directories, for root's eyes: users reach their own by its mount.
    pub fn private(&self) -> PathBuf {
        self.0.join("private")
    }

    /// What its containers are made of, if it runs in such.
    pub fn container(&self) -> PathBuf {
        self.0.join("container")
    }

    /// The order for a program in the step, as JSON, until the supervisor takes it.
    pub fn task(&self, task: TaskNumber) -> PathBuf {
        self.0.join(format!("task-{task}"))
    }

    /// What such a program wrote to its standard output and error.
    pub fn task_output(&self, task: TaskNumber) -> [PathBuf; 2] {
        ["out", "err"].map(|stream| self.0.join(format!("task-{task}.{stream}")))
    }

    /// The book of the job's steps, as JSON, on its first node.
    pub fn book(&self) -> PathBuf {
        self.0.join("steps")
    }

    /// What such a program reads, if it is fed.
    pub fn task_input(&self, task: TaskNumber) -> PathBuf {
        self.0.join(format!("task-{task}.in"))
    }

    /// The step's nodes, as Open MPI and as Hydra (of MPICH) read them.
    pub fn hosts(&self) -> [PathBuf; 2] {
        ["hosts", "hosts.hydra"].map(|name| self.0.join(name))
    }

    /// What the job has since it was given another size, as JSON.
    pub fn size(&self) -> PathBuf {
        self.0.join("size")
    }

    /// The variables that tell the job's size as it is now, for a shell to read.
    pub fn environment(&self) -> PathBuf {
        self.0.join("environment")
    }

    /// What its GPUs did so far, as JSON.
    pub fn gpu_tally(&self) -> PathBuf {
        self.0.join("gpus")
    }

    /// What the supervisor has to say.
    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Makes the directory; false if it was there.
    pub fn make(&self) -> io::Result<bool> {
        match DirBuilder::new().mode(DIR_MODE).create(&self.0) {
            Ok(()) => open_mode(&self.0).map(|()| true),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Writes the order: whole or not at all for whoever reads it while the machine is up. What a
    /// power cut leaves of one that no journal speaks of is no step, and beside a journal a step
    /// that is lost ([`super::settle`]).
    pub fn write_order(&self, order: &StepOrder) -> io::Result<()> {
        let text = serde_json::to_vec(order)?;
        let draft = self.0.join("order.new");
        let mut file = private().create(true).truncate(true).open(&draft)?;
        file.write_all(&text)?;
        fs::rename(&draft, self.order())
    }

    /// Reads the order.
    pub fn read_order(&self) -> io::Result<StepOrder> {
        Ok(serde_json::from_slice(&fs::read(self.order())?)?)
    }

    /// Locks the directory for a supervisor or its heir; `None` if somebody has it.
    /// The lock lives as long as the file, or a copy of it in a child, is open.
    pub fn try_lock(&self) -> io::Result<Option<File>> {
        let file = private().create(true).truncate(false).open(self.lock())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Removes it: first from its name, so that half of it is never taken for a step.
    pub fn remove(&self) -> io::Result<()> {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let gone = self.0.with_file_name(format!("{GONE}{name}"));
        match fs::rename(&self.0, &gone) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
            Ok(()) => removal::remove(&gone),
        }
    }
}

/// Begins the names of directories on their way out.
const GONE: &str = ".gone-";

/// Where a spool has its steps.
pub fn steps(spool: &Path) -> PathBuf {
    spool.join("steps")
}

/// Makes the spool and the steps' directory in it, passable for users; returns the latter.
pub fn make_steps(spool: &Path) -> io::Result<PathBuf> {
    let steps = steps(spool);
    DirBuilder::new().recursive(true).mode(DIR_MODE).create(&steps)?;
    open_mode(spool)?;
    open_mode(&steps)?;
    sync_dir(spool)?;
    Ok(steps)
}

/// The steps in the steps' directory. What was on its way out is taken the rest of it.
pub fn list(steps: &Path) -> io::Result<Vec<StepDir>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(steps)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(GONE) {
            removal::remove(&entry.path())?;
        } else if entry.file_type()?.is_dir() {
            found.push(StepDir::at(entry.path()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Whatever the umask took away.
fn open_mode(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(DIR_MODE))
}

/// Options for files that only we may read.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Makes names in a directory durable.
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
            assert_eq!(StepDir::of(Path::new("/steps"), id), dir);
        }
        for name in ["42", "x.1", "42.x", ".gone-42.1", "42_7"] {
            assert_eq!(StepDir::at(Path::new("/steps").join(name)).id(), None, "{name}");
        }
    }

    #[test]
    fn what_is_on_its_way_out_is_no_step_and_is_removed() {
        let spool = tempfile::tempdir().unwrap();
        let steps = make_steps(spool.path()).unwrap();
        fs::create_dir(steps.join(".gone-7.1")).unwrap();
        let step = StepDir::at(steps.join("8.1"));
        assert!(step.make().unwrap() && !step.make().unwrap());
        assert_eq!(list(&steps).unwrap(), std::slice::from_ref(&step));
        assert!(!steps.join(".gone-7.1").exists());
        step.remove().unwrap();
        step.remove().unwrap();
        assert_eq!(list(&steps).unwrap(), []);
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
