//! The machine file: what a test writes in TOML, checked once so that no call can stumble over it.
//! Never describes behaviour, only what is there.

mod check;
mod gpu;
mod name;

pub use gpu::{Architecture, Errors, Gpu, Mig, Process, ProcessKind};
pub use name::PciAddress;

use crate::ffi::Fault;
use serde::Deserialize;

/// A whole machine. README.md shows the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The machine's name; GPUs without a uuid get one made of it and their index.
    pub name: String,
    /// The driver's version, as `nvidia-smi` prints it.
    pub driver: String,
    pub nvml: Option<String>,
    /// CUDA's version as NVML reports it: 12040 is 12.4.
    pub cuda: Option<i32>,
    /// Makes `nvmlInit_v2` fail.
    pub init_fails: Option<InitFault>,
    /// What every GPU has unless its own entry says otherwise.
    #[serde(default)]
    every_gpu: Gpu,
    /// The GPUs, by index.
    #[serde(default, rename = "gpu")]
    pub gpus: Vec<Gpu>,
    /// Point-to-point NVLinks: GPU, GPU, how many.
    #[serde(default)]
    pub nvlink: Vec<(usize, usize, usize)>,
    /// NVLinks of every GPU to each NVSwitch.
    #[serde(default)]
    pub switch_links: Vec<usize>,
    /// Timed XID errors.
    #[serde(default, rename = "xid")]
    pub xids: Vec<Xid>,
    /// The multi-node NVLink domain the machine belongs to.
    pub fabric: Option<Fabric>,
}

/// A way for `nvmlInit_v2` to fail.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitFault {
    DriverNotLoaded,
    VersionMismatch,
}

impl InitFault {
    /// The code it answers.
    pub fn fault(self) -> Fault {
        match self {
            Self::DriverNotLoaded => Fault::DRIVER_NOT_LOADED,
            Self::VersionMismatch => Fault::LIB_MISMATCH,
        }
    }
}

/// An XID error that a GPU will report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Xid {
    pub gpu: usize,
    /// The XID: 79 is "fallen off the bus".
    pub code: u64,
    /// Milliseconds from the moment that the file with this entry was first read.
    #[serde(default)]
    pub after_ms: u64,
}

/// A multi-node NVLink domain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// The domain's uuid, 16 bytes.
    pub cluster_uuid: [u8; 16],
    /// The clique inside the domain.
    pub clique: u32,
    /// How far it is set up: not-started, in-progress or completed.
    #[serde(default)]
    pub state: FabricState,
}

/// How far a fabric is set up.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FabricState {
    /// Its manager has not begun.
    NotStarted,
    /// Its manager is at it.
    InProgress,
    /// It can be used.
    #[default]
    Completed,
}

/// Why a machine file is refused.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Not TOML, or a word that is not known.
    #[error("line {line}: {message}")]
    Syntax { line: usize, message: String },
    /// Well-formed, but no such machine can be.
    #[error("{0}")]
    Impossible(String),
}

impl Machine {
    /// Reads and checks a machine file's text.
    pub fn read(text: &str) -> Result<Self, MachineError> {
        let mut machine: Self = toml::from_str(text).map_err(|error| syntax_error(text, &error))?;
        let Self { name, every_gpu, gpus, .. } = &mut machine;
        for (index, gpu) in gpus.iter_mut().enumerate() {
            gpu.fill_in(every_gpu);
            gpu.name_yourself(name, index);
        }
        check::check(&machine).map_err(MachineError::Impossible)?;
        Ok(machine)
    }
}

fn syntax_error(text: &str, error: &toml::de::Error) -> MachineError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
    let message = error.message().replace('\n', ", ");
    MachineError::Syntax { line: before.matches('\n').count() + 1, message }
}
