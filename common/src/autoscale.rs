//! Autoscaling of services: policies, the reasons of decisions, and their units. The crate
//! `autoscale` decides; the types are here because the specification of a service contains a
//! policy, and users read the reasons.

mod check;
mod hours;
mod latency;
mod outlook;
mod policy;
mod reason;
mod rule;
mod sentence;
mod unit;

pub use check::PolicyError;
pub use hours::{Days, Hours, HoursError, LocalTime, Minute, Weekday};
pub use latency::{Decode, DecodeCurve, DecodePoint, LatencyRule, Prefill, PrefillPoint};
pub use outlook::Outlook;
pub use policy::{Bounds, Policy, RatioBand, Rule};
pub use reason::{Demand, Limit, Measure, QueueSignal, Reason, Stage};
pub use rule::{Concurrency, Metric, PerReplica, Queue, Rps, Utilisation};
pub use unit::{
    Fraction, Freeness, Latency, Level, Replicas, RequestRate, Requests, THOUSANDTHS_MAX,
    TokenRate, Tokens,
};
