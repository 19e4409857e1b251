//! The GPUs visible to a task, if it does not use all of its job's GPUs on the node: a selection of
//! those in the job's environment.

use common::gpu::mig::cuda_visible_ids;

/// The GPUs for CUDA. If a job has both whole GPUs and MIG devices, it does not list all of them.
const CUDA: &str = "CUDA_VISIBLE_DEVICES";

/// The ids of all of the job's NVIDIA GPUs.
const IDS: &str = "KANT_GPUS";

/// Lists of the job's GPUs in the same order, with one entry per GPU.
const LISTS: [&str; 4] = [IDS, CUDA, "ROCR_VISIBLE_DEVICES", "SLURM_JOB_GPUS"];

/// The variables of a task with the GPUs at these indices, overriding those of its job.
pub fn environment(places: Option<&[u32]>) -> Vec<(&'static str, String)> {
    let Some(places) = places else { return Vec::new() };
    let found = LISTS.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    for_indices(&found.collect::<Vec<_>>(), places)
}

fn for_indices(lists: &[(&'static str, String)], places: &[u32]) -> Vec<(&'static str, String)> {
    let mut set: Vec<(&'static str, String)> =
        lists.iter().map(|(name, list)| (*name, select_entries(list, places))).collect();
    let mut visible = places.len();
    if let Some((_, ids)) = set.iter().find(|(name, _)| *name == IDS).cloned() {
        let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
        let seen = cuda_visible_ids(&ids);
        visible = seen.len();
        set.retain(|(name, _)| *name != CUDA);
        set.push((CUDA, seen.join(",")));
    }
    for (name, list) in &mut set {
        if *name == "SLURM_JOB_GPUS" {
            // The job's own variable does not change.
            (*name, *list) = ("SLURM_STEP_GPUS", std::mem::take(list));
        }
    }
    let ordinals: Vec<String> = (0..visible).map(|ordinal| ordinal.to_string()).collect();
    set.push(("GPU_DEVICE_ORDINAL", ordinals.join(",")));
    set.push(("SLURM_GPUS_ON_NODE", places.len().to_string()));
    set
}

fn select_entries(list: &str, places: &[u32]) -> String {
    let all: Vec<&str> = list.split(',').collect();
    let chosen = places.iter().filter_map(|place| all.get(*place as usize).copied());
    chosen.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_sees_its_own_entries_of_the_list() {
        assert_eq!(select_entries("GPU-a,GPU-b,GPU-c", &[0, 2]), "GPU-a,GPU-c");
        assert_eq!(select_entries("GPU-a", &[3]), "", "an empty list is not all GPUs");
        assert!(environment(None).is_empty());
    }

    #[test]
    fn a_task_sees_its_own_gpus_in_a_job_with_mig_devices() {
        let lists =
            [(IDS, "MIG-1,GPU-b,GPU-c"), (CUDA, "GPU-b,GPU-c"), ("SLURM_JOB_GPUS", "0,4,5")]
                .map(|(name, list)| (name, list.to_owned()));
        let seen = |places: &[u32]| {
            let set = for_indices(&lists, places);
            let of = |name: &str| set.iter().find(|(known, _)| *known == name).unwrap().1.clone();
            (of(CUDA), of("SLURM_STEP_GPUS"), of("SLURM_GPUS_ON_NODE"))
        };
        let expected = |cuda: &str, gpus: &str, count: &str| {
            (cuda.to_owned(), gpus.to_owned(), count.to_owned())
        };
        assert_eq!(seen(&[0]), expected("MIG-1", "0", "1"));
        assert_eq!(seen(&[2]), expected("GPU-c", "5", "1"));
        assert_eq!(
            seen(&[0, 1]),
            expected("GPU-b", "0,4", "2"),
            "CUDA gets whole GPUs or one MIG device"
        );
    }
}
