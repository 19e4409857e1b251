//! The queue: running jobs, then waiting ones with their reasons, in parts.

use crate::frame::{Frame, Section};
use crate::words::{ago, escape_invisible, job_link, percent_encode, roughly, sentence};
use common::job::Phase;
use common::time::Time;
use common::wire::api::{JobList, JobView};
use maud::{Markup, html};

/// The jobs on one page.
pub const PAGE_JOBS: usize = 100;

/// What the user wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueFilter {
    /// A name or uid; empty: all users.
    pub user: String,
    /// Empty: all queues.
    pub queue: String,
    /// Finished jobs, too.
    pub all: bool,
    /// From 0.
    pub page: usize,
}

impl QueueFilter {
    /// The link to another page of the same list.
    fn link(&self, page: usize) -> String {
        let (user, queue) = (percent_encode(&self.user), percent_encode(&self.queue));
        let all = if self.all { "&all=true" } else { "" };
        format!("/jobs?user={user}&queue={queue}{all}&page={page}")
    }
}

#[must_use]
pub fn queue(frame: &Frame<'_>, list: &JobList, filter: &QueueFilter) -> String {
    let total = usize::try_from(list.total.unwrap_or(0)).unwrap_or(usize::MAX);
    let live = html! {
        (filter_form(filter))
        @if list.jobs.is_empty() {
            p.empty { "No jobs here." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Jobs" { (table(list)) }
        }
        (pager(filter, list.jobs.len(), total))
    };
    frame.page(Some(Section::Queue), "Queue", Some(list.as_of), &live)
}

fn filter_form(filter: &QueueFilter) -> Markup {
    html! {
        form.filter method="get" action="/jobs" role="search" {
            label { "User " input name="user" value=(filter.user) size="12"; }
            label { "Queue " input name="queue" value=(filter.queue) size="12"; }
            label { input type="checkbox" name="all" value="true" checked[filter.all]; " finished" }
            button type="submit" { "Show" }
        }
    }
}

fn table(list: &JobList) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Job" }
                    th scope="col" { "Name" }
                    th scope="col" { "User" }
                    th scope="col" { "Queue" }
                    th scope="col" { "State" }
                    th.number scope="col" { "GPUs" }
                    th.number scope="col" { "CPUs" }
                    th scope="col" { "Time" }
                    th scope="col" { "Where, or why it waits" }
                }
            }
            tbody { @for job in &list.jobs { (row(job, list.as_of)) } }
        }
    }
}

fn row(job: &JobView, as_of: Time) -> Markup {
    html! {
        tr {
            td { (job_link(job.key)) }
            td.name { (escape_invisible(&job.ask.name)) }
            td { (escape_invisible(&job.owner.name)) }
            td { @if let Some(queue) = &job.ask.queue { (queue) } }
            td { (state(job)) }
            td.number { (job.gpus) }
            td.number { (job.cpus) }
            td.time { (time_text(job, as_of)) }
            td.why { (place_or_reason(job)) }
        }
    }
}

/// The state with its colour.
pub fn state(job: &JobView) -> Markup {
    let class = match (job.phase, job.held) {
        (Phase::Pending, true) => "held",
        (Phase::Pending, false) => "waiting",
        (Phase::Done, _) => "done",
        _ => "running",
    };
    html! { span.state.(class) { (job.state) @if job.held { ", held" } } }
}

fn time_text(job: &JobView, as_of: Time) -> Markup {
    match (job.ended_at, job.started_at) {
        (Some(ended), _) => html! { "ended " (ago(ended, as_of)) },
        (None, Some(started)) => html! {
            (roughly(as_of.since(started)))
            @if let Some(limit) = job.ask.time_limit { span.dim { " of " (roughly(limit)) } }
        },
        (None, None) => html! { "since " (ago(job.submitted_at, as_of)) },
    }
}

fn place_or_reason(job: &JobView) -> Markup {
    if let Some(reason) = &job.reason {
        return sentence(&reason.sentence);
    }
    let shares = job.allocation.as_ref().map(|allocation| allocation.shares()).unwrap_or_default();
    let nodes: Vec<_> = shares.iter().map(|share| share.node.clone()).collect();
    html! { (common::hostlist::compress(&nodes)) }
}

fn pager(filter: &QueueFilter, shown: usize, total: usize) -> Markup {
    let first = filter.page.saturating_mul(PAGE_JOBS);
    html! {
        @if total > PAGE_JOBS {
            nav.pager aria-label="Parts of the list" {
                @if filter.page > 0 {
                    a rel="prev" href=(filter.link(filter.page - 1)) { "Previous" }
                }
                span { "Jobs " (first + 1) " to " (first + shown) " of " (total) }
                @if first + shown < total {
                    a rel="next" href=(filter.link(filter.page + 1)) { "Next" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{FRAME, job};

    #[test]
    fn a_name_from_a_user_is_text_and_a_reason_is_a_sentence() {
        let mut waiting = job(7, "pending");
        "<img src=x onerror=alert(1)>".clone_into(&mut waiting.ask.name);
        let list = JobList { jobs: vec![waiting], total: Some(1), as_of: Time(0) };
        let page = queue(&FRAME, &list, &QueueFilter::default());
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"), "{page}");
        assert!(!page.contains("<img"), "{page}");
        assert!(page.contains("not enough GPUs are free") && page.contains("/jobs/7"), "{page}");
        assert!(!page.contains("class=\"pager\""), "{page}");
    }

    #[test]
    fn the_links_of_a_long_list_keep_its_filter() {
        let list = JobList { jobs: vec![job(7, "pending")], total: Some(250), as_of: Time(0) };
        let user = "\"><script>".to_owned();
        let filter = QueueFilter { user, queue: "a&b".to_owned(), all: true, page: 1 };
        let page = queue(&FRAME, &list, &filter);
        let query = "user=%22%3E%3Cscript%3E&amp;queue=a%26b&amp;all=true";
        for other in [0, 2] {
            assert!(page.contains(&format!("/jobs?{query}&amp;page={other}")), "{page}");
        }
        assert!(page.contains("Jobs 101 to 101 of 250"), "{page}");
        assert!(!page.contains("\"><script>"), "{page}");
    }
}
