//! `--ntasks-per-gpu` and `--cpus-per-gpu`: counts derived from the number of requested GPUs.
//! Source: man sbatch.

use crate::job::attributes::{Attribute, Given};
use crate::resource::GpuRequest;
use crate::unit::Gpus;

/// Counts that cannot be derived from the number of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PerGpuError {
    /// No GPUs are requested, or only shares.
    #[error("{0} requires a request for whole GPUs: add --gpus=COUNT or --gpus-per-node=COUNT")]
    NoGpus(&'static str),
    /// Tasks and GPUs would be derived from each other.
    #[error("--ntasks-per-gpu and --gpus-per-task cannot be combined: give only one of them")]
    Circle,
    #[error(
        "--cpus-per-gpu={each}: the {cpus} CPUs of {gpus} GPUs cannot be divided equally among \
         {tasks} tasks; use --cpus-per-task instead"
    )]
    Uneven { each: u32, cpus: u64, gpus: u32, tasks: u32 },
}

/// The number of whole GPUs in the job.
fn whole_gpus(gpus: Option<GpuRequest>, nodes: u32) -> Option<Gpus> {
    match gpus? {
        GpuRequest::Total(all) => Some(all),
        GpuRequest::PerNode(each) => Some(each.times(nodes)),
        GpuRequest::PerTask(_) | GpuRequest::Parts(_) => None,
    }
}

/// The number of tasks for `--ntasks-per-gpu`; `None` if it is not given.
///
/// # Errors
/// [`PerGpuError`].
pub fn tasks(given: &Given, gpus: Option<GpuRequest>) -> Result<Option<u32>, PerGpuError> {
    let Some(each) = given.get::<u32>(Attribute::NtasksPerGpu) else { return Ok(None) };
    if matches!(gpus, Some(GpuRequest::PerTask(_))) {
        return Err(PerGpuError::Circle);
    }
    let all = whole_gpus(gpus, given.nodes().map_or(1, |nodes| nodes.most));
    let all = all.ok_or(PerGpuError::NoGpus("--ntasks-per-gpu"))?;
    Ok(Some(all.0.saturating_mul(each)))
}

/// CPUs per task for `--cpus-per-gpu`; `None` if it is not given.
///
/// # Errors
/// [`PerGpuError`].
pub fn cpus(
    given: &Given,
    gpus: Option<GpuRequest>,
    tasks: u32,
) -> Result<Option<u32>, PerGpuError> {
    let Some(each) = given.get::<u32>(Attribute::CpusPerGpu) else { return Ok(None) };
    if let Some(GpuRequest::PerTask(gpus)) = gpus {
        return Ok(Some(gpus.0.saturating_mul(each)));
    }
    let all = whole_gpus(gpus, given.nodes().map_or(1, |nodes| nodes.most));
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
    use crate::job::attributes::NodeCount;

    fn asked(tasks_each: Option<u32>, cpus_each: Option<u32>, nodes: Option<u32>) -> Given {
        let mut given = Given::default();
        let counts = [(Attribute::NtasksPerGpu, tasks_each), (Attribute::CpusPerGpu, cpus_each)];
        for (attribute, count) in counts {
            count.into_iter().for_each(|count| given.set(attribute, count));
        }
        if let Some(most) = nodes {
            given.set(Attribute::Nodes, NodeCount { most, least: None });
        }
        given
    }

    #[test]
    fn tasks_and_cpus_are_derived_from_gpus() {
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
    fn counts_that_cannot_be_derived_are_refused() {
        let none = tasks(&asked(Some(2), None, None), None);
        assert_eq!(none, Err(PerGpuError::NoGpus("--ntasks-per-gpu")));
        let per_task = Some(GpuRequest::PerTask(Gpus(2)));
        assert_eq!(tasks(&asked(Some(2), None, None), per_task), Err(PerGpuError::Circle));
        let uneven = cpus(&asked(None, Some(3), None), Some(GpuRequest::Total(Gpus(3))), 2);
        assert!(uneven.unwrap_err().to_string().contains("9 CPUs of 3 GPUs"));
    }
}
