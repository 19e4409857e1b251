//! Why a case cannot be run by kant.

/// Why a case cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The case asks for something that kant does not have.
    #[error("kant has no {0}")]
    Unsupported(String),
    /// The case names something that does not exist.
    #[error("failed to find the {what} {name}: nothing of this case is called so")]
    Unknown {
        /// The kind of thing.
        what: &'static str,
        name: String,
    },
}

pub(super) fn unsupported<T>(what: impl Into<String>) -> Result<T, ImportError> {
    Err(ImportError::Unsupported(what.into()))
}

pub(super) fn unknown(what: &'static str, name: &str) -> ImportError {
    ImportError::Unknown { what, name: name.to_owned() }
}
