//! One request and its answer, as the metrics see them.

use crate::client_watch::ClientWatch;
use crate::endpoint::Worker;
use crate::place::Place;
use crate::service::Service;
use crate::stats::ErrorKind;
use hyper::StatusCode;
use hyper::header::HeaderValue;
use std::sync::Arc;
use std::time::Instant;

/// A client's connection, from the view of its requests.
#[derive(Debug)]
pub struct Site {
    pub service: Arc<Service>,
    pub worker: Worker,
    /// The client's IP address.
    pub client: HeaderValue,
    pub has_tls: bool,
    pub watch: Arc<ClientWatch>,
    /// Counts the connection while it or a request on it goes on.
    pub _place: Place,
}

/// A request in flight. It ends when it is dropped.
#[derive(Debug)]
pub struct Exchange {
    site: Arc<Site>,
    begun: Instant,
    status: Option<StatusCode>,
    has_first_byte: bool,
}

impl Exchange {
    pub fn begin(site: Arc<Site>) -> Self {
        let stats = &site.service.stats;
        stats.requests.add_one();
        stats.in_flight.add_one();
        Self { site, begun: Instant::now(), status: None, has_first_byte: false }
    }

    pub fn service(&self) -> &Arc<Service> {
        &self.site.service
    }

    pub fn count_error(&self, kind: ErrorKind) {
        self.service().stats.count_error(kind);
    }

    pub const fn set_status(&mut self, status: StatusCode) {
        self.status = Some(status);
    }

    /// A part of the answer's body has come.
    pub fn note_first_byte(&mut self) {
        if !self.has_first_byte {
            self.has_first_byte = true;
            self.service().stats.first_byte.observe(self.begun.elapsed());
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let now = Instant::now();
        let stats = &self.site.service.stats;
        let span = now.duration_since(self.begun);
        match self.status {
            Some(status) => {
                let class = usize::from(status.as_u16() / 100).min(stats.answers.len() - 1);
                stats.answers[class].add_one();
                stats.duration.observe(span);
                if !self.has_first_byte {
                    stats.first_byte.observe(span);
                }
            }
            // The client left while a replica worked on the request.
            None => stats.count_error(ErrorKind::ClientGone),
        }
        stats.in_flight.subtract_one();
        self.site.watch.end_request(now);
    }
}
