//! The requested GPUs of a job.

use crate::gpu_parts::GpuParts;
use crate::unit::Gpus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GpuRequest {
    /// `--gpus-per-node`, `--gres=gpu:N`
    PerNode(Gpus),
    /// `--gpus-per-task`
    PerTask(Gpus),
    /// `--gpus`: in the whole job, on as few nodes as hold them.
    Total(Gpus),
    /// `--gpus=0.5`, `--gpus=2x20G`: fractions of GPUs, shared with other jobs; one task only.
    Parts(GpuParts),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu_parts::PartSize;
    use crate::unit::{Bytes, GpuMilli};

    #[test]
    fn requests_are_serialized_with_their_kind() {
        let parts = |devices, each| GpuRequest::Parts(GpuParts { devices: Gpus(devices), each });
        let half = PartSize::Milli(GpuMilli(500));
        for (request, text) in [
            (parts(1, half), r#"{"parts":{"devices":1,"each":{"milli":500}}}"#),
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
