//! The amount that a task counts for in fair shares.

use super::amount::Amount;
use super::world::{GpuAsk, Task};

/// Device memory in steps of 100 MiB, as KAI counts it.
pub(super) const fn in_hundreds(mib: u64) -> u64 {
    let whole = mib / 100 * 100;
    if whole == 0 { 100 } else { whole }
}

/// The part of a device that this much of its memory is: thousandths, rounded up to hundredths.
pub(super) fn part_of(mib: u64, of_mib: u64) -> i64 {
    i64::try_from((mib * 100).div_ceil(of_mib.max(1)) * 10).unwrap_or(i64::MAX)
}

pub(super) fn amount(task: &Task, memory_mib: u64) -> Amount {
    let gpu_milli = match &task.gpus {
        GpuAsk::None => 0,
        GpuAsk::Whole(gpus) => i64::from(*gpus) * 1000,
        GpuAsk::Part { milli, devices } => milli * i64::from(*devices),
        GpuAsk::Memory { mib, devices } => part_of(*mib, memory_mib) * i64::from(*devices),
        GpuAsk::Slices(slices) => {
            slices.iter().map(|(profile, count)| super::seat::slice_gpus(profile) * count).sum()
        }
    };
    Amount { cpu_milli: task.cpu_milli, memory_bytes: task.memory_bytes, gpu_milli }
}

/// The thousandths of each device, and the number of devices, on a node with such GPUs. `None`: the
/// node cannot provide them.
pub(super) fn part_on(task: &Task, memory_mib: Option<u64>) -> Option<(i64, usize)> {
    match &task.gpus {
        GpuAsk::None | GpuAsk::Slices(_) => Some((0, 0)),
        GpuAsk::Whole(gpus) => Some((if *gpus > 0 { 1000 } else { 0 }, *gpus as usize)),
        GpuAsk::Part { milli, devices } => Some((*milli, *devices as usize)),
        GpuAsk::Memory { mib, devices } => {
            Some((part_of(*mib, in_hundreds(memory_mib?)), *devices as usize))
        }
    }
}
