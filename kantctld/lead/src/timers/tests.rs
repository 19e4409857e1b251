//! x never
