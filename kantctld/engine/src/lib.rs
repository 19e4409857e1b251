//! schedule(&Snapshot, now) -> Vec<Decision>: decides; pure
