//! Loading of NVML, which distinguishes a missing library from a broken one.

use crate::gpu::GpuError;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::path::Path;

/// The name under which every driver installs it, found by the loader.
const SYSTEM_LIBRARY: &str = "libnvidia-ml.so.1";

/// Loads and starts the library at `library`, by default the system's; `None` if there is none.
///
/// # Errors
/// When it exists but does not load or start.
pub fn open(library: Option<&Path>) -> Result<Option<Nvml>, GpuError> {
    let library = library.unwrap_or(Path::new(SYSTEM_LIBRARY));
    match Nvml::builder().lib_path(library.as_os_str()).init() {
        Ok(nvml) => Ok(Some(nvml)),
        Err(source) if is_absent(library, &source) => Ok(None),
        Err(source) => Err(start_error(library, source)),
    }
}

/// Whether the library is missing. A path is missing if nothing is there, not even a dangling link.
/// A bare name is missing if the loader did not find that very name: the message for a missing
/// dependency of the library is similar, and means a broken driver.
fn is_absent(library: &Path, error: &NvmlError) -> bool {
    let NvmlError::LibloadingError(error) = error else { return false };
    if library.components().nth(1).is_some() {
        return library.symlink_metadata().is_err();
    }
    let (text, name) = (error.to_string(), library.to_string_lossy());
    text.starts_with(&*name) && text.contains("No such file")
}

fn start_error(library: &Path, source: NvmlError) -> GpuError {
    let library = library.to_owned();
    let advice = match &source {
        NvmlError::LibloadingError(_) | NvmlError::FailedToLoadSymbol(_) => {
            return GpuError::Load { library, source };
        }
        NvmlError::LibRmVersionMismatch => {
            "the kernel's driver and the installed library differ in version: reboot, or \
             reload the nvidia modules"
        }
        NvmlError::DriverNotLoaded => {
            "load the nvidia kernel module, or remove the library if this machine has no GPUs"
        }
        NvmlError::NoPermission => "run kantd as root, or with access to /dev/nvidiactl",
        _ => "check the output of `nvidia-smi` and the kernel log",
    };
    GpuError::Start { library, source, advice }
}
