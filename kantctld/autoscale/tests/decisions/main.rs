//! Tests of decisions: the examples of the sources, and properties that hold for any load.

mod bounds;
mod knative;
mod kubernetes;
mod latency;
mod manual;
mod properties;
mod queue;
mod repeat;
mod role;
