//! The web page: HTML made from the answers of the API. It is pure, so that each page can be tested
//! with an answer and no server.
//!
//! Every text of a user goes through [`maud`], which escapes it, and through
//! [`words::escape_invisible`], which shows control and format characters as escapes. Nothing here
//! marks a text as safe HTML.

// Layers, the lowest first: a module imports from the groups above its own.
pub mod assets;
mod words;

mod frame;

mod action;
#[cfg(test)]
mod sample;
mod tiles;

mod cluster;
mod failure;
mod job;
mod node;
mod queue;
mod services;
mod shares;
mod sign_in;

pub use cluster::cluster;
pub use failure::failure;
pub use frame::{Frame, Rights, Section};
pub use job::{JobPage, Output, job};
pub use node::{node, nodes};
pub use queue::{PAGE_JOBS, QueueFilter, queue};
pub use services::services;
pub use shares::shares;
pub use sign_in::sign_in;
pub use words::percent_encode;
