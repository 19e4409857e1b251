//! Whether the controller's compact job list has all fields that squeue shows.

use super::Args;
use crate::format::Piece;
use crate::job_fields::JobField;

/// The fields of the compact list: [`common::wire::api::JobQuery::lines`].
const LIST_ROW_FIELDS: &str = "iAFKjPaquUgGtTrRNDlMSV";

/// Whether the compact list is enough for these options.
pub(super) fn is_sufficient(args: &Args, pieces: &[Piece<&'static JobField>]) -> bool {
    let is_available = |piece: &Piece<&'static JobField>| match piece {
        Piece::Cell(cell) => LIST_ROW_FIELDS.contains(cell.field.letter),
        Piece::Text(_) => true,
    };
    let plain = !args.json && !args.start && args.steps.is_none() && args.sort.is_none();
    plain && pieces.iter().all(is_available)
}
