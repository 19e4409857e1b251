//! The GPUs that a task sees, where that is not all of its job's on the node: some of those that
//! the job's environment lists. Never more than that.

/// Lists of the job's GPUs, one entry for each, in the same order.
const LISTS: [&str; 3] = ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "SLURM_JOB_GPUS"];

/// What a task finds instead of what its job does; `places` are those of its GPUs in the lists.
pub fn environment(places: Option<&[u32]>) -> Vec<(&'static str, String)> {
    let Some(places) = places else { return Vec::new() };
    let found = LISTS.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let mut set: Vec<(&'static str, String)> =
        found.map(|(name, list)| (name, chosen(&list, places))).collect();
    for (name, list) in &mut set {
        if *name == "SLURM_JOB_GPUS" {
            // What the job has stays what it is.
            (*name, *list) = ("SLURM_STEP_GPUS", std::mem::take(list));
        }
    }
    let count = places.len();
    let ordinals: Vec<String> = (0..count).map(|ordinal| ordinal.to_string()).collect();
    set.push(("GPU_DEVICE_ORDINAL", ordinals.join(",")));
    set.push(("SLURM_GPUS_ON_NODE", count.to_string()));
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
}
