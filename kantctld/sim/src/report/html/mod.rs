//! The report as one HTML page with inline drawings: figures, waits by size, and for each policy
//! its allocation, queue and nodes over time. The page loads nothing and runs no script.

mod condense;
mod course;
mod figures;
mod nodes;
mod scale;
mod style;
mod waiting;

use super::summary::Window;
use super::{Outcome, Sample, Summary};
use condense::condense;
use course::{Axis, course};
use scale::{Frame, count_marks};
use std::fmt::Write;
use style::STYLE;

/// Explanations of the figures, for the foot of the page.
const TERMS: [(&str, &str); 7] = [
    ("SOR", "GPU time allocated of GPU time there was, from the first to the last submission."),
    ("GAR", "GPUs allocated of all GPUs, mean from the first submission to the last end."),
    ("GFR", "Nodes with some GPU capacity used and some free, of nodes with GPUs; same mean."),
    ("FR8", "Free GPUs that a job of 8 GPUs on one node cannot use, of all free GPUs; same mean."),
    ("queued", "The figure to its left, over the time that jobs wait after a scheduling pass."),
    ("wait", "From submission to first start; percentiles are nearest rank."),
    ("slowdown", "Mean of (wait + run) / run, at least 1; runs under 10 s count as 10 s."),
];

/// The page, for one or several replays, preferably of the same trace.
#[must_use]
pub fn html(outcomes: &[Outcome]) -> String {
    let summaries: Vec<Summary> = outcomes.iter().map(Summary::of).collect();
    let window = common_window(outcomes);
    let title = outcomes.first().map_or("nothing", |outcome| outcome.trace.as_str());
    let title = escape(title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title} - kant simulation</title><style>{STYLE}</style></head><body><main>\
         <header><h1>{title}</h1><p>{}</p></header>",
        cluster(outcomes)
    );
    let figures = figures::figures(&summaries);
    // Writing into a String cannot fail, here and below.
    let _ = write!(page, "<div class=\"card scroll\">{figures}</div>");
    section(
        &mut page,
        "Wait by job size",
        "Bar: from the median to P90. Line: to P99. Dot: the mean. The axis is logarithmic.",
        &format!(
            "<div class=\"card wide\">{}{}</div>",
            waiting::waiting(&summaries),
            legend(&summaries)
        ),
    );
    over_time(&mut page, outcomes, window);
    page.push_str(
        "<footer>Dashed: the last submission; what follows is the cluster running empty.\
                   <dl>",
    );
    for (term, meaning) in TERMS {
        let _ = write!(page, "<dt>{term}</dt><dd>{meaning}</dd>");
    }
    page.push_str("</dl></footer></main></body></html>\n");
    page
}

/// The three drawings with time along their lower edge, the policies next to each other.
fn over_time(page: &mut String, outcomes: &[Outcome], window: Window) {
    let frame = |height| Frame::new(if outcomes.len() > 1 { 530.0 } else { 1110.0 }, height);
    let marks = [0.0, 0.25, 0.5, 0.75, 1.0];
    let gar_axis = Axis {
        most: 1.0,
        marks: marks.map(|mark: f64| (mark, format!("{:.0} %", mark * 100.0))).to_vec(),
    };
    let queue_axis = queue_axis(outcomes);
    let queue = |sample: &Sample| Some(f64::from(sample.queue_length));
    let draw = |axis: &Axis, read: &dyn Fn(&Sample) -> Option<f64>, index: usize| {
        let parts = condense(&outcomes[index].series, window.first, window.end, read);
        course(frame(190.0), window, axis, &parts, index % 8)
    };
    let cards = |draw: &dyn Fn(usize) -> Option<(String, String)>| -> String {
        let cards = (0..outcomes.len()).filter_map(|index| {
            draw(index).map(|(drawing, note)| card(&outcomes[index], index, &drawing, &note))
        });
        format!("<div class=\"grid two\">{}</div>", cards.collect::<String>())
    };
    let gar = cards(&|index| {
        let mean = Summary::of(&outcomes[index]).gar_mean;
        let note = format!("mean {} %", super::table::percent(mean));
        Some((draw(&gar_axis, &Sample::gpu_allocation_rate, index), note))
    });
    section(page, "GPU allocation over time", "GAR: line for the mean, band for its range.", &gar);
    let queues = cards(&|index| {
        let samples = outcomes[index].series.samples().iter();
        let most = samples.map(|sample| sample.queue_length).max().unwrap_or(0);
        Some((
            draw(&queue_axis, &queue, index),
            format!("at most {}", with_thousands_separator(most as usize)),
        ))
    });
    section(page, "Queue length over time", "Jobs that wait after a scheduling pass.", &queues);
    let of_queues = |read: fn(&Sample) -> Option<f64>, mean: fn(&Summary) -> Option<f64>| {
        cards(&|index| {
            let mean = mean(&Summary::of(&outcomes[index]))?;
            let note = format!("mean {} %", super::table::percent(Some(mean)));
            Some((draw(&gar_axis, &read, index), note))
        })
    };
    if outcomes.iter().any(|outcome| !outcome.teams.is_empty()) {
        let jain = of_queues(Sample::jain, |summary| summary.jain_mean);
        let says =
            "Jain's index: 100 % where all queues hold the same part of what is due to them.";
        section(page, "How even it is", says, &jain);
        let error = of_queues(Sample::share_error, |summary| summary.share_error_mean);
        let says = "GPUs that queues hold beyond what is due to them, or lack, of all GPUs.";
        section(page, "Share error over time", says, &error);
    }
    let width = frame(0.0).width;
    let maps = cards(&|index| {
        nodes::nodes(width, window, &outcomes[index]).map(|drawing| (drawing, String::new()))
    });
    section(
        page,
        "Nodes over time",
        "The share of each node's GPUs that is allocated. In large clusters neighbours share rows.",
        &format!("{maps}{}", nodes::shade_legend()),
    );
}

fn section(page: &mut String, title: &str, says: &str, body: &str) {
    let _ = write!(page, "<section><h2>{title}</h2><p>{says}</p>{body}</section>");
}

fn card(outcome: &Outcome, index: usize, drawing: &str, note: &str) -> String {
    format!(
        "<div class=\"card\"><div class=\"name\"><i style=\"background:var(--c{})\"></i>{} {}\
         <b>{note}</b></div>{drawing}</div>",
        index % 8,
        escape(&outcome.policy),
        escape(&outcome.placement)
    )
}

fn legend(summaries: &[Summary]) -> String {
    let entry = |(index, summary): (usize, &Summary)| {
        format!(
            "<span><i style=\"background:var(--c{})\"></i>{} {}</span>",
            index % 8,
            escape(&summary.policy),
            escape(&summary.placement)
        )
    };
    let entries: String = summaries.iter().enumerate().map(entry).collect();
    format!("<div class=\"legend\">{entries}</div>")
}

/// One axis for all queues, so that they can be compared.
fn queue_axis(outcomes: &[Outcome]) -> Axis {
    let samples = outcomes.iter().flat_map(|outcome| outcome.series.samples());
    let marks = count_marks(samples.map(|sample| sample.queue_length).max().unwrap_or(0));
    Axis {
        most: f64::from(marks.last().copied().unwrap_or(1)),
        marks: marks.iter().map(|mark| (f64::from(*mark), mark.to_string())).collect(),
    }
}

/// From the first submission to the last end of all replays.
fn common_window(outcomes: &[Outcome]) -> Window {
    let windows: Vec<Window> = outcomes.iter().map(Window::of).collect();
    let latest = |read: fn(&Window) -> common::time::Time| {
        windows.iter().map(read).max().unwrap_or_default()
    };
    Window {
        first: windows.iter().map(|window| window.first).min().unwrap_or_default(),
        last_submit: latest(|window| window.last_submit),
        end: latest(|window| window.end),
    }
}

fn cluster(outcomes: &[Outcome]) -> String {
    let Some(outcome) = outcomes.first() else { return "no replay".to_owned() };
    let gpus: usize = outcome.nodes.iter().map(|node| node.gpus.0 as usize).sum();
    let left_out = |count: usize, why: &str| match count {
        0 => String::new(),
        _ => format!("; {} more {why}", with_thousands_separator(count)),
    };
    let left_out = [
        left_out(outcome.never_fit.len(), "can never run there"),
        left_out(outcome.refused.len(), "are refused by the policy"),
    ]
    .concat();
    let [jobs, nodes, gpus] =
        [outcome.jobs.len(), outcome.nodes.len(), gpus].map(with_thousands_separator);
    format!(
        "{jobs} jobs replayed on {nodes} nodes with {gpus} GPUs{left_out}. Seed {}.",
        outcome.seed
    )
}

/// A number with a thousands separator: `15,802`.
fn with_thousands_separator(number: usize) -> String {
    let digits = number.to_string();
    let comma = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits
        .char_indices()
        .flat_map(|(at, digit)| comma(at).then_some(',').into_iter().chain([digit]))
        .collect()
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
