//! The text of an error with its causes.

use std::error::Error;

/// An error and its causes on one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut sentences = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        sentences.push(error.to_string());
        cause = error.source();
    }
    // An error that only wraps another has the same text.
    sentences.dedup();
    sentences.join(": ")
}
