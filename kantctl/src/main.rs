//! kantctl, the program: passes its arguments to the command line, or to the Slurm command whose
//! name it was called by, and exits with its code.
//!
//! SIGPIPE stays ignored, as Rust starts programs: a write to a controller that has just died must
//! return an error that can be retried, not end kantctl. `output::screen` exits quietly itself when
//! the reader of stdout has gone.

use slurm::command::SlurmCommand;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(match SlurmCommand::from_program(arguments.first()) {
        Some(command) => slurm::dispatch::run(command, &arguments),
        None => cli::run(&arguments, &slurm::COMMANDS),
    })
}
