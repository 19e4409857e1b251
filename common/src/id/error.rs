//! What is wrong with the text of an id or a name.

/// The text is not a valid id or name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("`{0}` is not a job id: write a number like 42, or 42_7 for task 7 of array 42")]
    Job(String),
    #[error("`{0}` is not a cluster id: write sixteen hexadecimal digits (0 to 9, a to f)")]
    Cluster(String),
    #[error(
        "`{text}` is not a valid {what} name: use 1 to 63 letters, digits, `-`, `_` or `.`, \
         beginning with a letter or digit"
    )]
    Name {
        /// The kind of name: "node", "queue", ...
        what: &'static str,
        text: String,
    },
}
