//! GPUs in Slurm's form, `gres:gpu:h100:2` or `gres/gpu=2`, and what is counted per GPU.

use super::Description;
use common::job::attributes::Attribute;

/// The word that Slurm's forms have in common.
const GPU: &str = "gpu";

/// Sets a number of GPUs, or CPUs per task beside it.
pub(super) fn set_gpus(
    description: &mut Description,
    attribute: Attribute,
    text: &str,
) -> Result<(), String> {
    for part in text.split(',') {
        if description.given.has(attribute) && strip_gres_prefix(part).is_some() {
            return Err("a job gets GPUs of one request: give them once".to_owned());
        }
        match (strip_gres_prefix(part), part.strip_prefix("cpu=").or(part.strip_prefix("cpu:"))) {
            (Some(count), _) => description.set_text(attribute, count)?,
            (None, Some(cpus)) if attribute == Attribute::GpusPerTask => {
                description.set_text(Attribute::CpusPerTask, cpus)?;
            }
            (None, _) => {
                return Err(format!("`{part}`: only GPUs can be requested, as in gres/gpu:2"));
            }
        }
    }
    Ok(())
}

/// Sets what is counted per GPU: `gres:gpu:4`.
pub(super) fn set_per_gpu(
    description: &mut Description,
    attribute: Attribute,
    text: &str,
) -> Result<(), String> {
    let count = strip_gres_prefix(text).ok_or("write it per GPU, as in gres:gpu:4")?;
    description.set_text(attribute, count)
}

/// `h100:2` of `gres:gpu:h100:2`, `gres/gpu:h100:2`, `gpu:h100:2` and `gres/gpu=2`.
fn strip_gres_prefix(part: &str) -> Option<&str> {
    let part = part.trim();
    let part = part.strip_prefix("gres:").or(part.strip_prefix("gres/")).unwrap_or(part);
    let rest = part.strip_prefix(GPU)?;
    match rest {
        "" => Some("1"),
        _ => rest.strip_prefix([':', '=']),
    }
}
