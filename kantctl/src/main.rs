//! kantctl, the program: hands its arguments to the library and exits with its code. Never does
//! more.
//!
//! SIGPIPE stays ignored, as Rust starts programs: a controller that dies while it is written to
//! must be an error that is tried again, not the end of kantctl. `output::screen` is quiet itself
//! when stdout's reader has left.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(kantctl::run(std::env::args_os()))
}
