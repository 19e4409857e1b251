//! Loading NVML: tells a machine without it from one where it is broken, and says what to do then.

use crate::gpu::GpuError;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use std::path::Path;

/// The name that every driver installs; the loader looks for it where it looks for all libraries.
const SYSTEM_LIBRARY: &str = "libnvidia-ml.so.1";

/// Loads and starts the library at `library`, by default the system's; `None` if there is none.
///
/// # Errors
/// When it is there and does not load or start.
pub fn open(library: Option<&Path>) -> Result<Option<Nvml>, GpuError> {
    let library = library.unwrap_or(Path::new(SYSTEM_LIBRARY));
    match Nvml::builder().lib_path(library.as_os_str()).init() {
        Ok(nvml) => Ok(Some(nvml)),
        Err(source) if is_absent(library, &source) => Ok(None),
        Err(source) => Err(refusal(library, source)),
    }
}

/// A path is absent if nothing is there, not even a dangling link. A bare name is absent if the
/// loader did not find that very name: it says the same of a library that the wanted one needs, and
/// that is a broken driver.
fn is_absent(library: &Path, error: &NvmlError) -> bool {
    let NvmlError::LibloadingError(error) = error else { return false };
    if library.components().nth(1).is_some() {
        return library.symlink_metadata().is_err();
    }
    let (text, name) = (error.to_string(), library.to_string_lossy());
    text.starts_with(&*name) && text.contains("No such file")
}

fn refusal(library: &Path, source: NvmlError) -> GpuError {
    let library = library.to_owned();
    let advice = match &source {
        NvmlError::LibloadingError(_) | NvmlError::FailedToLoadSymbol(_) => {
            return GpuError::Load { library, source };
        }
        NvmlError::LibRmVersionMismatch => {
            "the driver in the kernel is of another version than the installed library: reboot, or \
             load the nvidia modules anew"
        }
        NvmlError::DriverNotLoaded => {
            "load the nvidia kernel module, or remove the library if this machine has no GPUs"
        }
        NvmlError::NoPermission => "let kantd run as root, or with access to /dev/nvidiactl",
        _ => "see what `nvidia-smi` and the kernel log say",
    };
    GpuError::Start { library, source, advice }
}
