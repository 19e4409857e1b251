//! What a rule says when it is broken: where, what, why the rule exists, and how to mend it.
//! Never only "wrong": a finding without a way out is not one.

use std::fmt;

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    pub what: String,
    /// Why the rule exists.
    pub why: &'static str,
    /// How to mend it.
    pub mend: String,
}

impl Finding {
    /// A finding; `what`, `why` and `mend` are clauses without a full stop.
    pub fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        why: &'static str,
        mend: impl Into<String>,
    ) -> Finding {
        Finding { path: path.to_owned(), line, what: what.into(), why, mend: mend.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { path, line, what, why, mend } = self;
        write!(f, "{path}:{line}: {what}; {why}; {mend}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_where_what_why_and_how() {
        let finding = Finding::new("a.rs", 3, "the clock is read", "replicas differ", "pass it in");
        let shown = "a.rs:3: the clock is read; replicas differ; pass it in";
        assert_eq!(finding.to_string(), shown);
    }
}
