//! The judges: strangers that watch a history and say what is wrong with it. They share no code
//! with what they judge, and never mend or change anything.

pub mod claims;
pub mod finish;
pub mod log;
pub mod nodes;
pub mod promises;
pub mod register;
pub mod users;

/// Something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Which judge says so.
    pub judge: &'static str,
    /// What it saw.
    pub text: String,
}

impl Complaint {
    /// A judge's word.
    pub fn new(judge: &'static str, text: impl Into<String>) -> Self {
        Self { judge, text: text.into() }
    }
}
