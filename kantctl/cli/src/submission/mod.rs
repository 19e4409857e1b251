//! A submission: options from flags, directives and the environment, merged and converted to a job
//! request. `verb::submit` sends it to the controller.

pub mod begin;
pub mod components;
pub mod environment;
pub mod export;
pub mod ignored_options;
pub mod job_request;
pub mod mail;
pub mod options;
pub mod parse_error;
pub mod script;
pub mod shell;
pub mod shell_words;
pub mod submit_request;
pub mod test_only;
pub mod value;
pub mod what_if;
