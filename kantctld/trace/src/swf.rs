//! The Standard Workload Format: 18 numbers per line, -1 for unknown, comments after `;`. A line
//! without a run time or a size is left out and reported.
//!
//! Source: Parallel Workloads Archive, "The Standard Workload Format", version 2.2.

use super::field::{self, Problem};
use super::text::text_of;
use super::{Job, TraceError};
use common::time::Time;
use common::unit::{GpuMilli, Gpus, Nodes};
use std::collections::BTreeMap;

/// The fields of a line, in order, with the names of the format's description.
const FIELDS: [&str; 18] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// A log in the Standard Workload Format.
#[derive(Debug, Clone, PartialEq)]
pub struct SwfLog {
    /// The jobs, sorted by submit time.
    pub jobs: Vec<Job>,
    /// The lines without a job that could be replayed.
    pub left_out: Vec<LeftOut>,
}

/// A line that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its number in the file, from 1.
    pub line: u64,
    pub reason: &'static str,
}

/// Reads a log, plain or gzip. A job's processors are its requested ones, otherwise its allocated
/// ones. They become the fewest nodes of at most `slots_per_node` with equal shares, rounded up. A
/// run time beyond the requested time is cut to it, as kant would do.
///
/// # Errors
/// The first invalid line, or a log without jobs.
pub fn read_swf(file: &str, bytes: &[u8], slots_per_node: Gpus) -> Result<SwfLog, TraceError> {
    let text = text_of(file, bytes)?;
    let mut log = SwfLog { jobs: Vec::new(), left_out: Vec::new() };
    let mut lines = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split(';').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let record = Record::new(file, number, line)?;
        match record.job(slots_per_node.0.max(1))? {
            Err(reason) => log.left_out.push(LeftOut { line: number, reason }),
            Ok(job) => {
                if let Some(earlier) = lines.insert(job.id, number) {
                    let problem = format!("is the number of line {earlier} too: keep one of them");
                    return Err(record.wrong(0, problem));
                }
                log.jobs.push(job);
            }
        }
    }
    if log.jobs.is_empty() {
        let header = "; Version: 2.2".to_owned();
        return Err(TraceError::Empty { file: file.to_owned(), header });
    }
    log.jobs.sort_by_key(|job| job.submit);
    Ok(log)
}

/// One line that is no comment.
struct Record<'a> {
    file: &'a str,
    line: u64,
    fields: Vec<&'a str>,
}

impl<'a> Record<'a> {
    fn new(file: &'a str, line: u64, text: &'a str) -> Result<Self, TraceError> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() != FIELDS.len() {
            let (found, expected) = (fields.len() as u64, FIELDS.len() as u64);
            return Err(TraceError::Shape { file: file.to_owned(), line, found, expected });
        }
        Ok(Self { file, line, fields })
    }

    /// The job, or why there is none.
    fn job(&self, slots_per_node: u32) -> Result<Result<Job, &'static str>, TraceError> {
        let id = self.read(0, |text| field::count(text, "job numbers"))?;
        let submit = self.read(1, field::seconds)?;
        let walltime =
            self.read_optional(8, field::seconds)?.filter(|walltime| walltime.rounded.0 > 0);
        let status: Option<u32> =
            self.read_optional(10, |text| field::count(text, "status codes"))?;
        if matches!(status, Some(2..=4)) {
            return Ok(Err("it is a part of a job that another line describes as a whole"));
        }
        let Some(mut runtime) = self.read_optional(3, field::seconds)? else {
            return Ok(Err("its run time is unknown"));
        };
        if let Some(limit) = walltime.filter(|limit| limit.rounded < runtime.rounded) {
            runtime = limit;
        }
        let processors =
            |at| self.read_optional(at, |text| field::count::<u32>(text, "processors"));
        let processors = processors(7)?.filter(|n| *n > 0).or(processors(4)?).unwrap_or(0);
        if processors == 0 {
            return Ok(Err("its number of processors is unknown"));
        }
        let nodes = processors.div_ceil(slots_per_node);
        let per_node = processors.div_ceil(nodes);
        let kib: Option<u64> = self.read_optional(9, |text| field::count(text, "KiB"))?;
        let word = |at, letter: char| -> Result<String, TraceError> {
            let number: Option<u32> =
                self.read_optional(at, |text| field::count(text, FIELDS[at]))?;
            Ok(number.map_or_else(String::new, |number| format!("{letter}{number}")))
        };
        Ok(Ok(Job {
            id,
            submit: Time(submit.rounded.0),
            submit_seconds: submit.exact,
            runtime: runtime.rounded,
            runtime_seconds: runtime.exact,
            walltime: walltime.map(|walltime| walltime.rounded),
            walltime_seconds: walltime.map(|walltime| walltime.exact),
            nodes: Nodes(nodes),
            gpus_per_node: Gpus(per_node),
            gpu_fraction: GpuMilli::WHOLE,
            gpu_models: Vec::new(),
            cpus: None,
            mem_mib: kib.map(|kib| kib.saturating_mul(per_node.into()).div_ceil(1024)),
            user: word(11, 'u')?,
            group: word(12, 'g')?,
            qos: word(14, 'q')?,
            account: String::new(),
            kind: "other".to_owned(),
            status: status_word(status).to_owned(),
            constraint: BTreeMap::new(),
        }))
    }

    fn read<T>(
        &self,
        at: usize,
        read: impl FnOnce(&str) -> Result<T, Problem>,
    ) -> Result<T, TraceError> {
        read(self.fields[at]).map_err(|problem| self.wrong(at, problem))
    }

    /// `None` for -1.
    fn read_optional<T>(
        &self,
        at: usize,
        read: impl FnOnce(&str) -> Result<T, Problem>,
    ) -> Result<Option<T>, TraceError> {
        let unknown = matches!(self.fields[at], "-1" | "-1.0" | "-1.00");
        if unknown { Ok(None) } else { self.read(at, read).map(Some) }
    }

    fn wrong(&self, at: usize, problem: Problem) -> TraceError {
        TraceError::Value {
            file: self.file.to_owned(),
            line: self.line,
            column: format!("{} ({})", at + 1, FIELDS[at]),
            value: self.fields[at].to_owned(),
            problem,
        }
    }
}

const fn status_word(status: Option<u32>) -> &'static str {
    match status {
        Some(0) => "failed",
        Some(1) => "completed",
        Some(5) => "cancelled",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::time::Span;

    const LOG: &str = "; Version: 2.2\n; Computer: a machine\n\n\
        1 0 10 100 9 -1 -1 12 3600 1024 1 3 1 -1 2 -1 -1 -1\n\
        2 5 -1 7200 4 -1 -1 -1 3600 -1 5 -1 -1 -1 -1 -1 -1 -1 ; a late remark\n\
        3 6 -1 -1 -1 -1 -1 4 60 -1 5 1 1 -1 -1 -1 -1 -1\n\
        4 7 1 60 4 -1 -1 4 60 -1 2 1 1 -1 -1 -1 -1 -1\n";

    #[test]
    fn processors_become_the_fewest_nodes_with_equal_shares() {
        let log = read_swf("log.swf", LOG.as_bytes(), Gpus(8)).unwrap();
        let job = &log.jobs[0];
        assert_eq!((job.nodes, job.gpus_per_node), (Nodes(2), Gpus(6)), "12 requested");
        assert_eq!((job.mem_mib, job.status.as_str()), (Some(6), "completed"));
        assert_eq!((job.user.as_str(), job.qos.as_str()), ("u3", "q2"));
        assert_eq!((log.jobs[1].nodes, log.jobs[1].gpus_per_node), (Nodes(1), Gpus(4)));
        assert_eq!(log.jobs[1].user, "");
    }

    #[test]
    fn a_job_ends_at_its_limit_and_lines_without_a_job_are_reported() {
        let log = read_swf("log.swf", LOG.as_bytes(), Gpus(1)).unwrap();
        assert_eq!(log.jobs[1].runtime, Span::from_seconds(3600));
        let left: Vec<_> = log.left_out.iter().map(|left| (left.line, left.reason)).collect();
        assert_eq!(left[0], (6, "its run time is unknown"));
        assert_eq!(left[1], (7, "it is a part of a job that another line describes as a whole"));
        assert_eq!(log.jobs.len(), 2);
    }

    #[test]
    fn each_mistake_names_line_field_value_and_way_out() {
        let good = "1 0 10 100 9 -1 -1 12 3600 -1 1 3 1 -1 2 -1 -1 -1\n";
        for (text, expected) in [
            (good.replacen(" 0 ", " -7 ", 1), "line 1, column 2 (submit time): `-7` is negative"),
            (good.replacen(" 100 ", " x ", 1), "column 4 (run time): `x` is not a number"),
            (good.replacen(" 100 ", " ", 1), "line 1: it has 17 fields where the header has 18"),
            (
                format!("{good};\n{good}"),
                "line 3, column 1 (job number): `1` is the number of line",
            ),
            ("; nothing\n".to_owned(), "it is empty; a trace begins with the line `; Version"),
        ] {
            let error = read_swf("log.swf", text.as_bytes(), Gpus(1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}\nlacks: {expected}");
        }
    }
}
