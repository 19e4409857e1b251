//! How many tasks of a job one node holds.
//!
//! CPUs are given as whole cores: only CPUs of wholly free cores count, so that two jobs never
//! share a core. A job that asks for whole nodes needs idle ones.
//!
//! Source: man slurm.conf, SelectTypeParameters CR_Core_Memory; man sbatch, `--exclusive`.

use common::unit::Tasks;

/// The most tasks, at most `all`, for which `fits` returns true. More tasks never need less.
pub(crate) fn most_tasks(all: Tasks, fits: impl Fn(Tasks) -> bool) -> Tasks {
    if fits(all) {
        return all;
    }
    // Binary search between a number that fits and one that does not.
    let (mut fitting, mut too_many) = (0, all.0);
    while fitting + 1 < too_many {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(Tasks(middle)) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    Tasks(fitting)
}
