//! Whether a brief list of jobs has all that squeue shows. Never asks for one.

use super::Args;
use crate::slurm::format::Piece;
use crate::slurm::job_fields::JobField;

/// Fields that brief lists have: [`common::wire::api::JobQuery::lines`].
const TOLD: &str = "iAFKjPaquUgGtTrRNDlMSV";

/// Does it show, and sort by, nothing else?
pub(super) fn is_enough(args: &Args, pieces: &[Piece<&'static JobField>]) -> bool {
    let is_told = |piece: &Piece<&'static JobField>| match piece {
        Piece::Cell(cell) => TOLD.contains(cell.field.letter),
        Piece::Text(_) => true,
    };
    let plain = !args.json && !args.start && args.steps.is_none() && args.sort.is_none();
    plain && pieces.iter().all(is_told)
}
