//! The table of the fields of squeue and sacct: the letter for `squeue -o`, the names for `squeue
//! -O` and `sacct -o`, and the value.
//! Source: man squeue (--format, --Format), man sacct (--format).

use super::line_value::Value;
use cli::output::user_names;
use common::job::attributes::{self, Attribute, Kind, ROWS, Row, SlurmNames};
use common::job::{Ask, Phase};
use common::resource::{GpuRequest, MemoryRequest};
use common::time::Span;
use common::unit::Bytes;
use common::wire::api::JobView;
use slurm_json::job_line::{Line, LinePart};
use slurm_json::size::{format_measured, format_size};
use std::sync::LazyLock;

#[derive(Debug, Clone, Copy)]
pub struct JobField {
    /// The letter in `squeue -o`, or a blank.
    pub letter: char,
    /// The name in `squeue -O`, in lower case, or empty.
    pub queue: &'static str,
    /// The name in sacct, or empty.
    pub account: &'static str,
    /// The title in squeue.
    pub title: &'static str,
    source: Source,
}

/// Where the value of a field comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Line(fn(&Line<'_>) -> Value),
    Attribute(Attribute),
}

impl JobField {
    /// The value in a line.
    #[must_use]
    pub fn value(&self, line: &Line<'_>) -> Value {
        match self.source {
            Source::Line(value) => value(line),
            Source::Attribute(attribute) => attribute_value(attribute, &line.job.ask),
        }
    }
}

fn attribute_value(attribute: Attribute, ask: &Ask) -> Value {
    match (attribute.row().kind, ask.value(attribute)) {
        (Kind::Begin | Kind::Deadline, Some(attributes::Value::Time(at))) => Value::At(at),
        (Kind::Begin | Kind::Deadline, _) => Value::Unknown,
        (Kind::Nice, value) => Value::of(value.map_or("0".to_owned(), |nice| nice.to_string())),
        (_, value) => Value::from_optional(value),
    }
}

const fn field(
    letter: char,
    queue: &'static str,
    account: &'static str,
    title: &'static str,
    value: fn(&Line<'_>) -> Value,
) -> JobField {
    JobField { letter, queue, account, title, source: Source::Line(value) }
}

/// The fields that are not job attributes.
const LINE_FIELDS: &[JobField] = &[
    field('i', "jobarrayid", "JobID", "JOBID", |l| Value::of(l.id())),
    field('A', "jobid", "JobIDRaw", "JOBID", |l| Value::of(l.job_id())),
    field('F', "arrayjobid", "", "ARRAY_JOB_ID", |l| Value::of(l.job.key.job)),
    field('K', "arraytaskid", "", "ARRAY_TASK_ID", |l| {
        l.indices().map_or(Value::Unknown, Value::of)
    }),
    field('j', "name", "JobName", "NAME", |l| {
        Value::of(match l.part {
            LinePart::Whole => &l.job.ask.name,
            LinePart::Batch => "batch",
            LinePart::Step(step) => &step.name,
        })
    }),
    field('P', "partition", "Partition", "PARTITION", |l| {
        if l.omits_job_fields() {
            Value::Unset
        } else {
            Value::from_optional(l.job.ask.queue.as_ref())
        }
    }),
    field('u', "username", "User", "USER", |l| {
        if l.omits_job_fields() { Value::Unset } else { Value::of(user_names::owner(&l.job.owner)) }
    }),
    field('U', "userid", "UID", "UID", |l| Value::of(l.job.owner.uid)),
    field('g', "groupname", "Group", "GROUP", |l| Value::of(group(l))),
    field('G', "groupid", "GID", "GROUP", |l| Value::of(l.job.owner.gid)),
    field('t', "statecompact", "", "ST", |l| Value::of(l.state().1)),
    field('T', "state", "State", "STATE", |l| {
        Value::of(match l.job.cancelled_by {
            Some(by) if l.page.account && l.is_whole() => format!("{} by {by}", l.state().0),
            _ => l.state().0.to_owned(),
        })
    }),
    field('r', "reason", "Reason", "REASON", |l| Value::of(l.reason_or_end())),
    field('R', "reasonlist", "", "NODELIST(REASON)", where_or_why),
    field('N', "nodelist", "NodeList", "NODELIST", |l| Value::of(l.nodes())),
    field('B', "batchhost", "", "EXEC_HOST", |l| {
        let first = l.job.allocation.as_ref().and_then(|given| given.shares().first());
        first.map_or(Value::Unknown, |share| Value::of(&share.node))
    }),
    field('D', "numnodes", "NNodes", "NODES", |l| Value::of(l.node_count())),
    field(' ', "", "AllocNodes", "", |l| Value::of(if begun(l) { l.node_count() } else { 0 })),
    field(' ', "", "ReqNodes", "", |l| Value::of(l.node_count())),
    field('C', "numcpus", "NCPUS", "CPUS", |l| Value::of(l.cpus())),
    field(' ', "", "AllocCPUS", "", |l| Value::of(if begun(l) { l.cpus() } else { 0 })),
    field(' ', "", "ReqCPUS", "", |l| Value::of(l.job.cpus)),
    field('c', "mincpus", "", "MIN_CPUS", |l| Value::of(l.job.ask.request.cpus_per_task)),
    field(' ', "numtasks", "NTasks", "TASKS", |l| Value::of(l.tasks())),
    field('m', "minmemory", "ReqMem", "MIN_MEMORY", |l| Value::of(memory(l))),
    field('b', "tres-per-node", "", "TRES_PER_NODE", |l| Value::of(tres_per_node(l.job))),
    field(' ', "tres-per-task", "", "TRES_PER_TASK", |l| {
        gpu_words(l.job, |gpus| match gpus {
            GpuRequest::PerTask(each) => Some(each.0),
            _ => None,
        })
    }),
    field(' ', "tres-per-job", "", "TRES_PER_JOB", |l| {
        gpu_words(l.job, |gpus| match gpus {
            GpuRequest::Total(all) => Some(all.0),
            _ => None,
        })
    }),
    field(' ', "tres-alloc", "AllocTRES", "TRES_ALLOC", |l| {
        if begun(l) { Value::of(l.tres()) } else { Value::Unset }
    }),
    field(' ', "", "ReqTRES", "", |l| Value::of(l.tres())),
    field('l', "timelimit", "Timelimit", "TIME_LIMIT", |l| {
        if l.omits_job_fields() {
            return Value::Unset;
        }
        l.job.ask.time_limit.map_or(Value::Unlimited, Value::Span)
    }),
    field(' ', "", "TimelimitRaw", "", |l| {
        l.job.ask.time_limit.map_or(Value::Unset, |span| Value::of(span.seconds() / 60))
    }),
    field('L', "timeleft", "", "TIME_LEFT", |l| match l.job.ask.time_limit {
        None => Value::Unlimited,
        Some(limit) => Value::Span(Span(limit.0.saturating_sub(l.elapsed().0))),
    }),
    field('M', "timeused", "Elapsed", "TIME", |l| Value::Span(l.elapsed())),
    field(' ', "", "ElapsedRaw", "", |l| Value::of(l.elapsed().seconds())),
    field('S', "starttime", "Start", "START_TIME", |l| Value::from_time(l.start())),
    field('e', "endtime", "End", "END_TIME", |l| Value::from_time(l.end())),
    field('V', "submittime", "Submit", "SUBMIT_TIME", |l| Value::At(l.job.submitted_at)),
    field(' ', "eligibletime", "Eligible", "ELIGIBLE_TIME", |l| {
        let submitted = l.job.submitted_at;
        Value::At(l.job.ask.begin_at.map_or(submitted, |begin| begin.max(submitted)))
    }),
    field('p', "priority", "", "PRIORITY", |l| {
        let points = priority(l).unwrap_or(0);
        Value::of(format!("{:.14}", points as f64 / 4_294_967_295.0))
    }),
    field('Q', "prioritylong", "Priority", "PRIORITY", |l| Value::of(priority(l).unwrap_or(0))),
    field('Z', "workdir", "WorkDir", "WORK_DIR", |l| Value::of(&l.job.ask.work_dir)),
    field('h', "oversubscribe", "", "OVER_SUBSCRIBE", |l| {
        Value::of(if l.job.ask.request.exclusive { "NO" } else { "OK" })
    }),
    field('E', "dependency", "", "DEPENDENCY", |l| Value::from_optional(l.job.dependency.as_ref())),
    field('w', "wckey", "", "WCKEY", |_| Value::Unset),
    field('W', "licenses", "Licenses", "LICENSES", |_| Value::Unset),
    field('x', "exc_nodes", "", "EXC_NODES", |_| Value::of("")),
    field('n', "reqnodes", "", "REQ_NODES", |_| Value::of("")),
    field('Y', "schednodes", "", "SCHEDNODES", |_| Value::Unset),
    field('O', "contiguous", "", "CONTIGUOUS", |_| Value::of(0)),
    field('d', "mintmpdisk", "", "MIN_TMP_DISK", |_| Value::of(0)),
    field('z', "socketsperboard", "", "S:C:T", |_| Value::of("*:*:*")),
    field('o', "command", "", "COMMAND", |l| Value::from_optional(l.job.ask.command.as_ref())),
    field(' ', "restartcnt", "Restarts", "RESTART_COUNT", |l| {
        Value::of(l.job.attempt.saturating_sub(1))
    }),
    field(' ', "exit_code", "ExitCode", "EXIT_CODE", |l| Value::of(l.exit())),
    field(' ', "", "DerivedExitCode", "", |l| Value::of(l.exit())),
    field(' ', "", "TotalCPU", "", |l| usage_value(l, |cpu, _| Value::Span(cpu))),
    field(' ', "", "CPUTime", "", |l| Value::Span(cpu_time(l))),
    field(' ', "", "CPUTimeRAW", "", |l| Value::of(cpu_time(l).seconds())),
    field(' ', "", "MaxRSS", "", |l| {
        if !l.is_batch() {
            return Value::Unset;
        }
        usage_value(l, |_, memory| Value::of(format_measured(memory, l.page.unit)))
    }),
    field(' ', "cluster", "Cluster", "CLUSTER", |l| Value::of(&l.page.cluster)),
];

static FIELDS: LazyLock<Vec<JobField>> = LazyLock::new(|| {
    let rows = ROWS.iter().filter(|row| !row.slurm.title.is_empty());
    let of_attribute = |row: &Row| {
        let SlurmNames { letter, squeue: queue, sacct: account, title, .. } = row.slurm;
        JobField { letter, queue, account, title, source: Source::Attribute(row.attribute) }
    };
    LINE_FIELDS.iter().copied().chain(rows.map(of_attribute)).collect()
});

/// All fields.
#[must_use]
pub fn fields() -> &'static [JobField] {
    &FIELDS
}

/// The field of a letter of `squeue -o`.
#[must_use]
pub fn by_letter(letter: char) -> Option<&'static JobField> {
    fields().iter().find(|field| field.letter == letter && letter != ' ')
}

/// The field of a name of `squeue -O`.
#[must_use]
pub fn by_squeue_name(name: &str) -> Option<&'static JobField> {
    let name = match name {
        "tres" => "tres-alloc",
        "arrayid" => "jobarrayid",
        "requestednodes" => "reqnodes",
        other => other,
    };
    fields().iter().find(|field| field.queue == name && !name.is_empty())
}

/// The field of a name of sacct, in upper or lower case.
#[must_use]
pub fn by_sacct_name(name: &str) -> Option<&'static JobField> {
    let found = fields().iter().find(|field| field.account.eq_ignore_ascii_case(name));
    found.filter(|_| !name.is_empty())
}

fn begun(line: &Line<'_>) -> bool {
    line.job.started_at.is_some() || line.job.allocation.is_some()
}

fn where_or_why(line: &Line<'_>) -> Value {
    match line.reason() {
        Some(reason) => Value::of(format!("({reason})")),
        None => Value::of(line.nodes()),
    }
}

fn group(line: &Line<'_>) -> String {
    user_names::group(line.job.owner.gid.0)
}

fn memory(line: &Line<'_>) -> String {
    let unit = line.page.unit;
    match line.job.ask.request.memory {
        // sacct shows the job's total, squeue the request per node or CPU.
        Some(MemoryRequest::PerNode(bytes) | MemoryRequest::PerCpu(bytes))
            if !line.page.account =>
        {
            format_size(bytes, unit)
        }
        _ => format_size(line.job.memory, unit),
    }
}

fn gpu_words(job: &JobView, count: impl Fn(GpuRequest) -> Option<u32>) -> Value {
    let Some(count) = job.ask.request.gpus.and_then(count) else { return Value::Unknown };
    let kind = job.ask.request.gpu_kind.as_ref().map(|kind| format!("{}:", kind.0));
    Value::of(format!("gres:gpu:{}{count}", kind.unwrap_or_default()))
}

fn tres_per_node(job: &JobView) -> String {
    let words = gpu_words(job, |gpus| match gpus {
        GpuRequest::PerNode(each) => Some(each.0),
        _ => None,
    });
    match words {
        Value::Words(words) => words,
        _ => "N/A".to_owned(),
    }
}

fn priority(line: &Line<'_>) -> Option<i64> {
    line.page.priorities.get(&line.job.key).copied()
}

fn usage_value(line: &Line<'_>, show: impl Fn(Span, Bytes) -> Value) -> Value {
    line.usage().map_or(Value::Unset, |usage| show(usage.cpu, usage.memory_peak))
}

fn cpu_time(line: &Line<'_>) -> Span {
    let cpus = u64::from(line.cpus());
    if line.job.phase == Phase::Pending { Span(0) } else { Span(line.elapsed().0 * cpus) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_letter_and_each_name_belongs_to_one_field() {
        let letters: Vec<char> = fields().iter().map(|f| f.letter).filter(|l| *l != ' ').collect();
        assert_eq!(letters.iter().collect::<BTreeSet<_>>().len(), letters.len());
        let families: [fn(&JobField) -> &'static str; 2] = [|f| f.queue, |f| f.account];
        for family in families {
            let names = fields().iter().map(family);
            let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        }
    }
}
