//! Tests of the router with real sockets on loopback: clients, a router, and replicas that do what
//! a test says.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod admin;
mod dns;
mod failures;
mod forwarding;
mod holding;
mod limits;
mod selection;
mod stopping;
mod streaming;
mod support;
mod tables;
mod tls;
