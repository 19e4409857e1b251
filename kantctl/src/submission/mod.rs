//! A submission: options from flags, directives and the environment, merged and converted to a job
//! request. `verb::submit` sends it to the controller.

pub mod ask;
pub mod begin;
pub mod complaint;
pub mod components;
pub mod depends;
pub mod elastic;
pub mod environment;
pub mod export;
pub mod gpus;
pub mod layer;
pub mod mail;
pub mod near;
pub mod options;
pub mod passed_over;
pub mod per_gpu;
pub mod script;
pub mod shell;
pub mod value;
pub mod what_if;
pub mod words;
