//! `--ntasks-per-gpu` and `--cpus-per-gpu`: counts that follow from the GPUs asked for. Never asks
//! for GPUs itself.
//! Source: man sbatch.

use super::options::Options;
use common::resource::GpuRequest;
use common::unit::Gpus;

/// Counts that do not follow from the GPUs asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PerGpuError {
    /// No GPUs are asked for, or a share of one.
    #[error("{0} needs whole GPUs to count: add --gpus=COUNT or --gpus-per-node=COUNT")]
    NoGpus(&'static str),
    /// Each task asks for its own GPUs.
    #[error("--ntasks-per-gpu counts tasks by GPUs, --gpus-per-task GPUs by tasks: give one")]
    Circle,
    /// The CPUs cannot be shared out evenly.
    #[error(
        "--cpus-per-gpu={each}: the {cpus} CPUs of {gpus} GPUs do not divide among {tasks} tasks; \
         say --cpus-per-task instead"
    )]
    Uneven {
        /// CPUs for each GPU.
        each: u32,
        cpus: u64,
        gpus: u32,
        tasks: u32,
    },
}

/// GPUs of the whole job, of which no share is one.
fn whole(gpus: Option<GpuRequest>, nodes: u32) -> Option<Gpus> {
    match gpus? {
        GpuRequest::Total(all) => Some(all),
        GpuRequest::PerNode(each) => Some(each.times(nodes)),
        GpuRequest::PerTask(_) | GpuRequest::Parts(_) => None,
    }
}

/// Tasks that follow from `--ntasks-per-gpu`; `None`: it was not given.
///
/// # Errors
/// [`PerGpuError`].
pub fn tasks(options: &Options, gpus: Option<GpuRequest>) -> Result<Option<u32>, PerGpuError> {
    let Some(each) = options.ntasks_per_gpu else { return Ok(None) };
    if matches!(gpus, Some(GpuRequest::PerTask(_))) {
        return Err(PerGpuError::Circle);
    }
    let all = whole(gpus, options.nodes.map_or(1, |nodes| nodes.most));
    let all = all.ok_or(PerGpuError::NoGpus("--ntasks-per-gpu"))?;
    Ok(Some(all.0.saturating_mul(each)))
}

/// CPUs for each task that follow from `--cpus-per-gpu`; `None`: it was not given.
///
/// # Errors
/// [`PerGpuError`].
pub fn cpus(
    options: &Options,
    gpus: Option<GpuRequest>,
    tasks: u32,
) -> Result<Option<u32>, PerGpuError> {
    let Some(each) = options.cpus_per_gpu else { return Ok(None) };
    if let Some(GpuRequest::PerTask(gpus)) = gpus {
        return Ok(Some(gpus.0.saturating_mul(each)));
    }
    let all = whole(gpus, options.nodes.map_or(1, |nodes| nodes.most));
    let all = all.ok_or(PerGpuError::NoGpus("--cpus-per-gpu"))?;
    let cpus = u64::from(all.0) * u64::from(each);
    let (share, rest) = (cpus / u64::from(tasks.max(1)), cpus % u64::from(tasks.max(1)));
    match u32::try_from(share) {
        Ok(share @ 1..) if rest == 0 => Ok(Some(share)),
        _ => Err(PerGpuError::Uneven { each, cpus, gpus: all.0, tasks }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::value::NodeCount;

    fn asked(tasks_each: Option<u32>, cpus_each: Option<u32>, nodes: Option<u32>) -> Options {
        let nodes = nodes.map(|most| NodeCount { most, least: None });
        Options { ntasks_per_gpu: tasks_each, cpus_per_gpu: cpus_each, nodes, ..Options::default() }
    }

    #[test]
    fn tasks_and_cpus_follow_from_gpus() {
        let each = Some(GpuRequest::PerNode(Gpus(4)));
        assert_eq!(tasks(&asked(Some(2), None, Some(3)), each), Ok(Some(24)));
        assert_eq!(
            tasks(&asked(Some(1), None, None), Some(GpuRequest::Total(Gpus(8)))),
            Ok(Some(8))
        );
        assert_eq!(cpus(&asked(None, Some(6), Some(2)), each, 8), Ok(Some(6)));
        assert_eq!(cpus(&asked(None, Some(6), Some(2)), each, 2), Ok(Some(24)));
        let per_task = Some(GpuRequest::PerTask(Gpus(2)));
        assert_eq!(cpus(&asked(None, Some(6), None), per_task, 5), Ok(Some(12)));
        assert_eq!(tasks(&asked(None, None, None), None), Ok(None));
    }

    #[test]
    fn what_does_not_follow_is_refused() {
        let none = tasks(&asked(Some(2), None, None), None);
        assert_eq!(none, Err(PerGpuError::NoGpus("--ntasks-per-gpu")));
        let per_task = Some(GpuRequest::PerTask(Gpus(2)));
        assert_eq!(tasks(&asked(Some(2), None, None), per_task), Err(PerGpuError::Circle));
        let uneven = cpus(&asked(None, Some(3), None), Some(GpuRequest::Total(Gpus(3))), 2);
        assert!(uneven.unwrap_err().to_string().contains("9 CPUs of 3 GPUs"));
    }
}
