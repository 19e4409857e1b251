//! The behaviour of each command, as short scenarios.
#![allow(clippy::unwrap_used)] // a test fails by panicking

mod accounts;
mod admission;
mod big_arrays;
mod bookings;
mod cancel_and_requeue;
mod checkpoint;
mod deadlines;
mod dependencies;
mod dependency_bounds;
mod faults;
mod for_programs;
mod golden;
mod growing;
mod health;
mod held;
mod invitations;
mod key_rotation;
mod late_successes;
mod lifecycle;
mod measured_ends;
mod nodes;
mod queue_tree;
mod resizing;
mod rights;
mod rights_of_others;
mod rounds;
mod run_times;
mod service_base;
mod services;
mod sets;
mod sharing;
mod size;
mod submit;
mod suspend;
mod tokens;
mod updating;
mod usage;
mod user_bounds;
mod yielding;

use testkit::house;
