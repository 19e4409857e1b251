//! Binding of tasks to CPUs and GPUs of their step. By default each task can use all of them, so
//! that NCCL finds its neighbours, and programs choose a GPU by their local rank.
//! Source: man srun (--cpu-bind, --gpu-bind, --ntasks-per-gpu).

/// How tasks are bound to CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CpuBind {
    /// To all CPUs of the step.
    #[default]
    None,
    /// Each to a slice of its own, in order.
    Slices,
    /// By a list of indices into the step's CPUs, used in turn.
    Map(Vec<u32>),
}

/// How tasks are bound to GPUs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum GpuBind {
    /// To all GPUs of the step.
    #[default]
    None,
    /// Each to this number of GPUs of its own.
    PerTask(u32),
    /// This number of tasks shares one GPU.
    Single(u32),
    /// By a list of indices into the step's GPUs, used in turn.
    Map(Vec<u32>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    #[error("--cpu-bind={0}: write none, cores, threads, sockets, rank, or map_cpu:0,1,...")]
    Cpu(String),
    #[error("--gpu-bind={0}: write none, closest, single:N, per_task:N, or map_gpu:0,1,...")]
    Gpu(String),
}

impl CpuBind {
    /// Reads `--cpu-bind`.
    ///
    /// # Errors
    /// [`BindError::Cpu`].
    pub fn read(text: &str) -> Result<Self, BindError> {
        let wrong = || BindError::Cpu(text.to_owned());
        if let Some((_, list)) = text.split_once("map_cpu:") {
            return numbers(list).map(Self::Map).ok_or_else(wrong);
        }
        let mut bind = Self::None;
        for word in text.split(',') {
            match word {
                "verbose" | "v" | "quiet" | "q" | "none" | "no" => {}
                "yes" | "y" | "cores" | "threads" | "sockets" | "ldoms" | "rank" | "rank_ldom" => {
                    bind = Self::Slices;
                }
                _ => return Err(wrong()),
            }
        }
        Ok(bind)
    }

    /// The CPUs of a task, given its index on the node and the number of tasks; empty for all CPUs.
    #[must_use]
    pub fn cpus_of_task(&self, local: u32, tasks: u32, each: u32, cpus: &[u32]) -> Vec<u32> {
        let all = cpus.len();
        if all == 0 {
            return Vec::new();
        }
        match self {
            Self::None => Vec::new(),
            Self::Slices => {
                let fair = (all / (tasks.max(1) as usize)).max(1);
                let count = (each.max(1) as usize).min(fair);
                let first = (local as usize * count) % all;
                cpus.iter().skip(first).take(count).copied().collect()
            }
            Self::Map(list) => entry_in_rotation(list, local)
                .and_then(|place| cpus.get(place))
                .copied()
                .into_iter()
                .collect(),
        }
    }
}

impl GpuBind {
    /// Reads `--gpu-bind`.
    ///
    /// # Errors
    /// [`BindError::Gpu`].
    pub fn read(text: &str) -> Result<Self, BindError> {
        let wrong = || BindError::Gpu(text.to_owned());
        let word = text.trim_start_matches("verbose,").trim_start_matches("v,");
        let (kind, value) = word.split_once(':').unwrap_or((word, ""));
        let count = || value.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(wrong);
        match kind {
            "none" | "closest" | "verbose" if value.is_empty() => Ok(Self::None),
            "single" if value.is_empty() => Ok(Self::Single(1)),
            "single" => Ok(Self::Single(count()?)),
            "per_task" => Ok(Self::PerTask(count()?)),
            "map_gpu" => numbers(value).map(Self::Map).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    /// The GPUs of a task, given its index on the node; `None` for all GPUs.
    #[must_use]
    pub fn gpus_of_task(&self, local: u32, gpus: &[u32]) -> Option<Vec<u32>> {
        let all = gpus.len();
        if all == 0 {
            return None;
        }
        let local = local as usize;
        match self {
            Self::None => None,
            Self::PerTask(count) => {
                let count = *count as usize;
                let first = (local * count) % all;
                Some(gpus.iter().skip(first).take(count).copied().collect())
            }
            Self::Single(tasks) => {
                let place = (local / (*tasks as usize).max(1)) % all;
                Some(gpus.get(place).copied().into_iter().collect())
            }
            Self::Map(list) => {
                let place = entry_in_rotation(list, u32::try_from(local).unwrap_or(u32::MAX))?;
                Some(gpus.get(place).copied().into_iter().collect())
            }
        }
    }
}

fn entry_in_rotation(list: &[u32], local: u32) -> Option<usize> {
    list.get(local as usize % list.len().max(1)).map(|place| *place as usize)
}

fn numbers(list: &str) -> Option<Vec<u32>> {
    let read: Option<Vec<u32>> = list.split(',').map(|number| number.trim().parse().ok()).collect();
    read.filter(|numbers| !numbers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_bound_to_cpus_only_on_request() {
        let cpus = [4, 5, 6, 7];
        let of = |text: &str, local| CpuBind::read(text).unwrap().cpus_of_task(local, 2, 2, &cpus);
        assert_eq!((of("cores", 0), of("verbose,threads", 1)), (vec![4, 5], vec![6, 7]));
        assert_eq!((of("none", 0), of("quiet", 1)), (vec![], vec![]));
        assert_eq!((of("map_cpu:3,0", 0), of("map_cpu:3,0", 1)), (vec![7], vec![4]));
        assert_eq!(
            CpuBind::Slices.cpus_of_task(3, 8, 1, &cpus),
            [7],
            "with more tasks than CPUs, slices are reused"
        );
        assert!(CpuBind::read("cpu").is_err() && CpuBind::read("map_cpu:x").is_err());
    }

    #[test]
    fn tasks_see_all_gpus_of_the_step_by_default() {
        let gpus = [1, 3, 5, 7];
        let of = |text: &str, local| GpuBind::read(text).unwrap().gpus_of_task(local, &gpus);
        assert_eq!((of("closest", 0), of("none", 1)), (None, None));
        assert_eq!((of("single:2", 1), of("single:2", 2)), (Some(vec![1]), Some(vec![3])));
        assert_eq!(
            (of("per_task:2", 0), of("per_task:2", 1)),
            (Some(vec![1, 3]), Some(vec![5, 7]))
        );
        assert_eq!(of("map_gpu:2,0", 2), Some(vec![5]));
        assert!(GpuBind::read("per_task:0").is_err() && GpuBind::read("near").is_err());
        assert_eq!(GpuBind::PerTask(1).gpus_of_task(0, &[]), None);
    }
}
