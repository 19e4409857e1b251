//! Services with their roles and replicas.

use crate::frame::{Frame, Section, meter};
use crate::words::{ago, count_with_noun, escape_invisible, job_link, sentence};
use common::time::Time;
use common::wire::api::{ReplicaView, RoleView, ServiceList, ServiceState, ServiceView};
use maud::{Markup, html};

#[must_use]
pub fn services(frame: &Frame<'_>, list: &ServiceList) -> String {
    let live = html! {
        @if list.services.is_empty() {
            p.empty { "No service is deployed. " code { "kantctl service deploy" } " creates one." }
        }
        @for service in &list.services { (card(service, list.as_of)) }
    };
    frame.page(Some(Section::Services), "Services", Some(list.as_of), &live)
}

const fn class(state: ServiceState) -> &'static str {
    match state {
        ServiceState::Steady => "up",
        ServiceState::Degraded => "down",
        ServiceState::Updating | ServiceState::Canary => "running",
        ServiceState::Paused | ServiceState::Stopping => "drained",
    }
}

fn card(service: &ServiceView, as_of: Time) -> Markup {
    html! {
        section.card {
            h2 { (service.name) " " span.state.(class(service.state)) { (service.state.word()) } }
            p.dim {
                "of " (escape_invisible(&service.user)) ", revision " (service.revision)
                @if let Some(port) = service.port { ", port " (port) " on routers" }
                ", created " (ago(service.created_at, as_of))
            }
            @for role in &service.roles { (role_part(service, role)) }
        }
    }
}

fn role_part(service: &ServiceView, role: &RoleView) -> Markup {
    let text = format!("{} of {} ready", role.ready, role.wanted);
    html! {
        details id={ "role-" (service.name) "-" (role.name) } {
            summary {
                span.name { (role.name) } " "
                (meter(u64::from(role.ready), u64::from(role.wanted), &text)) " " (text)
                span.dim { ", " (role.bounds.min) " to " (role.bounds.max) }
            }
            @if let Some(decision) = &role.autoscale { p { (sentence(decision)) } }
            ul.tasks {
                @for replica in &role.replicas { (replica_line(replica)) }
            }
            @if role.replicas.is_empty() { p.dim { (count_with_noun(0, "replica")) } }
        }
    }
}

fn replica_line(replica: &ReplicaView) -> Markup {
    let class = if replica.is_ready() { "up" } else { "waiting" };
    let word = if replica.is_ready() { "ready" } else { "not ready" };
    html! {
        li {
            "replica " (replica.ordinal) " " span.state.(class) { (word) } " job "
            (job_link(replica.job)) ", revision " (replica.revision)
            @if let Some(node) = &replica.node { " on " (node) }
            @if let Some(why) = &replica.why { span.dim { ": " (escape_invisible(why)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::FRAME;
    use serde_json::json;

    #[test]
    fn a_service_shows_its_replicas_and_why_one_is_not_ready() {
        let list = json!({ "as_of": 0, "services": [{
            "name": "chat", "user": "<b>", "state": "degraded", "revision": 3,
            "healthy_revision": 2, "revisions": [2, 3], "port": 8000, "created_at": 0,
            "roles": [{ "name": "web", "bounds": { "min": 1, "max": 4 }, "wanted": 2, "ready": 1,
                "autoscale": "2 requests per replica", "replicas": [
                { "ordinal": 0, "revision": 3, "job": "12", "phase": "pending", "health": null,
                  "ready_since": null, "node": null, "host": null, "ports": [],
                  "why": "no <GPU> is free" }] }]
        }]});
        let list: ServiceList = serde_json::from_value(list).unwrap();
        let page = services(&FRAME, &list);
        for part in ["1 of 2 ready", "degraded", "no &lt;GPU&gt; is free", "/jobs/12", "&lt;b&gt;"]
        {
            assert!(page.contains(part), "no {part} in {page}");
        }
    }
}
