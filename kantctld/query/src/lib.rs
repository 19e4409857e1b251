//! What users read of the replicated state: views for the API, lines of timelines, explanations,
//! and records for accounting. It is pure, and apart from `state`, because wording may change from
//! one release to the next, and what `apply` does may not.

// Layers, the lowest first: a module imports from the groups above its own.
pub mod timeline;
pub mod upgrade;
pub mod viewer;

pub mod event;

pub mod view;

pub mod history;
