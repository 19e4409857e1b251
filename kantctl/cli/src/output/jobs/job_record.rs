//! A job as a record.

use super::{ending, run_time, why};
use crate::output::record::Record;
use crate::output::time::{limit, local, localized};
use crate::output::{sizes, user_names};
use common::hostlist::compress;
use common::id::NodeName;
use common::job::pattern::{PatternFacts, absolute, fill};
use common::job::{Ask, Attribute, Phase};
use common::time::Time;
use common::wire::api::JobView;
use jiff::tz::TimeZone;

/// The full record of a job.
#[must_use]
pub fn record(job: &JobView, as_of: Time, zone: &TimeZone) -> String {
    let ask = &job.ask;
    let mut record = Record::default();
    record.fact("job", job.key);
    record.add_optional_fact(
        "part of",
        job.set.map(|set| {
            format!("job {}: {}, one of {} components", set.first, set.name(), set.size)
        }),
    );
    record.fact("name", &ask.name);
    let attempt =
        if job.attempt > 1 { format!(", attempt {}", job.attempt) } else { String::new() };
    record.fact("state", format!("{}{attempt}", job.state));
    record.add_optional_fact("reason", why(job).map(|why| localized(&why, zone)));
    record.add_optional_fact(
        "position",
        job.position.map(|place| format!("{place} of the waiting jobs")),
    );
    record.fact(
        "owner",
        format!("{} (uid {}, gid {})", user_names::owner(&job.owner), job.owner.uid, job.owner.gid),
    );
    attributes(&mut record, ask, IDENTITY);
    times(&mut record, job, as_of, zone);
    record.fact("request", sizes::request(&ask.request));
    record.add_optional_fact("near", sizes::nearness(&ask.request));
    record.add_optional_fact("spread", ask.request.apart.as_ref().and_then(sizes::apart));
    attributes(&mut record, ask, NODES);
    let service = if ask.service { ", as a service" } else { "" };
    record.fact("runs", format!("{}{service}", sizes::launch_mode_text(ask.launch)));
    let yes_no = |preemptible| if preemptible { "yes" } else { "no" };
    record.add_optional_fact("preemptible", ask.preemptible.map(yes_no));
    attributes(&mut record, ask, &[Attribute::Container]);
    record.add_optional_fact("warning", ask.warning.as_ref().map(sizes::signal_warning_text));
    record.add_optional_fact("mail", ask.mail.as_ref().map(sizes::mail));
    record.add_optional_fact("if resized", ask.resize_signal.as_ref().map(sizes::resize_signal));
    attributes(&mut record, ask, &[Attribute::Array]);
    files(&mut record, job);
    let ended_by = Some(ending(job))
        .filter(|how| job.phase == Phase::Done && job.exit.is_none() && !how.is_empty());
    let note = job.message.as_ref().filter(|note| ended_by.as_ref() != Some(*note));
    record.add_optional_fact("ended by", ended_by.as_ref().map(|how| localized(how, zone)));
    if job.phase == Phase::Done {
        record.add_optional_fact("exit", job.exit.map(|exit| format!("{exit} (code:signal)")));
    }
    record.add_optional_fact("note", note.map(|note| localized(note, zone)));
    record.add_optional_fact("used", job.usage.map(sizes::usage));
    record.add_optional_fact(
        "GPUs used",
        job.usage.and_then(|usage| usage.gpu).map(sizes::gpu_usage),
    );
    let shares = job.allocation.iter().flat_map(|a| a.shares());
    record.list("allocation", shares.map(sizes::node_share_text));
    record.add_optional_fact(
        "joined by",
        Some(compress(&job.joining)).filter(|nodes| !nodes.is_empty()),
    );
    record.add_optional_fact(
        "gives up",
        Some(compress(&job.leaving)).filter(|nodes| !nodes.is_empty()),
    );
    let timeline = job
        .timeline
        .iter()
        .map(|line| format!("{}  {}", local(line.at, zone), localized(&line.text, zone)));
    record.list("timeline", timeline);
    record.text()
}

/// The attributes that follow the owner.
const IDENTITY: &[Attribute] = &[
    Attribute::Queue,
    Attribute::Account,
    Attribute::Qos,
    Attribute::Reservation,
    Attribute::Comment,
    Attribute::Nice,
];

/// The attributes of the nodes that a job may use.
const NODES: &[Attribute] =
    &[Attribute::Constraint, Attribute::Nodelist, Attribute::Exclude, Attribute::Data];

/// These attributes, as far as they are set.
fn attributes(record: &mut Record, ask: &Ask, shown: &[Attribute]) {
    for attribute in shown {
        record.add_optional_fact(attribute.row().label, ask.value(*attribute));
    }
}

fn times(record: &mut Record, job: &JobView, as_of: Time, zone: &TimeZone) {
    let host = match job.ask.submit_host.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    record.fact("submitted", format!("{}{host}", local(job.submitted_at, zone)));
    record.add_optional_fact("not before", job.ask.begin_at.map(|at| local(at, zone)));
    record.add_optional_fact("waits for", job.dependency.as_ref());
    record.add_optional_fact("deadline", job.ask.deadline.map(|at| local(at, zone)));
    record.add_optional_fact("started", job.started_at.map(|at| local(at, zone)));
    record.add_optional_fact("ended", job.ended_at.map(|at| local(at, zone)));
    let before = Some(job.suspended).filter(|span| !span.is_zero());
    record.add_optional_fact(
        "suspended",
        match (job.suspended_at, before) {
            (Some(at), None) => Some(format!("since {}", local(at, zone))),
            (Some(at), Some(before)) => Some(format!("since {}, {before} before", local(at, zone))),
            (None, before) => before.map(|before| format!("for {before}")),
        },
    );
    record.add_optional_fact("work saved", job.checkpoint_at.map(|at| local(at, zone)));
    let none = if job.phase == Phase::Done { "none" } else { "none yet" };
    let time = job.started_at.map_or_else(|| none.to_owned(), |_| run_time(job, as_of));
    let limit = job
        .ask
        .time_limit
        .map_or_else(|| ", no time limit".to_owned(), |at| format!(" of {}", limit(Some(at))));
    let expected = job.expected_run_time.map(|span| format!(", {span} expected"));
    record.fact("time", format!("{time}{limit}{}", expected.unwrap_or_default()));
}

fn files(record: &mut Record, job: &JobView) {
    let ask = &job.ask;
    record.add_optional_fact("command", ask.command.as_ref());
    record.fact("directory", &ask.work_dir);
    record.add_optional_fact("arguments", arguments(ask));
    record.add_optional_fact(
        "input",
        ask.stdin.as_ref().map(|pattern| output_path_text(job, pattern)),
    );
    record.fact("output", output_path_text(job, ask.stdout_pattern()));
    record.add_optional_fact(
        "errors",
        ask.stderr.as_ref().map(|pattern| output_path_text(job, pattern)),
    );
}

/// The arguments, unless the command line, which may be cut, already ends with them.
fn arguments(ask: &Ask) -> Option<String> {
    let args = ask.args.join(" ");
    let is_shown = ask.command.as_ref().is_some_and(|command| command.ends_with(&args));
    (!is_shown && !args.is_empty()).then_some(args)
}

/// The path of a file. A pattern that differs between nodes or tasks (%N, %n, %t) stands for
/// several files and is shown as it is.
pub(super) fn output_path_text(job: &JobView, pattern: &str) -> String {
    let of = |node: &str, rank| {
        let node = NodeName::new(node).ok()?;
        let facts = PatternFacts {
            key: job.key,
            number: job.number,
            job_name: &job.ask.name,
            user: &job.owner.name,
            node: &node,
            node_rank: rank,
            task_rank: rank,
        };
        Some(fill(pattern, &facts))
    };
    let filled = of("a", 0).filter(|one| of("b", 1).as_ref() == Some(one));
    absolute(&job.ask.work_dir, filled.as_deref().unwrap_or(pattern))
}
