//! An error and its causes on one line, for a log or another program.

use std::error::Error;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn causes_follow_the_error_each_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("failed to read a")]
        struct Outer(#[source] Wrapper);
        #[derive(Debug, thiserror::Error)]
        #[error("not found")]
        struct Wrapper(#[source] io::Error);
        let cause = io::Error::other("not found");
        assert_eq!(with_causes(&Outer(Wrapper(cause))), "failed to read a: not found");
    }
}
