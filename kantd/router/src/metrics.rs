//! The metrics of a router as text.
//! Source: Prometheus, "Exposition formats", text-based format 0.0.4.

use crate::clock;
use crate::control::Services;
use crate::service::Service;
use crate::stats::{BOUNDS_SECONDS, ErrorKind, Histogram, Stats};
use common::service::load::{EndpointLoad, RouterLoad, ServiceLoad};
use common::service::table::EndpointState;
use common::time::Span;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// A number of each service: name, type, help, and the number.
type Row = (&'static str, &'static str, &'static str, fn(&Stats) -> u64);

const ROWS: &[Row] = &[
    ("requests_total", "counter", "Requests of clients.", |s| s.requests.get()),
    ("in_flight", "gauge", "Requests without a complete answer.", |s| s.in_flight.get()),
    ("held", "gauge", "Requests that wait for a ready replica.", |s| s.held.get()),
    ("holds_total", "counter", "Requests that have waited for a ready replica.", |s| s.holds.get()),
    ("retries_total", "counter", "Requests that were sent again.", |s| s.retries.get()),
    ("outs_total", "counter", "Replicas taken out for repeated failures.", |s| s.outs.get()),
    ("connections", "gauge", "Open connections of clients.", |s| s.connections.get()),
    ("connections_parked", "gauge", "Those of them that are idle, without buffers.", |s| {
        s.connections_parked.get()
    }),
    ("connections_refused_total", "counter", "Connections beyond the limits.", |s| {
        s.connections_refused.get()
    }),
];

/// All metrics.
pub fn text(services: &Services) -> String {
    let all = services.all();
    let mut text = String::new();
    head(&mut text, "table_version", "gauge", "The version of the routing table.");
    line(&mut text, format_args!("kant_router_table_version {}", services.version()));
    for (name, kind, help, get) in ROWS {
        head(&mut text, name, kind, help);
        for (service, stats) in all.iter().map(service_label) {
            line(&mut text, format_args!("kant_router_{name}{{{service}}} {}", get(stats)));
        }
    }
    head(&mut text, "answers_total", "counter", "Answers by the first digit of their status.");
    for (service, stats) in all.iter().map(service_label) {
        for (class, count) in stats.answers.iter().enumerate().skip(1) {
            let labels = format_args!("{service},code=\"{class}xx\"");
            line(&mut text, format_args!("kant_router_answers_total{{{labels}}} {}", count.get()));
        }
    }
    head(&mut text, "errors_total", "counter", "Requests that the router refused or lost.");
    for (service, stats) in all.iter().map(service_label) {
        for kind in ErrorKind::ALL {
            let (count, kind) = (stats.error_count(kind), kind.label());
            let labels = format_args!("{service},kind=\"{kind}\"");
            line(&mut text, format_args!("kant_router_errors_total{{{labels}}} {count}"));
        }
    }
    histogram(
        &mut text,
        &all,
        "request_seconds",
        "From a request to the end of its answer.",
        |s| &s.duration,
    );
    let help = "From a request to the first byte of its answer's body.";
    histogram(&mut text, &all, "first_byte_seconds", help, |s| &s.first_byte);
    endpoints(&mut text, &all);
    text
}

fn endpoints(text: &mut String, all: &[Arc<Service>]) {
    head(text, "endpoint_in_flight", "gauge", "Requests on each replica.");
    for service in all {
        let name = escaped(&service.name);
        for (endpoint, state) in &service.plan().all {
            let (id, state) = (escaped(&endpoint.id), state_label(*state));
            let labels = format_args!("service=\"{name}\",endpoint=\"{id}\",state=\"{state}\"");
            let count = endpoint.in_flight();
            line(text, format_args!("kant_router_endpoint_in_flight{{{labels}}} {count}"));
        }
    }
}

fn histogram(
    text: &mut String,
    all: &[Arc<Service>],
    name: &str,
    help: &str,
    get: fn(&Stats) -> &Histogram,
) {
    head(text, name, "histogram", help);
    for (service, stats) in all.iter().map(service_label) {
        let counts = get(stats).cumulative();
        for (bound, count) in BOUNDS_SECONDS.iter().zip(counts) {
            let labels = format_args!("{service},le=\"{bound}\"");
            line(text, format_args!("kant_router_{name}_bucket{{{labels}}} {count}"));
        }
        let total = counts[BOUNDS_SECONDS.len()];
        let sum = get(stats).sum().as_secs_f64();
        let labels = format_args!("{service},le=\"+Inf\"");
        line(text, format_args!("kant_router_{name}_bucket{{{labels}}} {total}"));
        line(text, format_args!("kant_router_{name}_sum{{{service}}} {sum}"));
        line(text, format_args!("kant_router_{name}_count{{{service}}} {total}"));
    }
}

fn service_label(service: &Arc<Service>) -> (String, &Stats) {
    (format!("service=\"{}\"", escaped(&service.name)), &service.stats)
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP kant_router_{name} {help}"));
    line(text, format_args!("# TYPE kant_router_{name} {kind}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// The value of a label between quotation marks.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

const fn state_label(state: EndpointState) -> &'static str {
    match state {
        EndpointState::Ready => "ready",
        EndpointState::Draining => "draining",
        EndpointState::NotReady => "not_ready",
    }
}

/// The load of all services, for the autoscaler.
pub fn router_load(services: &Services) -> RouterLoad {
    let load_of = |service: Arc<Service>| ServiceLoad {
        service: service.name.clone(),
        in_flight: service.stats.in_flight.get(),
        held: service.stats.held.get(),
        requests: service.stats.requests.get(),
        endpoints: service
            .plan()
            .all
            .iter()
            .map(|(endpoint, state)| EndpointLoad {
                id: endpoint.id.clone(),
                state: *state,
                in_flight: endpoint.in_flight().into(),
            })
            .collect(),
    };
    RouterLoad {
        table_version: services.version(),
        uptime: Span(clock::now_ms()),
        services: services.all().into_iter().map(load_of).collect(),
    }
}

/// The replicas as Prometheus discovers them, to read the metrics of their programs.
/// Source: Prometheus, "HTTP SD".
pub fn http_sd(services: &Services) -> Value {
    let mut groups = Vec::new();
    for service in services.all() {
        for (endpoint, state) in &service.plan().all {
            groups.push(json!({
                "targets": [endpoint.addr.to_string()],
                "labels": {
                    "kant_service": service.name,
                    "kant_endpoint": endpoint.id,
                    "kant_state": state_label(*state),
                },
            }));
        }
    }
    Value::Array(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_end_itself() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    #[test]
    fn without_services_there_are_no_targets() {
        let services = Services::default();
        assert_eq!(http_sd(&services).to_string(), "[]");
        let load = router_load(&services);
        assert_eq!((load.table_version, load.services), (0, Vec::new()));
        assert!(text(&services).contains("kant_router_table_version 0\n"));
    }
}
