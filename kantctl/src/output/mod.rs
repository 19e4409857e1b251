//! What users see. stdout is data, stderr is talk: a script may read the one and lose the other.
//! Never asks the controller anything.

pub mod columns;
pub mod controllers;
mod harmless;
pub mod jobs;
pub mod live;
pub mod metrics;
pub mod nodes;
pub mod outlook;
pub mod people;
pub mod priority;
pub mod queues;
pub mod record;
pub mod report;
pub mod reservations;
pub mod screen;
pub mod share;
pub mod sizes;
pub mod steps;
pub mod table;
pub mod time;
pub mod wrap;
pub mod zone;

pub use screen::Screen;
