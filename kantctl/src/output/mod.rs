//! What users see. stdout is data, stderr is talk: a script may read the one and lose the other.
//! Never asks the controller anything.

pub mod columns;
pub mod controllers;
pub mod jobs;
pub mod live;
pub mod metrics;
pub mod nodes;
pub mod outlook;
pub mod plain;
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
pub mod user;
pub mod wrap;
pub mod zone;

pub use plain::plain;
pub use screen::Screen;
