//! The judges: strangers that watch a history and say what is wrong with it. They share no code
//! with what they judge, and never mend or change anything.

pub mod claims;
pub mod finish;
pub mod log;
pub mod nodes;
pub mod promises;
pub mod register;
pub mod time;
pub mod users;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Which judge says so.
    pub judge: &'static str,
    pub text: String,
}

impl Complaint {
    pub fn new(judge: &'static str, text: impl Into<String>) -> Self {
        Self { judge, text: text.into() }
    }
}
