//! The log against a plain model of what it must remember: random histories, crashes, disk
//! failures and rot. Shares no code with the log but its public surface.

mod crash;
mod model;
mod rot;
