//! Output for users. Data goes to stdout and messages go to stderr, so a script can read the data
//! alone.

pub mod columns;
pub mod controllers;
mod escape;
pub mod estimates;
pub mod idle_gpus;
pub mod jobs;
pub mod metrics;
pub mod nodes;
pub mod priority;
pub mod queues;
pub mod record;
pub mod report;
pub mod reservations;
pub mod screen;
pub mod services;
pub mod share;
pub mod sizes;
pub mod start_outlook;
pub mod steps;
pub mod table;
pub mod time;
pub mod tokens;
pub mod top;
pub mod user_names;
pub mod wrap;
pub mod zone;

pub use screen::Screen;
