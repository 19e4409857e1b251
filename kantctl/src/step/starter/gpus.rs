//! The GPUs that a task sees, where that is not all of its job's on the node: some of those that
//! the job's environment lists. Never more than that.

use common::mig::cuda_visible_ids;

/// What CUDA is told; not one entry for each GPU where a job has whole ones and MIG devices.
const CUDA: &str = "CUDA_VISIBLE_DEVICES";

/// The ids of all of the job's NVIDIA GPUs. A kantd of an earlier release does not say them.
const IDS: &str = "KANT_GPUS";

/// Lists of the job's GPUs, one entry for each, in the same order.
const LISTS: [&str; 4] = [IDS, CUDA, "ROCR_VISIBLE_DEVICES", "SLURM_JOB_GPUS"];

/// What a task finds instead of what its job does; `places` are those of its GPUs in the lists.
pub fn environment(places: Option<&[u32]>) -> Vec<(&'static str, String)> {
    let Some(places) = places else { return Vec::new() };
    let found = LISTS.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    of_places(&found.collect::<Vec<_>>(), places)
}

fn of_places(lists: &[(&'static str, String)], places: &[u32]) -> Vec<(&'static str, String)> {
    let mut set: Vec<(&'static str, String)> =
        lists.iter().map(|(name, list)| (*name, chosen(list, places))).collect();
    let mut told = places.len();
    if let Some((_, ids)) = set.iter().find(|(name, _)| *name == IDS).cloned() {
        let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
        let seen = cuda_visible_ids(&ids);
        told = seen.len();
        set.retain(|(name, _)| *name != CUDA);
        set.push((CUDA, seen.join(",")));
    }
    for (name, list) in &mut set {
        if *name == "SLURM_JOB_GPUS" {
            // What the job has stays what it is.
            (*name, *list) = ("SLURM_STEP_GPUS", std::mem::take(list));
        }
    }
    let ordinals: Vec<String> = (0..told).map(|ordinal| ordinal.to_string()).collect();
    set.push(("GPU_DEVICE_ORDINAL", ordinals.join(",")));
    set.push(("SLURM_GPUS_ON_NODE", places.len().to_string()));
    set
}

fn chosen(list: &str, places: &[u32]) -> String {
    let all: Vec<&str> = list.split(',').collect();
    let chosen = places.iter().filter_map(|place| all.get(*place as usize).copied());
    chosen.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_sees_those_of_the_list_that_are_its_own() {
        assert_eq!(chosen("GPU-a,GPU-b,GPU-c", &[0, 2]), "GPU-a,GPU-c");
        assert_eq!(chosen("GPU-a", &[3]), "", "none is not all");
        assert!(environment(None).is_empty());
    }

    #[test]
    fn a_task_of_a_job_with_whole_gpus_and_mig_devices_sees_those_it_was_booked_for() {
        let lists =
            [(IDS, "MIG-1,GPU-b,GPU-c"), (CUDA, "GPU-b,GPU-c"), ("SLURM_JOB_GPUS", "0,4,5")]
                .map(|(name, list)| (name, list.to_owned()));
        let seen = |places: &[u32]| {
            let set = of_places(&lists, places);
            let of = |name: &str| set.iter().find(|(known, _)| *known == name).unwrap().1.clone();
            (of(CUDA), of("SLURM_STEP_GPUS"), of("SLURM_GPUS_ON_NODE"))
        };
        let said = |cuda: &str, gpus: &str, count: &str| {
            (cuda.to_owned(), gpus.to_owned(), count.to_owned())
        };
        assert_eq!(seen(&[0]), said("MIG-1", "0", "1"));
        assert_eq!(seen(&[2]), said("GPU-c", "5", "1"));
        assert_eq!(seen(&[0, 1]), said("GPU-b", "0,4", "2"), "CUDA has both or one, not more");
    }
}
