//! A stand-in `libnvidia-ml.so.1` for tests and the demo: it answers for GPUs described in a TOML
//! file. Never installed, never linked; it knows no hardware and dereferences no handle.
//!
//! The file is named by `KANT_NVML_STANDIN` and read by `nvmlInit_v2`; README.md describes it.
//! Every exported function is one line of intent around [`entry`], which holds the lock, checks the
//! handle and keeps panics inside. Every pointer from a caller goes through [`ffi`].

#![allow(non_snake_case, non_upper_case_globals)] // The names are NVML's.

mod affinity;
mod device;
mod entry;
mod event;
mod fabric;
mod ffi;
mod handle;
mod health;
mod link;
mod machine;
mod mig;
mod process;
mod state;
mod system;
mod topology;
mod unsupported;
mod usage;
mod wiring;
