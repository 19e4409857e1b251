//! kantctl, the program: hands its arguments to the library and exits with its code.

use nix::sys::signal::{SigHandler, Signal, signal};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Rust ignores SIGPIPE, and `kantctl queue | head` would complain of a closed pipe.
    // SAFETY: no handler is installed, the default action takes the place of "ignore", and no
    // other thread runs yet.
    let restored = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
    if let Err(error) = restored {
        anstream::eprintln!("kantctl: failed to restore SIGPIPE: {error}");
    }
    ExitCode::from(kantctl::run(std::env::args_os()))
}
