//! Errors of reading a trace, with what is needed to fix it: file, line, column, value, and what to
//! do.

/// A trace that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("failed to read {file}: it is empty; a trace begins with the line `{header}`")]
    Empty {
        file: String,
        /// The expected header.
        header: String,
    },
    /// The compressed data end early or are damaged.
    #[error("failed to unpack {file}: {cause}; fetch the file again, `gzip -t` checks it")]
    Gzip {
        file: String,
        /// The decompressor's message.
        cause: String,
    },
    /// The bytes are not text.
    #[error("failed to read {file}, line {line}: it is not UTF-8 text; convert it, or name a .csv")]
    NotText {
        file: String,
        /// The line of the first bad byte, from 1.
        line: u64,
    },
    /// The rows do not form a table.
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
    /// A required column is missing.
    #[error(
        "failed to read {file}, line 1: the column `{column}` is missing; add it to the header"
    )]
    MissingColumn { file: String, column: &'static str },
    /// A column is unknown or duplicated.
    #[error("failed to read {file}, line 1: the column `{column}` is {what}; known are {known}")]
    BadColumn {
        file: String,
        column: String,
        /// `unknown` or `there twice`.
        what: &'static str,
        known: String,
    },
    /// An invalid value.
    #[error("failed to read {file}, line {line}, column {column}: `{value}` {problem}")]
    Value {
        file: String,
        /// The line, from 1.
        line: u64,
        column: String,
        /// The value as written.
        value: String,
        /// What is wrong with it and what to do.
        problem: String,
    },
}
