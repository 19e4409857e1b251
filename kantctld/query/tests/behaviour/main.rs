//! The views and records of a small cluster that is driven by commands.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod history;
mod private;
mod views;

use testkit::house;
