//! What is loaded: the machine, the XID errors on their way, the event sets. One lock around all of
//! it. Re-reads the machine file when it changes, so that a test can break a GPU under a daemon.

use crate::event::EventSet;
use crate::ffi::{Answer, Fault};
use crate::machine::{Machine, Xid};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The environment variable that names the machine file.
const VARIABLE: &str = "KANT_NVML_STANDIN";

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Everything between the first `nvmlInit_v2` and the last `nvmlShutdown`.
pub struct State {
    /// How many inits have had no shutdown yet.
    users: u32,
    path: PathBuf,
    stamp: Stamp,
    pub machine: Machine,
    /// Every XID error ever read, in reading order; positions never change.
    pub xids: Vec<DueXid>,
    pub sets: BTreeMap<usize, EventSet>,
}

/// An XID error and when it happens.
pub struct DueXid {
    pub gpu: usize,
    pub code: u64,
    pub due: Instant,
}

/// Distinguishes one version of the file from the next.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Runs a call on what is loaded; UNINITIALIZED before `nvmlInit_v2`.
pub fn with<T>(call: impl FnOnce(&mut State) -> Answer<T>) -> Answer<T> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.as_mut().ok_or(Fault::UNINITIALIZED)?;
    state.refresh();
    call(state)
}

/// Loads the machine, or counts one more user of it.
pub fn init() -> Answer {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    match state.as_mut() {
        Some(state) => state.users = state.users.saturating_add(1),
        None => *state = Some(State::load()?),
    }
    Ok(())
}

/// Counts one user less; the last one unloads the machine.
pub fn shutdown() -> Answer {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let loaded = state.as_mut().ok_or(Fault::UNINITIALIZED)?;
    loaded.users -= 1;
    if loaded.users == 0 {
        *state = None;
    }
    Ok(())
}

impl State {
    fn load() -> Answer<Self> {
        let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
            eprintln!("nvml-standin: set {VARIABLE} to a machine file");
            return Err(Fault::DRIVER_NOT_LOADED);
        };
        let stamp = file_stamp(&path);
        let machine = read(&path).map_err(|what| {
            eprintln!("nvml-standin: {what}");
            Fault::DRIVER_NOT_LOADED
        })?;
        if let Some(fault) = machine.init_fails {
            return Err(fault.fault());
        }
        let xids = machine.xids.iter().map(due_from_now).collect();
        Ok(Self { users: 1, path, stamp, machine, xids, sets: BTreeMap::new() })
    }

    /// Takes over a changed file. A broken one is reported once and changes nothing.
    fn refresh(&mut self) {
        let stamp = file_stamp(&self.path);
        if stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        match read(&self.path) {
            Ok(machine) => self.replace(machine),
            Err(what) => eprintln!("nvml-standin: keeping the machine as it was: {what}"),
        }
    }

    /// An XID entry that the old file held too is the same error; any other one is new and its
    /// time starts now.
    fn replace(&mut self, machine: Machine) {
        let mut known = std::mem::replace(&mut self.machine, machine).xids;
        for xid in &self.machine.xids {
            match known.iter().position(|old| old == xid) {
                Some(position) => drop(known.swap_remove(position)),
                None => self.xids.push(due_from_now(xid)),
            }
        }
    }
}

fn due_from_now(xid: &Xid) -> DueXid {
    let wait = Duration::from_millis(xid.after_ms.min(u64::from(u32::MAX)));
    DueXid { gpu: xid.gpu, code: xid.code, due: Instant::now() + wait }
}

fn file_stamp(path: &Path) -> Stamp {
    let meta = fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len(), meta.ino()))
}

/// The machine in a file, or one line that says what is wrong with it.
fn read(path: &Path) -> Result<Machine, String> {
    let failed =
        |what: &dyn fmt::Display| format!("failed to read machine file {}: {what}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    Machine::read(&text).map_err(|error| failed(&error))
}
