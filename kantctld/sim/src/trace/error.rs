//! What can be wrong with a trace, said so that it can be mended: file, line, column, value, way
//! out. Never a guess in place of an error.

/// A trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("failed to read {file}: it is empty; a trace begins with the line `{header}`")]
    Empty {
        file: String,
        /// The header that belongs there.
        header: String,
    },
    /// The compressed data end early or are damaged.
    #[error("failed to unpack {file}: {cause}; fetch the file again, `gzip -t` checks it")]
    Gzip {
        file: String,
        /// What the decompressor says.
        cause: String,
    },
    /// Bytes that are no text.
    #[error("failed to read {file}, line {line}: it is not UTF-8 text; convert it, or name a .csv")]
    NotText {
        file: String,
        /// The line of the first bad byte, from 1.
        line: u64,
    },
    /// The rows do not have the form of a table.
    #[error(
        "failed to read {file}, line {line}: it has {found} fields where the header has \
         {expected}; add or remove commas, or quote a field that holds one"
    )]
    Shape {
        file: String,
        /// The line, from 1.
        line: u64,
        /// Fields in this line.
        found: u64,
        /// Fields of the header.
        expected: u64,
    },
    /// A column that must be there is not.
    #[error(
        "failed to read {file}, line 1: the column `{column}` is missing; add it to the header"
    )]
    MissingColumn { file: String, column: &'static str },
    /// A column nobody knows, or one that is there twice.
    #[error("failed to read {file}, line 1: the column `{column}` is {what}; known are {known}")]
    BadColumn {
        file: String,
        column: String,
        /// `unknown` or `there twice`.
        what: &'static str,
        known: String,
    },
    /// A value that cannot be.
    #[error("failed to read {file}, line {line}, column {column}: `{value}` {problem}")]
    Value {
        file: String,
        /// The line, from 1.
        line: u64,
        column: String,
        /// The value as it stands there.
        value: String,
        /// What is wrong with it and what to do.
        problem: String,
    },
}
