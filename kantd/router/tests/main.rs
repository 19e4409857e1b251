//! Tests of the router with real sockets on loopback: clients, a router, and replicas that do what
//! a test says.

mod forwarding;
mod support;
