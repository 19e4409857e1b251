//! GPUs as a job asks for them, and how that is written down. Never looks at which there are.

use crate::gpu_parts::{GpuParts, PartSize};
use crate::unit::{GpuMilli, Gpus};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "WrittenGpus", into = "WrittenGpus")]
pub enum GpuRequest {
    /// On each node (`--gpus-per-node`, `--gres=gpu:N`).
    PerNode(Gpus),
    /// For each task (`--gpus-per-task`).
    PerTask(Gpus),
    /// In the whole job (`--gpus`): on as few nodes as hold them.
    Total(Gpus),
    /// Parts of GPUs (`--gpus=0.5`, `--gpus=2x20G`), shared with other jobs; one task only.
    Parts(GpuParts),
}

/// The same as it is written down: a part of one GPU as it was before there were others.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenGpus {
    PerNode(Gpus),
    PerTask(Gpus),
    Total(Gpus),
    Fraction(GpuMilli),
    Parts(GpuParts),
}

impl From<WrittenGpus> for GpuRequest {
    fn from(written: WrittenGpus) -> Self {
        match written {
            WrittenGpus::PerNode(gpus) => Self::PerNode(gpus),
            WrittenGpus::PerTask(gpus) => Self::PerTask(gpus),
            WrittenGpus::Total(gpus) => Self::Total(gpus),
            WrittenGpus::Fraction(part) => Self::Parts(GpuParts::of_one(part)),
            WrittenGpus::Parts(parts) => Self::Parts(parts),
        }
    }
}

impl From<GpuRequest> for WrittenGpus {
    fn from(request: GpuRequest) -> Self {
        match request {
            GpuRequest::PerNode(gpus) => Self::PerNode(gpus),
            GpuRequest::PerTask(gpus) => Self::PerTask(gpus),
            GpuRequest::Total(gpus) => Self::Total(gpus),
            GpuRequest::Parts(GpuParts { devices: Gpus(1), each: PartSize::Milli(part) }) => {
                Self::Fraction(part)
            }
            GpuRequest::Parts(parts) => Self::Parts(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Bytes;

    #[test]
    fn a_part_of_one_gpu_is_written_as_it_was_before_there_were_others() {
        let parts = |devices, each| GpuRequest::Parts(GpuParts { devices: Gpus(devices), each });
        let half = PartSize::Milli(GpuMilli(500));
        for (request, text) in [
            (parts(1, half), r#"{"fraction":500}"#),
            (parts(2, half), r#"{"parts":{"devices":2,"each":{"milli":500}}}"#),
            (
                parts(1, PartSize::Memory(Bytes(7))),
                r#"{"parts":{"devices":1,"each":{"memory":7}}}"#,
            ),
            (GpuRequest::PerNode(Gpus(8)), r#"{"per_node":8}"#),
        ] {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<GpuRequest>(text).unwrap(), request);
        }
    }
}
