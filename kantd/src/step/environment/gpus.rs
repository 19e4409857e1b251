//! What a job's processes find of the GPUs that it was given on their node. Never names others.
//! Source of what CUDA does with MIG devices: NVIDIA's MIG user guide, "CUDA_VISIBLE_DEVICES".

use super::{Variables, join};
use crate::step::order::StepOrder;
use common::gpu::RENDER_MINOR_MIN;
use common::mig::cuda_visible_ids;

impl Variables {
    /// CUDA sees no GPU at all in an empty list; without the variable it would see every one. AMD's
    /// programs read CUDA's variable too, and take it for numbers among those that ROCR shows.
    /// If a job has both whole GPUs and MIG devices, CUDA sees only some ([`cuda_visible_ids`]);
    /// the list of all is what the starter of a step's tasks chooses from.
    pub(super) fn gpus(&mut self, order: &StepOrder) {
        let gpus = &order.gpus;
        let is_amd = |minor: &u32| *minor >= RENDER_MINOR_MIN;
        let ids: Vec<&str> = gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        let told = cuda_visible_ids(&ids);
        let count = told.len();
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
            self.set("CUDA_VISIBLE_DEVICES", join(told.iter()));
            self.set("KANT_GPUS", join(ids.iter()));
        }
        self.set("GPU_DEVICE_ORDINAL", join(0..count));
        self.set_all(&["SLURM_GPUS_ON_NODE", "KANT_NODE_GPUS"], gpus.len());
        if gpus.is_empty() {
            return;
        }
        self.set("SLURM_JOB_GPUS", join(gpus.iter().map(|gpu| gpu.index)));
        self.set("SLURM_GPUS", order.launch.allocation.gpus());
    }
}
