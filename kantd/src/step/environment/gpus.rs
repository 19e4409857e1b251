//! What a job's processes find of the GPUs that it was given on their node. Never names others.
//! Source of what CUDA does with parts: NVIDIA's MIG user guide, "CUDA_VISIBLE_DEVICES".

use super::{Variables, join};
use crate::step::order::StepOrder;
use common::gpu::RENDER_MINOR_MIN;

impl Variables {
    /// CUDA sees no GPU at all in an empty list; without the variable it would see every one. AMD's
    /// programs read CUDA's variable too, and take it for numbers among those that ROCR shows.
    ///
    /// A process of CUDA's uses several whole GPUs, but of parts (MIG) only the first that is
    /// listed, and none of the whole ones behind it: where a job has both, the whole ones are told.
    pub(super) fn gpus(&mut self, order: &StepOrder) {
        let gpus = &order.gpus;
        let is_amd = |minor: &u32| *minor >= RENDER_MINOR_MIN;
        if order.gpu_minors.iter().any(is_amd) {
            // The kernel's driver does not know the id of each of AMD's.
            let is_known = gpus.iter().all(|gpu| !gpu.uuid.starts_with("AMD-"));
            let shown = match is_known {
                true => join(gpus.iter().map(|gpu| &gpu.uuid)),
                false => join(0..gpus.len()),
            };
            self.set("ROCR_VISIBLE_DEVICES", shown);
            self.0.remove("HIP_VISIBLE_DEVICES");
        }
        if gpus.iter().any(|gpu| is_amd(&gpu.minor)) {
            self.0.remove("CUDA_VISIBLE_DEVICES");
        } else {
            let has_whole = gpus.iter().any(|gpu| gpu.mig.is_none());
            let shown = gpus.iter().filter(|gpu| gpu.mig.is_none() == has_whole);
            self.set("CUDA_VISIBLE_DEVICES", join(shown.map(|gpu| &gpu.uuid)));
        }
        self.set("GPU_DEVICE_ORDINAL", join(0..gpus.len()));
        self.set_all(&["SLURM_GPUS_ON_NODE", "KANT_NODE_GPUS"], gpus.len());
        if gpus.is_empty() {
            return;
        }
        self.set("SLURM_JOB_GPUS", join(gpus.iter().map(|gpu| gpu.index)));
        self.set("SLURM_GPUS", order.launch.allocation.gpus());
    }
}
