//! engine and state in virtual time
