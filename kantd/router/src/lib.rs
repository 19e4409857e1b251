//! The router of services: one stable address for each service, in front of its replicas.
//!
//! A [`Router`] applies [`Table`](common::service::table::Table)s as they change. It knows neither
//! controllers nor nodes: where tables come from is the business of its caller.

mod clock;
mod dns;
mod head_scan;
mod headers;
mod health;
mod picker;
mod runtime;
mod socket;
mod stats;
mod tls;

mod config;

mod client_watch;
mod upload;

mod client_stream;

mod client_io;
mod upstream;

mod endpoint;

mod service;

mod place;

mod exchange;

mod answer;
mod tunnel;

mod prepare;

mod attempt;

mod forward;

mod connection;

mod worker;

mod listener;

mod control;
mod table_file;

mod metrics;

mod admin;

mod router;

pub use admin::AdminError;
pub use config::{AdminAddress, ClientLimits, Config, UpstreamLimits};
pub use dns::{DnsConfig, Domain};
#[doc(hidden)]
pub use head_scan::HeadScan;
pub use router::{Router, RouterError};
pub use table_file::{TableFileError, read_table};
pub use tls::{TlsError, TlsFiles};
