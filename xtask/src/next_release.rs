//! `cargo xtask next-release`: builds kantctld of the release after this one, beside kantctld.

use crate::tree;
use anyhow::Result;

/// Build kantctld with the rules of the next release, for the test of a rolling upgrade
#[derive(clap::Args)]
pub struct Args {}

/// # Errors
/// When it does not build.
pub fn run(_: Args) -> Result<()> {
    e2e::build_next(&tree::root().join("target/debug"))
}
