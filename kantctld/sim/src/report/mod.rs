//! The result of a replay: its outcome as data, the metrics of reference definitions, and their
//! output (JSON, CSV of starts, terminal table, HTML page with plots).
//!
//! A replay fills an [`Outcome`]; the caller writes the texts to files.

mod heatmap;
mod html;
mod json;
mod outcome;
mod series;
mod size;
mod starts_csv;
mod stretch;
mod summary;
mod table;
mod waits;

pub use heatmap::Heatmap;
pub use html::html;
pub use outcome::{JobOutcome, NodeIndex, Outcome, Preemptions, RefusedJob, TeamOutcome};
pub use series::{ReportError, Sample, Series};
pub use size::SizeClass;
pub use starts_csv::jobs_csv;
pub use stretch::Stretch;
pub use summary::{Percentiles, Summary};
pub use table::table;
pub use waits::Waits;

pub(crate) use waits::seconds;
