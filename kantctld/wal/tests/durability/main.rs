//! Tests of the log against a plain model: random histories, crashes, disk failures and damage.
//! They share no code with the log but its public interface.

mod crash;
mod model;
mod rot;
