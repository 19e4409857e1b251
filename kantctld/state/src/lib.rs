//! apply(&mut State, Stamped<Command>) -> Vec<Event>: remembers; pure and deterministic
