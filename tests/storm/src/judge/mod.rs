//! The judges: checks of a history. They share no code with what they check, and change nothing.

pub mod claims;
pub mod finish;
pub mod log;
pub mod nodes;
pub mod promises;
pub mod register;
pub mod services;
pub mod time;
pub mod trust;
pub mod users;
pub mod votes;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Name of the judge.
    pub judge: &'static str,
    pub text: String,
}

impl Complaint {
    pub fn new(judge: &'static str, text: impl Into<String>) -> Self {
        Self { judge, text: text.into() }
    }
}
