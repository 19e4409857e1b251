//! the only shared IO: transport, TLS, identity, reconnect
