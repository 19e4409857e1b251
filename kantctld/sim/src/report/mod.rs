//! What a replay came to: its outcome as data, the metrics of reference definitions, and how they
//! are shown (JSON, CSV of starts, terminal table, HTML page with plots).
//!
//! Never schedules and never writes a file: a replay fills an [`Outcome`], the shell writes texts.

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
pub use summary::Summary;
pub use table::table;
pub use waits::Waits;
