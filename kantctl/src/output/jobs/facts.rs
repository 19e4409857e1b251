//! A job as a record: everything that is known of it. Never asks for it.

use super::{ending, ran, why};
use crate::output::record::Record;
use crate::output::time::{limit, local, localized};
use crate::output::{people, sizes};
use common::hostlist::fold;
use common::id::NodeName;
use common::job::pattern::{PatternFacts, absolute, fill};
use common::job::{Ask, Phase};
use common::time::Time;
use common::wire::api::JobView;
use jiff::tz::TimeZone;

/// Everything about a job.
#[must_use]
pub fn record(job: &JobView, as_of: Time, zone: &TimeZone) -> String {
    let ask = &job.ask;
    let mut record = Record::default();
    record.fact("job", job.key);
    record.maybe(
        "part of",
        job.set.map(|set| {
            format!("job {}: {}, one of {} components", set.first, set.name(), set.size)
        }),
    );
    record.fact("name", &ask.name);
    let attempt =
        if job.attempt > 1 { format!(", attempt {}", job.attempt) } else { String::new() };
    record.fact("state", format!("{}{attempt}", job.state));
    record.maybe("reason", why(job).map(|why| localized(&why, zone)));
    record.maybe("place", job.position.map(|place| format!("{place} among those that wait")));
    record.fact(
        "owner",
        format!("{} (uid {}, gid {})", people::owner(&job.owner), job.owner.uid, job.owner.gid),
    );
    record.maybe("queue", ask.queue.as_ref());
    record.maybe("account", ask.account.as_ref());
    record.maybe("qos", ask.qos.as_ref());
    record.maybe("reservation", ask.reservation.as_ref());
    record.maybe("comment", ask.comment.as_ref());
    if ask.nice != 0 {
        record.fact("nice", ask.nice);
    }
    times(&mut record, job, as_of, zone);
    record.fact("asked", sizes::request(&ask.request));
    record.maybe("near", sizes::nearness(&ask.request));
    record.maybe("apart", ask.request.per_node_max.as_ref().map(sizes::apart));
    record.maybe("features", ask.request.constraint.as_ref());
    record.maybe("only on", Some(fold(&ask.request.only_nodes)).filter(|n| !n.is_empty()));
    record.maybe("not on", Some(fold(&ask.request.not_nodes)).filter(|n| !n.is_empty()));
    let service = if ask.service { ", as a service" } else { "" };
    record.fact("runs", format!("{}{service}", sizes::launch(ask.launch)));
    let yields = |yields| if yields { "to others, if need be" } else { "to nobody" };
    record.maybe("yields", ask.preemptible.map(yields));
    record.maybe("container", ask.container.as_ref());
    record.maybe("warning", ask.warning.as_ref().map(sizes::warning));
    record.maybe("letters", ask.mail.as_ref().map(sizes::mail));
    record.maybe("if resized", ask.resize_signal.as_ref().map(sizes::resize_signal));
    record.maybe("array", ask.array.as_ref());
    files(&mut record, job);
    let ended_by = Some(ending(job))
        .filter(|how| job.phase == Phase::Done && job.exit.is_none() && !how.is_empty());
    let note = job.message.as_ref().filter(|note| ended_by.as_ref() != Some(*note));
    record.maybe("ended by", ended_by.as_ref().map(|how| localized(how, zone)));
    if job.phase == Phase::Done {
        record.maybe("exit", job.exit.map(|exit| format!("{exit} (code:signal)")));
    }
    record.maybe("note", note.map(|note| localized(note, zone)));
    record.maybe("used", job.usage.map(sizes::usage));
    record.maybe("GPUs used", job.usage.and_then(|usage| usage.gpu).map(sizes::gpu_usage));
    let shares = job.allocation.iter().flat_map(|a| a.shares());
    record.list("allocation", shares.map(sizes::share));
    record.maybe("joined by", Some(fold(&job.joining)).filter(|nodes| !nodes.is_empty()));
    record.maybe("gives up", Some(fold(&job.leaving)).filter(|nodes| !nodes.is_empty()));
    let story = job
        .story
        .iter()
        .map(|line| format!("{}  {}", local(line.at, zone), localized(&line.text, zone)));
    record.list("story", story);
    record.text()
}

fn times(record: &mut Record, job: &JobView, as_of: Time, zone: &TimeZone) {
    let host = match job.ask.submit_host.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    record.fact("submitted", format!("{}{host}", local(job.submitted_at, zone)));
    record.maybe("not before", job.ask.begin_at.map(|at| local(at, zone)));
    record.maybe("waits for", job.dependency.as_ref());
    record.maybe("deadline", job.ask.deadline.map(|at| local(at, zone)));
    record.maybe("started", job.started_at.map(|at| local(at, zone)));
    record.maybe("ended", job.ended_at.map(|at| local(at, zone)));
    let before = Some(job.suspended).filter(|span| !span.is_zero());
    record.maybe(
        "suspended",
        match (job.suspended_at, before) {
            (Some(at), None) => Some(format!("since {}", local(at, zone))),
            (Some(at), Some(before)) => Some(format!("since {}, {before} before", local(at, zone))),
            (None, before) => before.map(|before| format!("for {before}")),
        },
    );
    record.maybe("work saved", job.checkpoint_at.map(|at| local(at, zone)));
    let none = if job.phase == Phase::Done { "none" } else { "none yet" };
    let time = job.started_at.map_or_else(|| none.to_owned(), |_| ran(job, as_of));
    let limit = job
        .ask
        .time_limit
        .map_or_else(|| ", without a limit".to_owned(), |at| format!(" of {}", limit(Some(at))));
    record.fact("time", format!("{time}{limit}"));
}

fn files(record: &mut Record, job: &JobView) {
    let ask = &job.ask;
    record.maybe("command", ask.command.as_ref());
    record.fact("directory", &ask.work_dir);
    record.maybe("arguments", arguments(ask));
    record.maybe("input", ask.stdin.as_ref().map(|pattern| path(job, pattern)));
    record.fact("output", path(job, ask.stdout_pattern()));
    record.maybe("errors", ask.stderr.as_ref().map(|pattern| path(job, pattern)));
}

/// Those that its command line does not end with: it may be cut, and older jobs have none.
fn arguments(ask: &Ask) -> Option<String> {
    let args = ask.args.join(" ");
    let told = ask.command.as_ref().is_some_and(|command| command.ends_with(&args));
    (!told && !args.is_empty()).then_some(args)
}

/// Where a file is, as far as it is known: a name that differs from node to node or from task to
/// task (%N, %n, %t) is not one file's, and stays as it was asked.
pub(super) fn path(job: &JobView, pattern: &str) -> String {
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
