//! What each command does, told as short stories.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod cancel_and_requeue;
mod faults;
mod house;
mod life;
mod nodes;
mod rounds;
mod size;
mod submit;
mod views;
