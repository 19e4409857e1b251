//! The environment variables that describe all components of a het job: their jobs and nodes.
//! Source: man sbatch, and Slurm's guide to heterogeneous jobs ("Environment Variables").

use super::Variables;
use crate::step::spec::StepSpec;
use common::wire::node::SetComponent;
use common::{counts, hostlist};

impl Variables {
    pub(super) fn set_components(&mut self, spec: &StepSpec) {
        let Some(set) = &spec.launch.set else { return };
        self.set_all(&["SLURM_HET_SIZE", "KANT_SET_SIZE"], set.components.len());
        self.set("KANT_SET_COMPONENT", set.offset);
        for (offset, component) in set.components.iter().enumerate() {
            self.set_component(offset, component);
        }
    }

    fn set_component(&mut self, offset: usize, component: &SetComponent) {
        let shares = component.allocation.shares();
        let nodes = hostlist::compress(shares.iter().map(|share| &share.node));
        let tasks: Vec<u32> = shares.iter().map(|share| share.tasks.0).collect();
        let cpus: Vec<u32> = shares.iter().map(|share| share.cpus.len()).collect();
        let all: u32 = tasks.iter().sum();
        let group = |name: &str| format!("{name}_HET_GROUP_{offset}");
        let (job, listed) = (format!("KANT_SET_JOB_{offset}"), format!("KANT_SET_NODES_{offset}"));
        self.set_all(&[&group("SLURM_JOB_ID"), &job], component.job);
        self.set_all(&[&group("SLURM_JOB_NODELIST"), &listed], nodes);
        self.set(&group("SLURM_JOB_NUM_NODES"), shares.len());
        self.set(&group("SLURM_JOB_PARTITION"), &component.queue);
        self.set(&group("SLURM_NTASKS"), all);
        self.set(&group("SLURM_TASKS_PER_NODE"), counts::encode_runs(&tasks));
        self.set(&group("SLURM_JOB_CPUS_PER_NODE"), counts::encode_runs(&cpus));
        self.set(&group("SLURM_CPUS_PER_TASK"), component.cpus_per_task);
    }
}
