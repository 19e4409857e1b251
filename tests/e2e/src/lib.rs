//! real daemons on loopback, attacked
