//! kantctl, the program: passes its arguments to the library and exits with its code. It never
//! does more.
//!
//! SIGPIPE stays ignored, as Rust starts programs: a write to a controller that has just died must
//! return an error that can be retried, not end kantctl. `output::screen` exits quietly itself when
//! the reader of stdout has gone.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(kantctl::run(std::env::args_os()))
}
