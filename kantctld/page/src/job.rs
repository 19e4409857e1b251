//! A job: what happened to it, why it is in its state, where it runs, and the end of its output.

use crate::action::actions;
use crate::frame::{Frame, Section};
use crate::queue::state;
use crate::words::{
    ago, count_with_noun, escape_invisible, job_link, percent_encode, roughly, sentence, stamp,
};
use common::cpuset::CpuSet;
use common::resource::{Allocation, Share};
use common::text::escape_hidden_lines;
use common::time::Time;
use common::wire::api::{Explanation, JobView};
use maud::{Markup, html};

/// The most tasks of an array that its page lists.
const TASKS_SHOWN: usize = 200;
/// The most nodes that the page lists.
const NODES_SHOWN: usize = 200;

/// What a page of a job shows.
#[derive(Debug)]
pub struct JobPage<'a> {
    /// The job, or the tasks of an array.
    pub jobs: &'a [JobView],
    pub explanation: Option<&'a Explanation>,
    pub output: Output,
    pub as_of: Time,
}

/// The end of a job's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Its last part; `true` if there is more before it.
    Text(String, bool),
    /// Why it is not shown.
    NotShown(String),
}

#[must_use]
pub fn job(frame: &Frame<'_>, page: &JobPage<'_>) -> String {
    let Some(first) = page.jobs.first() else {
        return crate::failure::failure(frame, "there is no such job", None);
    };
    let is_array = page.jobs.len() > 1;
    let title = match is_array {
        true => format!("Array {}", first.key.job),
        false => format!("Job {}", first.key),
    };
    let live = html! {
        p.lead { (escape_invisible(&first.ask.name)) " of " (escape_invisible(&first.owner.name))
            @if !is_array { " " (state(first)) } }
        @if is_array { (tasks(page)) } @else { (actions(frame, first)) (facts(first, page.as_of)) }
        @if let Some(explanation) = page.explanation { (explained(explanation, page.as_of)) }
        @if !is_array {
            (timeline(first))
            @if let Some(allocation) = &first.allocation { (nodes(allocation)) }
            (output(&page.output))
        }
    };
    frame.page(Some(Section::Queue), &title, Some(page.as_of), &live)
}

fn facts(job: &JobView, as_of: Time) -> Markup {
    let request = &job.ask.request;
    html! {
        dl.facts {
            @if let Some(queue) = &job.ask.queue { dt { "Queue" } dd { (queue) } }
            @if let Some(account) = &job.ask.account { dt { "Account" } dd { (account) } }
            dt { "Resources" }
            dd { (job.gpus) " GPUs, " (job.cpus) " CPUs, " (job.memory) " memory, "
                (count_with_noun(request.tasks.0 as usize, "task")) }
            dt { "Submitted" } dd { (ago(job.submitted_at, as_of)) }
            @if let Some(at) = job.started_at { dt { "Started" } dd { (ago(at, as_of)) } }
            @if let Some(at) = job.ended_at { dt { "Ended" } dd { (ago(at, as_of)) } }
            @if let Some(limit) = job.ask.time_limit { dt { "Time limit" } dd { (roughly(limit)) } }
            @if job.attempt > 1 { dt { "Attempt" } dd { (job.attempt) } }
            @if let Some(exit) = job.exit { dt { "Exit" } dd { (exit) } }
            @if let Some(dependency) = &job.dependency { dt { "Waits for" } dd { (dependency) } }
            @if let Some(at) = job.checkpoint_at { dt { "Checkpoint" } dd { (ago(at, as_of)) } }
            @if let Some(message) = &job.message { dt { "Message" } dd { (sentence(message)) } }
        }
    }
}

fn explained(explanation: &Explanation, as_of: Time) -> Markup {
    html! {
        section {
            h2 { "Why" }
            ul { @for line in &explanation.lines { li { (sentence(line)) } } }
            @if let Some(at) = explanation.expected_at {
                p { "Expected start: " (ago(at, as_of)) }
            }
            @if let Some(advice) = &explanation.advice { p.advice { (sentence(advice)) } }
        }
    }
}

fn timeline(job: &JobView) -> Markup {
    html! {
        section {
            h2 { "Timeline" }
            ol.timeline {
                @for entry in &job.timeline {
                    li { (stamp(entry.at)) " " span { (escape_invisible(&entry.text)) } }
                }
            }
        }
    }
}

fn nodes(allocation: &Allocation) -> Markup {
    let shares = allocation.shares();
    html! {
        section {
            h2 { (count_with_noun(shares.len(), "node")) }
            div.scroll tabindex="0" role="region" aria-label="Nodes of the job" {
                table {
                    thead { tr {
                        th scope="col" { "Node" }
                        th.number scope="col" { "Tasks" }
                        th scope="col" { "GPUs" }
                        th scope="col" { "CPUs" }
                        th.number scope="col" { "Memory" }
                    } }
                    tbody { @for share in shares.iter().take(NODES_SHOWN) { (node_row(share)) } }
                }
            }
            @if shares.len() > NODES_SHOWN {
                p.dim { "and " (shares.len() - NODES_SHOWN) " more" }
            }
        }
    }
}

fn node_row(share: &Share) -> Markup {
    let gpus: CpuSet = share.gpus.iter().map(|gpu| u32::from(gpu.0)).collect();
    let name = share.node.to_string();
    html! {
        tr {
            td { a href={ "/nodes/" (percent_encode(&name)) } { (name) } }
            td.number { (share.tasks) }
            td { (gpus) @if let Some(part) = share.gpu_milli { " (" (part) "/1000 each)" } }
            td { (share.cpus) }
            td.number { (share.memory) }
        }
    }
}

fn output(output: &Output) -> Markup {
    html! {
        section {
            h2 { "Output" }
            @match output {
                Output::NotShown(why) => p.dim { (escape_invisible(why)) },
                Output::Text(text, _) if text.is_empty() => p.dim { "Nothing was written yet." },
                Output::Text(text, is_part) => {
                    @if *is_part { p.dim { "The last lines:" } }
                    pre.output tabindex="0" { (escape_hidden_lines(text)) }
                },
            }
        }
    }
}

fn tasks(page: &JobPage<'_>) -> Markup {
    html! {
        section {
            h2 { (count_with_noun(page.jobs.len(), "task")) }
            ul.tasks {
                @for job in page.jobs.iter().take(TASKS_SHOWN) {
                    li { (job_link(job.key)) " " (state(job)) }
                }
            }
            @if page.jobs.len() > TASKS_SHOWN {
                p.dim { "and " (page.jobs.len() - TASKS_SHOWN) " more" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Rights;
    use crate::sample::{self, FRAME, RIGHTS};
    use common::id::{AccountName, Uid};
    use common::right::Roles;
    use common::wire::api::TimelineEntry;

    fn page(frame: &Frame<'_>, view: JobView) -> String {
        let explanation = Explanation {
            job: view.clone(),
            lines: vec!["3 jobs are ahead".to_owned()],
            advice: Some("ask for less".to_owned()),
            expected_at: Some(Time(3_600_000)),
        };
        let output = Output::Text("</pre><script>alert(1)</script>\u{1b}[2J".to_owned(), true);
        let (jobs, explanation) = ([view], Some(&explanation));
        job(frame, &JobPage { jobs: &jobs, explanation, output, as_of: Time(0) })
    }

    #[test]
    fn a_page_has_the_reasons_the_timeline_and_the_output_as_text() {
        let mut view = sample::job(7, "pending");
        let text = "submitted by <b>ada</b>".to_owned();
        view.timeline = vec![TimelineEntry { at: Time(0), text }];
        let page = page(&FRAME, view);
        for part in [
            "3 jobs are ahead",
            "ask for less",
            "in 1 h",
            "&lt;b&gt;ada&lt;/b&gt;",
            "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u{1b}[2J",
        ] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(!page.contains("<script>alert"), "{page}");
    }

    #[test]
    fn actions_fit_the_state_of_the_job_and_the_rights_of_the_user() {
        let verbs = |frame: &Frame<'_>, view: JobView| -> Vec<&str> {
            let page = page(frame, view);
            let all = ["cancel", "hold", "release", "requeue"];
            all.into_iter().filter(|verb| page.contains(&format!("/jobs/7/{verb}\""))).collect()
        };
        let held = JobView { held: true, ..sample::job(7, "pending") };
        assert_eq!(verbs(&FRAME, sample::job(7, "pending")), ["cancel", "hold"]);
        assert_eq!(verbs(&FRAME, held), ["cancel", "release"]);
        assert_eq!(verbs(&FRAME, sample::job(7, "running")), ["cancel", "requeue"]);
        assert_eq!(verbs(&FRAME, sample::job(7, "done")), ["requeue"]);
        let none: [&str; 0] = [];
        let reader = Rights { manages_jobs: false, ..RIGHTS };
        assert_eq!(verbs(&Frame { rights: reader, ..FRAME }, sample::job(7, "running")), none);
        let other = Rights { uid: Uid(1), ..RIGHTS };
        assert_eq!(verbs(&Frame { rights: other, ..FRAME }, sample::job(7, "running")), none);
        let support = Roles { support: true, ..Roles::NONE };
        let support = Frame { rights: other, roles: &support, ..FRAME };
        assert_eq!(verbs(&support, sample::job(7, "running")), ["requeue"]);
        let accounts = [AccountName::new("lab").unwrap()].into();
        let coordinator = Roles { accounts, ..Roles::NONE };
        let coordinator = Frame { rights: other, roles: &coordinator, ..FRAME };
        assert_eq!(verbs(&coordinator, sample::job(7, "running")), none);
        let mut view = sample::job(7, "running");
        view.ask.account = AccountName::new("lab").ok();
        assert_eq!(verbs(&coordinator, view), ["cancel", "requeue"]);
        let operator = Rights { operates: true, ..other };
        let verbs = verbs(&Frame { rights: operator, ..FRAME }, sample::job(7, "running"));
        assert_eq!(verbs, ["cancel", "requeue"]);
    }

    #[test]
    fn each_form_proves_its_session() {
        let page = page(&FRAME, sample::job(7, "running"));
        let posts = page.matches("method=\"post\"").count();
        assert_eq!(posts, 3, "sign out, requeue, cancel");
        assert_eq!(page.matches(r#"name="csrf" value="c5r7""#).count(), posts);
    }
}
