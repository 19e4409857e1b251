//! Shares of queues: what each may hold, holds, borrows and lends.

use crate::frame::{Frame, Section, meter};
use crate::words::count_with_noun;
use common::reason::What;
use common::wire::api::{Lender, ShareList, ShareOf, ShareView};
use maud::{Markup, html};

#[must_use]
pub fn shares(frame: &Frame<'_>, list: &ShareList) -> String {
    let live = html! {
        @if list.queues.is_empty() {
            p.empty { "There are no queues." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Shares of queues" { (table(list)) }
        }
        @if !list.fair_sharing {
            p.dim { "Fair sharing is off (" code { "fair_sharing" }
                "): unused quota is lent, and not divided by weight." }
        }
    };
    let title = count_with_noun(list.queues.len(), "queue");
    frame.page(Some(Section::Shares), &title, Some(list.as_of), &live)
}

fn table(list: &ShareList) -> Markup {
    html! {
        table {
            thead { tr {
                th scope="col" { "Queue" }
                th scope="col" { "Resource" }
                th scope="col" { "Held" }
                th.number scope="col" { "Quota" }
                th.number scope="col" { "Fair share" }
                th.number scope="col" { "At most" }
                th.number scope="col" { "Waiting" }
                th scope="col" { "Borrowed, lent" }
            } }
            tbody {
                @for queue in &list.queues {
                    @for (index, share) in queue.of.iter().enumerate() {
                        (row(queue, share, index == 0))
                    }
                }
            }
        }
    }
}

fn row(queue: &ShareView, share: &ShareOf, is_first: bool) -> Markup {
    let whole = share.share.or(share.quota).or(share.at_most);
    let held = amount(share, share.held);
    let optional = |value: Option<u64>| value.map_or("-".to_owned(), |one| amount(share, one));
    html! {
        tr.first[is_first] {
            @if is_first {
                th.queue scope="row" { span.depth.(depth_class(queue.depth)) { (queue.queue) } }
            } @else {
                td {}
            }
            td { (resource(share)) }
            td {
                @if let Some(whole) = whole {
                    (meter(share.held, whole, &format!("{held} of {}", amount(share, whole)))) " "
                }
                (held)
            }
            td.number { (optional(share.quota)) }
            td.number { (optional(share.share)) }
            td.number { (optional(share.at_most)) }
            td.number { (amount(share, share.waiting)) }
            td { (lent_and_borrowed(share)) }
        }
    }
}

/// Queues deeper than the style sheet has steps for are shown at the last step.
fn depth_class(depth: u32) -> String {
    format!("d{}", depth.min(6))
}

fn lent_and_borrowed(share: &ShareOf) -> Markup {
    let from = |lender: &Lender| {
        let queue = lender.queue.as_ref().map_or("the surplus".to_owned(), ToString::to_string);
        format!("{} from {queue}", amount(share, lender.amount))
    };
    let from: Vec<String> = share.from.iter().map(from).collect();
    html! {
        @if share.borrowed > 0 {
            span.borrowed { "borrows " (amount(share, share.borrowed)) }
            @if !from.is_empty() { span.dim { " (" (from.join(", ")) ")" } }
        }
        @if share.lent > 0 { " " span.lent { "lends " (amount(share, share.lent)) } }
    }
}

fn resource(share: &ShareOf) -> String {
    match (share.what, &share.gpu_kind) {
        (What::Gpus, Some(kind)) => format!("{kind} GPUs"),
        (What::Gpus, None) => "GPUs".to_owned(),
        (What::Cpus, _) => "CPUs".to_owned(),
        (What::Memory, _) => "memory".to_owned(),
        (What::Jobs, _) => "jobs".to_owned(),
        (What::GpuMinutes, _) => "GPU minutes".to_owned(),
    }
}

/// An amount in its unit: thousandths of GPUs and CPUs, or bytes.
fn amount(share: &ShareOf, value: u64) -> String {
    match share.what {
        What::Memory => common::unit::Bytes(value).to_string(),
        _ if value.is_multiple_of(1000) => (value / 1000).to_string(),
        _ => format!("{}.{}", value / 1000, value % 1000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::FRAME;
    use serde_json::json;

    #[test]
    fn a_queue_shows_from_which_queue_it_borrows() {
        let list = json!({ "fair_sharing": false, "as_of": 0, "queues": [{
            "queue": "vision", "depth": 1, "priority": 0, "weight": 1,
            "of": [{ "what": "gpus", "quota": 8000, "at_most": null, "held": 12500, "firm": 0,
                "waiting": 2000, "share": null, "borrowed": 4500, "lent": 0,
                "from": [{ "queue": "speech", "amount": 4000 }, { "queue": null, "amount": 500 }] }]
        }]});
        let list: ShareList = serde_json::from_value(list).unwrap();
        let page = shares(&FRAME, &list);
        for part in ["vision", "12.5", "borrows 4.5", "4 from speech, 0.5 from the surplus", "off"]
        {
            assert!(page.contains(part), "no {part} in {page}");
        }
    }
}
