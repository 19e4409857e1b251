//! The names of services in DNS: the addresses and ports of their ready replicas.

mod answer;
mod server;
mod zone;

pub use server::{DnsConfig, DnsServer};
pub use zone::Domain;
