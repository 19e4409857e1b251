//! kantctld of the release after this one, for the test of a rolling upgrade
//! (`cargo xtask next-release`). Built only with the feature `next-rules`, and never packaged.

#[path = "main.rs"]
mod program;

fn main() -> std::process::ExitCode {
    program::main()
}
