//! Step 5: how later jobs may pass earlier ones without delaying them. Never starts a job itself.

pub(crate) mod endings;
pub(crate) mod shadow;
