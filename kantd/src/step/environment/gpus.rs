//! The environment variables of the GPUs that the job has on this node. Source of what CUDA does
//! with MIG devices: NVIDIA's MIG user guide, "CUDA_VISIBLE_DEVICES".

use super::{Variables, join};
use crate::step::spec::StepSpec;
use common::gpu::RENDER_MINOR_MIN;
use common::gpu::mig::cuda_visible_ids;

impl Variables {
    /// An empty list hides all GPUs from CUDA; without the variable it would see every one. AMD's
    /// programs read CUDA's variable too, as indexes into the GPUs that ROCR shows. With whole GPUs
    /// and MIG devices in one job, CUDA gets only some of them ([`cuda_visible_ids`]); the launcher
    /// of a step's tasks chooses from the full list.
    pub(super) fn set_gpus(&mut self, spec: &StepSpec) {
        let gpus = &spec.gpus;
        let is_amd = |minor: &u32| *minor >= RENDER_MINOR_MIN;
        let ids: Vec<&str> = gpus.iter().map(|gpu| gpu.uuid.as_str()).collect();
        let visible = cuda_visible_ids(&ids);
        let count = visible.len();
        if spec.gpu_minors.iter().any(is_amd) {
            // AMD's kernel driver does not know the id of each GPU.
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
            self.set("CUDA_VISIBLE_DEVICES", join(visible.iter()));
            self.set("KANT_GPUS", join(ids.iter()));
        }
        self.set("GPU_DEVICE_ORDINAL", join(0..count));
        self.set_all(&["SLURM_GPUS_ON_NODE", "KANT_NODE_GPUS"], gpus.len());
        if gpus.is_empty() {
            return;
        }
        self.set("SLURM_JOB_GPUS", join(gpus.iter().map(|gpu| gpu.index)));
        self.set("SLURM_GPUS", spec.launch.allocation.gpus());
    }
}
